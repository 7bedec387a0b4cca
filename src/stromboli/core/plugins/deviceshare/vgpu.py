"""Virtual GPUs: shares of the memory and cores of GPUs by software, or hardware instances (MIG).

Nodes register their GPUs in an annotation. Containers request a number of GPUs and a share of each.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import VGPU_IDS, Backend, DeviceUser, SharedDeviceRequest
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.backend import (
    DeviceBackend,
    Offered,
    Policy,
    Wanted,
    assigned,
    formatted,
    moment,
    split_list,
)
from stromboli.core.plugins.deviceshare.instances import Geometries, instance_for, named
from stromboli.core.plugins.deviceshare.node_devices import DeviceHolding, Share, SharedDevice, Shares, Use

REGISTER = "volcano.sh/node-vgpu-register"
USE_TYPE, AVOID_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
USE_ID, AVOID_ID = "volcano.sh/vgpu-use-gpuuuid", "volcano.sh/vgpu-nouse-gpuuuid"
MODE = "volcano.sh/vgpu-mode"
SOFTWARE, INSTANCES = "hami-core", "mig"

#: The name that device plugins give every GPU of this vendor.
_MAKER = "NVIDIA"
_FIELDS = 6
_WHOLE = 100
_FORM = "uuid,count,memory,type,health,mode"


class VirtualGpu(DeviceBackend):
    name = Backend.VGPU
    reads_annotations = (USE_TYPE, AVOID_TYPE, USE_ID, AVOID_ID, MODE)
    lock = "volcano.sh/mutex.lock"

    def __init__(self, policy: Policy, exclusive_rules: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(policy)
        self._exclusive_rules = [dict(rule) for rule in exclusive_rules]
        self.reads_labels = tuple(sorted({label for rule in exclusive_rules for label in rule}))
        #: Into which instances GPUs can be cut, by model.
        self.geometries: Geometries = ()

    # -- annotations --------------------------------------------------------------------------------------------

    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        return node.annotations.get(REGISTER) or None

    def devices(self, registered: Hashable) -> list[SharedDevice]:
        entries = [entry for entry in str(registered).split(":") if entry.strip()]
        return [_device(entry) for entry in entries]

    def shares_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> Shares | None:
        text = claim.annotations.get(VGPU_IDS)
        return assigned(text, devices, VGPU_IDS) if text is not None else None

    def annotations(
        self, pick: DeviceHolding, node: str, devices: Sequence[SharedDevice], now: float
    ) -> dict[str, str]:
        text = formatted(pick.containers, devices, lambda _: _MAKER)
        return {
            VGPU_IDS: text,
            "volcano.sh/devices-to-allocate": text,
            "volcano.sh/vgpu-node": node,
            "volcano.sh/vgpu-time": moment(now),
            "volcano.sh/bind-phase": "allocating",
            "volcano.sh/bind-time": moment(now),
        }

    def is_exclusive(self, labels: Mapping[str, str]) -> bool:
        """Report whether a pod with these labels shares no GPU with another to which a rule applies."""
        return any(
            all(labels.get(key) == value for key, value in rule.items()) for rule in self._exclusive_rules if rule
        )

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        wanted = super().wanted(task_class)
        if wanted is None:
            return None
        return replace(wanted, is_exclusive=self.is_exclusive(task_class.labels))

    # -- allocation ---------------------------------------------------------------------------------------------

    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        if not device.is_healthy or use.users >= device.slots or not _is_allowed_type(device, wanted):
            return None
        if wanted.apart_from and wanted.apart_from in use.jobs:
            return None
        if device.mode == INSTANCES:
            return self._instance(place, device, use, request)
        if wanted.is_exclusive and use.has_exclusive:
            return None
        memory = _memory_requested(device, request)
        if use.memory + memory > device.memory or not _has_cores(device, use, request.cores):
            return None
        return Share(place, memory, request.cores)

    def _instance(self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest) -> Share | None:
        found = instance_for(self.geometries, device.kind, use.parts, _memory_requested(device, request), device.memory)
        return Share(place, found.memory, part=named(found)) if found is not None else None


def _memory_requested(device: SharedDevice, request: SharedDeviceRequest) -> int:
    """Return the requested memory; a container without a value gets all of it."""
    if request.memory:
        return request.memory
    return device.memory * (request.percentage or _WHOLE) // _WHOLE


def _has_cores(device: SharedDevice, use: Use, cores: int) -> bool:
    """Report whether enough cores are left: all cores are exclusive, and a request for none may share any but those."""
    if cores >= device.cores:
        return not use.users
    return use.cores < device.cores if not cores else use.cores + cores <= device.cores


def _is_allowed_type(device: SharedDevice, wanted: Wanted) -> bool:
    """Report whether the annotations of the pod allow the GPU."""
    kind, mode = device.kind.lower(), wanted.annotation(MODE)
    used, avoided = split_list(wanted.annotation(USE_TYPE).lower()), split_list(wanted.annotation(AVOID_TYPE).lower())
    named_ids, avoided_ids = split_list(wanted.annotation(USE_ID)), split_list(wanted.annotation(AVOID_ID))
    return (
        (not mode or mode == device.mode)
        and (not used or any(word in kind for word in used))
        and not any(word in kind for word in avoided)
        and (not named_ids or device.id in named_ids)
        and device.id not in avoided_ids
    )


def _device(entry: str) -> SharedDevice:
    fields = [field.strip() for field in entry.split(",")]
    if len(fields) not in (_FIELDS - 1, _FIELDS):
        raise ValueError(f"annotation {REGISTER}: expected {_FORM} for each GPU, got {quoted(entry)}")
    identity, count, memory, kind, health, *mode = fields
    if not identity or not (count.isdecimal() and memory.isdecimal() and len(count) < 10 and len(memory) < 16):
        raise ValueError(
            f"annotation {REGISTER}: expected {_FORM} with numbers as count and memory, got {quoted(entry)}"
        )
    return SharedDevice(
        identity, kind, int(memory), int(count), is_healthy=health.lower() == "true", mode=mode[0] if mode else SOFTWARE
    )
