"""Ascend 310P chips as MindCluster partitions them: pods request cores, and get part of a chip or whole chips.

The label `servertype` names the chips of a node, its allocatable resources the number of cores. Partitions follow
templates, chosen by the number of cores and two labels of the pod.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import NPU_CORE, Backend, DeviceUser, SharedDeviceRequest
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.deviceshare.backend import DeviceBackend, Offered, Wanted, precise_moment, split_list
from stromboli.core.plugins.deviceshare.node_devices import (
    DeviceHolding,
    DevicePick,
    NodeDevices,
    Share,
    SharedDevice,
    Shares,
    Use,
)

KIND_LABEL, KIND = "ring-controller.atlas", "ascend-310P"
LEVEL_LABEL, IMAGE_UNITS_LABEL = "vnpu-level", "vnpu-dvpp"
SERVER_TYPE = "servertype"
UNHEALTHY = "huawei.com/Ascend310P-Unhealthy"
_SERVER = re.compile(r"Ascend310P-(\d{1,3})(-dual)?", re.ASCII)
_SHARED = re.compile(r"(\d{1,6})-(vir\w+)", re.ASCII)
_CHIP = "Ascend310P-"
_CORES_PER_CHIP = 8
_MAX_CHIPS = 1024


@dataclass(frozen=True, slots=True)
class ChipPart:
    """The resources of a template: cores, auxiliary CPUs, and whether the image units (DVPP) are included."""

    name: str
    cores: int
    helpers: int
    #: The image units (DVPP) it includes; a pod that needs none leaves them to others.
    image_units: int = 0


_PARTS = {
    part.name: part
    for part in (
        ChipPart("vir01", 1, 1),
        ChipPart("vir02", 2, 2),
        ChipPart("vir02_1c", 2, 1),
        ChipPart("vir04", 4, 4),
        ChipPart("vir04_3c", 4, 3),
        ChipPart("vir04_3c_ndvpp", 4, 3),
        ChipPart("vir04_4c_dvpp", 4, 4, 1),
    )
}
_HELPERS_PER_CHIP = 7


def part_for(cores: int, level: str, image_units: str, *, is_upper_half_free: bool = True) -> ChipPart | None:
    """Return the template for a request; None if there is none.

    `is_upper_half_free` reports whether a chip has enough for the larger template of a pod of high level.
    """
    wants_upper_half = level == "high" and is_upper_half_free
    if cores == 4 and image_units in ("yes", "no"):
        return _PARTS["vir04_4c_dvpp" if image_units == "yes" else "vir04_3c_ndvpp"]
    if image_units not in ("", "null"):
        return None
    names = {1: "vir01", 2: "vir02" if wants_upper_half else "vir02_1c", 4: "vir04" if wants_upper_half else "vir04_3c"}
    return _PARTS.get(names.get(cores, ""))


class MindCluster(DeviceBackend):
    name = Backend.ASCEND_MIND_CLUSTER
    reads_labels = (KIND_LABEL, LEVEL_LABEL, IMAGE_UNITS_LABEL)
    devices_description = "NPUs"

    # -- labels and annotations ---------------------------------------------------------------------------------

    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        cores = offered(NPU_CORE)
        return (cores, node.labels.get(SERVER_TYPE, ""), node.annotations.get(UNHEALTHY, "")) if cores else None

    def devices(self, registered: Hashable) -> list[SharedDevice]:
        assert isinstance(registered, tuple)  # noqa: S101 - what `registered` gave
        cores, server, unhealthy = registered
        found = _SERVER.fullmatch(server)
        if server and found is None:
            raise ValueError(f"label {SERVER_TYPE}: expected a type such as Ascend310P-8, got {quoted(server)}")
        each = int(found.group(1)) if found else _CORES_PER_CHIP
        if not each or cores // each > _MAX_CHIPS:
            raise ValueError(f"{cores} {NPU_CORE} are no number of chips with {each} cores")
        broken = {word.removeprefix(_CHIP) for word in split_list(unhealthy)}
        return [
            SharedDevice(str(place), KIND, slots=_HELPERS_PER_CHIP, cores=each, is_healthy=str(place) not in broken)
            for place in range(cores // each)
        ]

    def shares_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> Shares | None:
        text = claim.annotations.get(NPU_CORE)
        if text is None:
            return None
        shared = _SHARED.fullmatch(text)
        if shared is not None and shared.group(2) in _PARTS:
            part, place = _PARTS[shared.group(2)], int(shared.group(1))
            shares = [Share(place, part.image_units, part.cores, part.name, part.helpers)]
        else:
            words = [word.removeprefix(_CHIP) for word in split_list(text)]
            if not words or not all(word.isdecimal() and len(word) < 7 for word in words):
                raise ValueError(f"annotation {NPU_CORE}: expected chips such as 0,1 or 0-vir02, got {quoted(text)}")
            shares = [self._whole(int(word), devices) for word in words if int(word) < len(devices)]
        return (tuple(share for share in shares if share.place < len(devices)),)

    @staticmethod
    def _whole(place: int, devices: Sequence[SharedDevice]) -> Share:
        return Share(place, 1, devices[place].cores, helpers=_HELPERS_PER_CHIP)

    def annotations(
        self, pick: DeviceHolding, node: str, devices: Sequence[SharedDevice], now: float
    ) -> dict[str, str]:
        shares = pick.shares()
        text = ",".join(devices[share.place].id for share in shares)
        if shares[0].part:
            text = f"{devices[shares[0].place].id}-{shares[0].part}"
        return {NPU_CORE: text, "predicate-time": precise_moment(now)}

    def wanted(self, task_class: TaskClass) -> Wanted | None:
        """All containers of a pod have the same part, or the same chips."""
        wanted = super().wanted(task_class)
        if wanted is None:
            return None
        cores = sum(request.cores for container in wanted.containers for request in container)
        return replace(wanted, containers=((SharedDeviceRequest(self.name, 1, cores=cores),),))

    # -- allocation ---------------------------------------------------------------------------------------------

    def pick(self, node: NodeDevices, wanted: Wanted, *, later: bool) -> DevicePick | None:
        request = wanted.containers[0][0]
        if wanted.is_labelled(KIND_LABEL) != KIND or not node.devices:
            return None
        each = node.devices[0].cores
        if request.cores % each == 0:
            chips = SharedDeviceRequest(self.name, request.cores // each, cores=each)
            return super().pick(node, replace(wanted, containers=((chips,),)), later=later)
        for is_upper_half_free in (True, False):
            part = part_for(
                request.cores, wanted.is_labelled(LEVEL_LABEL), wanted.is_labelled(IMAGE_UNITS_LABEL),
                is_upper_half_free=is_upper_half_free,
            )  # fmt: skip
            found = self._cut(node, part, later=later) if part is not None else None
            if found is not None:
                return found
        return None

    def _cut(self, node: NodeDevices, part: ChipPart, *, later: bool) -> DevicePick | None:
        """Allocate part of the chip with the least left, so that others stay whole."""
        uses = node.uses(later=later)
        fitting = [
            place
            for place, (device, use) in enumerate(zip(node.devices, uses, strict=True))
            if device.is_healthy and _has_capacity(device, use, part)
        ]
        if not fitting:
            return None
        place = min(fitting, key=lambda place: (node.devices[place].cores - uses[place].cores, place))
        share = Share(place, part.image_units, part.cores, part.name, part.helpers)
        return DevicePick(((share,),), 100.0 * (uses[place].cores + part.cores) / node.devices[place].cores)

    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        """A whole chip."""
        return Share(place, 1, device.cores, helpers=_HELPERS_PER_CHIP) if device.is_healthy and not use.users else None

    def order(self, uses: Sequence[Use]) -> range:
        return range(len(uses))


def _has_capacity(device: SharedDevice, use: Use, part: ChipPart) -> bool:
    """Report whether the image units of a chip suffice: a request for all of them needs them exclusively."""
    return (
        use.cores + part.cores <= device.cores
        and use.helpers + part.helpers <= _HELPERS_PER_CHIP
        and use.memory + part.image_units <= 1
    )
