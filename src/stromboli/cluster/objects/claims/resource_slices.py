"""ResourceSlices: slices form pools, and pools hold devices.

A driver publishes a change as new slices with a higher generation, one after the other. Only the newest generation
counts, and only when it is complete. A pool with duplicate device names offers no devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stromboli.cluster.objects.claims.device_selectors import DeviceDocument, qualified
from stromboli.cluster.objects.storage.volume_needs import node_terms, volume_terms
from stromboli.core.model.devices.claims import CapacityAmount, CapacityPolicy, Device, DeviceCriteria, DeviceName
from stromboli.core.model.devices.device_table import DeviceTable, MatchingDevices
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.volumes.volumes import Terms
from stromboli.kube.objects.claims import CapacityRequestPolicy, CounterUse, DeviceCapacity, ResourceSlice
from stromboli.kube.objects.claims import KubeDevice as WireDevice

PoolName = tuple[str, str]


@dataclass(slots=True)
class _DecodedSlice:
    """A decoded slice, or why it is invalid."""

    wire: ResourceSlice
    devices: list[tuple[Device, DeviceDocument]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    where: Terms = None
    fault: str = ""
    #: Devices with bindingConditions, which are not supported.
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Pool:
    slices: tuple[_DecodedSlice, ...]
    fault: str = ""


class DevicePools:
    def __init__(self) -> None:
        self._slices: dict[str, _DecodedSlice] = {}
        self._pools: dict[PoolName, dict[str, _DecodedSlice]] = {}
        self._faults: list[str] | None = None

    def objects(self) -> Iterable[ResourceSlice]:
        return (decoded.wire for decoded in self._slices.values())

    def put(self, resource_slice: ResourceSlice, *, present: bool) -> None:
        self._faults = None
        before = self._slices.pop(resource_slice.key, None)
        if before is not None:
            members = self._pools[_pool_of(before.wire)]
            del members[resource_slice.key]
            if not members:
                del self._pools[_pool_of(before.wire)]
        if present:
            decoded = self._slices[resource_slice.key] = _decode(resource_slice)
            self._pools.setdefault(_pool_of(resource_slice), {})[resource_slice.key] = decoded

    def table(self, criteria: Iterable[DeviceCriteria]) -> DeviceTable:
        """All devices of complete pools, and which of them satisfy each selector."""
        devices: list[Device] = []
        documents: list[DeviceDocument] = []
        counters: dict[str, int] = {}
        unknown: list[tuple[str, Terms]] = []
        for (driver, name), members in sorted(self._pools.items()):
            pool = _newest(members)
            if pool.fault:
                unknown += [(f"{driver}/{name}", decoded.where) for decoded in pool.slices]
                continue
            for decoded in pool.slices:
                counters |= decoded.counters
                devices += (device for device, _ in decoded.devices)
                documents += (document for _, document in decoded.devices)
        return DeviceTable(
            tuple(devices), counters, {suit: _suited(documents, suit) for suit in criteria}, tuple(unknown)
        )

    def faults(self) -> list[str]:
        """Return the faults of pools; recalculated when a slice has changed."""
        if self._faults is None:
            self._faults = []
            for (driver, name), members in sorted(self._pools.items()):
                pool = _newest(members)
                if pool.fault:
                    self._faults.append(f"pool {driver}/{name}: {pool.fault}; none of its devices is allocated")
                elif ignored := sum(decoded.ignored for decoded in pool.slices):
                    message = f"{ignored} devices have bindingConditions, which is not supported"
                    self._faults.append(f"pool {driver}/{name}: {message}; they are not allocated")
        return self._faults


def _suited(documents: Iterable[DeviceDocument], suit: DeviceCriteria) -> MatchingDevices:
    import numpy as np

    answers = [document.answer(suit) for document in documents]
    mask = np.array([answer is True for answer in answers], dtype=np.bool_)
    return MatchingDevices(mask, {place: answer for place, answer in enumerate(answers) if isinstance(answer, str)})


def _pool_of(wire: ResourceSlice) -> PoolName:
    pool = wire.spec.pool
    return wire.spec.driver or "", (pool.name if pool else None) or ""


def _generation_of(decoded: _DecodedSlice) -> int:
    return (decoded.wire.spec.pool.generation if decoded.wire.spec.pool else None) or 0


def _newest(members: Mapping[str, _DecodedSlice]) -> _Pool:
    newest = max(map(_generation_of, members.values()))
    slices = tuple(decoded for _, decoded in sorted(members.items()) if _generation_of(decoded) == newest)
    wanted = max(
        (decoded.wire.spec.pool.resource_slice_count if decoded.wire.spec.pool else 0) or 0 for decoded in slices
    )
    fault = next((decoded.fault for decoded in slices if decoded.fault), "")
    if not fault and len(slices) < wanted:
        fault = f"{len(slices)} of {wanted} slices of generation {newest} are there"
    names = [device.name for decoded in slices for device, _ in decoded.devices]
    if not fault and len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        fault = f"two devices are called {twice.device}"
    known = {name for decoded in slices for name in decoded.counters}
    if not fault:
        drawn = (name for decoded in slices for device, _ in decoded.devices for name, _ in device.counters)
        missing = next((name for name in drawn if name not in known), "")
        fault = f"there is no counter {missing}" if missing else ""
    return _Pool(slices, fault)


# -- reading --------------------------------------------------------------------------------------------------------


def _decode(wire: ResourceSlice) -> _DecodedSlice:
    decoded, spec, where = _DecodedSlice(wire), wire.spec, f"ResourceSlice {wire.key}: spec"
    driver, pool = _pool_of(wire)
    try:
        selected = f"{where}.nodeSelector.nodeSelectorTerms"
        decoded.where = node_terms(spec.node_name) if spec.node_name else volume_terms(spec.node_selector, selected)
        for counter_set in spec.shared_counters or ():
            for name, counter in (counter_set.counters or {}).items():
                key = _counter_key(driver, pool, counter_set.name, name)
                decoded.counters[key] = _amount(counter.value, f"{where}.sharedCounters")
        for number, device in enumerate(spec.devices or ()):
            if device.binding_conditions:
                decoded.ignored += 1
                continue
            facts = _device(wire, device, f"{where}.devices[{number}]")
            decoded.devices.append((facts, DeviceDocument(device, driver)))
    except ValueError as error:
        decoded.fault = str(error)
    return decoded


def _counter_key(driver: str, pool: str, counter_set: str | None, counter: str) -> str:
    return f"{driver}/{pool}/{counter_set}/{counter}"


def _device(wire: ResourceSlice, device: WireDevice, where: str) -> Device:
    spec = wire.spec
    driver, pool = _pool_of(wire)
    place = device if spec.per_device_node_selection else spec
    is_anywhere = bool(place.all_nodes)
    terms: Terms = None if is_anywhere else ()
    if place.node_selector is not None and not is_anywhere:
        terms = volume_terms(place.node_selector, f"{where}.nodeSelector.nodeSelectorTerms")
    attributes = {
        qualified(name, driver): value
        for name, attribute in (device.attributes or {}).items()
        for value in [_comparable(attribute.text, attribute.number, attribute.truth, attribute.version)]
        if value is not None
    }
    capacity = {
        qualified(name, driver): _capacity(name, resource_slice, f"{where}.capacity[{name}]")
        for name, resource_slice in (device.capacity or {}).items()
    }
    return Device(
        DeviceName(driver, pool, device.name or ""),
        node=place.node_name or "",
        terms=None if place.node_name else terms,
        attributes=attributes,
        capacity=capacity,
        counters=_drawn(driver, pool, device.consumes_counters, where),
        is_shared=bool(device.allow_multiple_allocations),
        binds_to_node=bool(device.binds_to_node),
    )


def _comparable(*values: str | int | bool | None) -> object:
    """An attribute with its type, so that the number 1, the string "1" and true differ."""
    return next(((number, value) for number, value in enumerate(values) if value is not None), None)


def _drawn(driver: str, pool: str, uses: Iterable[CounterUse] | None, where: str) -> tuple[tuple[str, int], ...]:
    drawn: dict[str, int] = {}
    for use in uses or ():
        for name, counter in (use.counters or {}).items():
            drawn[_counter_key(driver, pool, use.counter_set, name)] = _amount(
                counter.value, f"{where}.consumesCounters"
            )
    return tuple(sorted(drawn.items()))


def _capacity(name: str, resource_slice: DeviceCapacity, where: str) -> CapacityAmount:
    policy = resource_slice.request_policy
    return CapacityAmount(
        _amount(resource_slice.value, where), _policy(policy, where) if policy is not None else None, name
    )


def _policy(wire: CapacityRequestPolicy, where: str) -> CapacityPolicy:
    where, bounds = f"{where}.requestPolicy", wire.valid_range

    def perhaps(value: str | int | float | None) -> int | None:
        return None if value is None else _amount(value, where)

    return CapacityPolicy(
        perhaps(wire.default),
        tuple(sorted(_amount(value, where) for value in wire.valid_values or ())),
        perhaps(bounds.min) if bounds else None,
        perhaps(bounds.max) if bounds else None,
        perhaps(bounds.step) if bounds else None,
    )


def _amount(value: str | int | float | None, where: str) -> int:
    try:
        return parse_quantity(0 if value is None else value, milli=True)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
