"""Ascend chips as HAMi's device plugin shares them: by template, or by software.

Each family of chips has its own resources and annotations. The templates come from the configuration of the device
plugin.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import ASCEND_CHIPS, Backend, DeviceUser, SharedDeviceRequest
from stromboli.core.model.nodes.table import Node
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
from stromboli.core.plugins.deviceshare.node_devices import DeviceHolding, Share, SharedDevice, Shares, Use

MODE = "huawei.com/vnpu-mode"
SOFTWARE = "hami-core"
_REGISTER = "hami.io/node-register-{}"
_ALLOCATED = "hami.io/{}-devices-allocated"
_TO_ALLOCATE = "hami.io/{}-devices-to-allocate"
_USE, _AVOID = "hami.io/use-{}-uuid", "hami.io/no-use-{}-uuid"


@dataclass(frozen=True, slots=True)
class ChipTemplate:
    """A part that a chip can be cut into."""

    name: str
    memory: int
    cores: int
    helpers: int = 0


@dataclass(frozen=True, slots=True)
class ChipModel:
    """The common properties of a family of chips."""

    word: str
    #: The memory that pods may use, and the memory of the chip.
    memory: int
    capacity: int
    cores: int
    helpers: int = 0
    templates: tuple[ChipTemplate, ...] = ()

    def part_for(self, memory: int) -> ChipTemplate | None:
        """Return the smallest part with enough memory: one of a template, or the whole chip."""
        if not memory or memory > self.capacity:
            return None if memory else self.whole
        fitting = [template for template in self.templates if template.memory >= memory]
        return min(fitting, key=lambda template: template.memory, default=self.whole)

    @property
    def whole(self) -> ChipTemplate:
        return ChipTemplate("", self.memory, self.cores, self.helpers)


class HamiAscend(DeviceBackend):
    name = Backend.ASCEND_HAMI
    reads_annotations = (MODE, *(key.format(chip) for chip in ASCEND_CHIPS for key in (_USE, _AVOID)))
    lock = "hami.io/mutex.lock"
    devices_description = "NPUs"

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.models: Mapping[str, ChipModel] = {}

    # -- annotations --------------------------------------------------------------------------------------------

    def registered(self, node: Node, offered: Offered) -> Hashable | None:
        keys = (_REGISTER.format(chip) for chip in ASCEND_CHIPS)
        return tuple((key, node.annotations[key]) for key in keys if node.annotations.get(key)) or None

    def devices(self, registered: Hashable) -> list[SharedDevice]:
        assert isinstance(registered, tuple)  # noqa: S101 - what `registered` gave
        return [device for key, text in registered for device in _devices_in(key, text)]

    def shares_of(self, claim: DeviceUser, devices: Sequence[SharedDevice]) -> Shares | None:
        found: list[list[Share]] = []
        for chip in ASCEND_CHIPS:
            key = _ALLOCATED.format(chip)
            if key in claim.annotations:
                for place, shares in enumerate(assigned(claim.annotations[key], devices, key)):
                    found += [[] for _ in range(place + 1 - len(found))]
                    found[place] += [self._completed(share, devices[share.place]) for share in shares]
        return tuple(tuple(shares) for shares in found) or None

    def _completed(self, share: Share, device: SharedDevice) -> Share:
        """Add what the template of a share implies: the annotation has only memory and cores."""
        model = self.models.get(device.kind)
        parts = (*model.templates, model.whole) if model else ()
        part = next((part for part in parts if (part.memory, part.cores) == (share.memory, share.cores)), None)
        return share if part is None else Share(share.place, share.memory, share.cores, part.name, part.helpers)

    def annotations(
        self, pick: DeviceHolding, node: str, devices: Sequence[SharedDevice], now: float
    ) -> dict[str, str]:
        written = {
            "hami.io/vgpu-node": node,
            "hami.io/vgpu-time": moment(now),
            "hami.io/bind-phase": "allocating",
            "hami.io/bind-time": moment(now),
            "predicate-time": moment(now),
        }
        by_chip = sorted(pick.shares(), key=lambda share: devices[share.place].kind)
        for chip, shares in groupby(by_chip, key=lambda share: devices[share.place].kind):
            own = tuple(
                tuple(replace(share, part="") for share in each if devices[share.place].kind == chip)
                for each in pick.containers
            )
            text = formatted(own, devices, lambda device: device.kind)
            written |= {_TO_ALLOCATE.format(chip): text, _ALLOCATED.format(chip): text}
            written[f"huawei.com/{chip}"] = json.dumps([_runtime(share, devices) for share in shares])
        return written

    # -- allocation ---------------------------------------------------------------------------------------------

    def offer(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest, wanted: Wanted
    ) -> Share | None:
        if device.kind != request.chip or not device.is_healthy or use.users >= device.slots:
            return None
        used, avoided = (split_list(wanted.annotation(key.format(request.chip))) for key in (_USE, _AVOID))
        if (used and device.id not in used) or device.id in avoided:
            return None
        if wanted.annotation(MODE) == SOFTWARE:
            return self._cut_by_software(place, device, use, request)
        return self._cut_after_template(place, device, use, request)

    def _cut_by_software(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest
    ) -> Share | None:
        """Allocate memory and a percentage of the cores; a request for all cores is exclusive."""
        memory = request.memory or device.memory
        if device.mode != SOFTWARE or use.memory + memory > device.memory or use.cores + request.cores > device.cores:
            return None
        is_exclusive_chip = use.users == 1 and use.cores >= 100
        return (
            None if is_exclusive_chip or (request.cores >= 100 and use.users) else Share(place, memory, request.cores)
        )

    def _cut_after_template(
        self, place: int, device: SharedDevice, use: Use, request: SharedDeviceRequest
    ) -> Share | None:
        """Allocate by template; a request for several chips gets whole ones."""
        model = self.models.get(device.kind)
        if model is None:
            return None
        part = model.part_for(request.memory)
        if part is None or (request.number > 1 and part.name):
            return None
        cores = max(part.cores, request.cores)
        if part.name == "" and use.users:
            return None
        if use.memory + part.memory > device.memory or use.cores + cores > device.cores:
            return None
        if model.helpers and use.helpers + part.helpers > model.helpers:
            return None
        return Share(place, part.memory, cores, part.name, part.helpers)


def _runtime(share: Share, devices: Sequence[SharedDevice]) -> dict[str, str]:
    entry = {"UUID": devices[share.place].id}
    return {**entry, "temp": share.part} if share.part else entry


def _devices_in(key: str, text: str) -> list[SharedDevice]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"annotation {key}: expected a list of devices in JSON, got {quoted(text)}")
    return [_device(key, entry) for entry in entries]


def _device(key: str, entry: Mapping[str, object]) -> SharedDevice:
    numbers = [entry.get(field, 0) for field in ("devmem", "count", "devcore")]
    identity, healthy = entry.get("id"), entry.get("health", True)
    if not isinstance(identity, str) or not identity or not isinstance(healthy, bool):
        raise ValueError(f"annotation {key}: a device has no id, or a health that is not true or false")
    memory, slots, cores = (number if isinstance(number, int) and number >= 0 else -1 for number in numbers)
    if min(memory, slots, cores) < 0:
        raise ValueError(f"annotation {key}: devmem, count and devcore of device {identity[:64]} must be whole numbers")
    mode = entry.get("mode")
    chip = key.removeprefix(_REGISTER.format(""))
    return SharedDevice(identity, chip, memory, slots, cores, healthy, mode if isinstance(mode, str) else "")
