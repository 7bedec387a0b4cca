"""The allocation in a claim's status: the chosen devices, and the nodes that can access them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stromboli.cluster.objects.storage.volume_needs import volume_terms
from stromboli.core.model.devices.claims import AssignedDevice, ClaimChoice, DeviceName
from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.core.model.tasks.selectors import Requirement as Clause
from stromboli.kube.objects.claims import (
    AllocatedDevice,
    Allocation,
    DeviceClass,
    DeviceRequest,
    DeviceSubRequest,
    KubeDeviceAllocation,
    ResourceClaim,
)
from stromboli.kube.objects.constraints import NodeSelector, NodeSelectorTerm
from stromboli.kube.objects.meta import KubeRequirement

FromClass = Callable[[str], DeviceClass | None]


def allocation_of(claim: ResourceClaim, choice: ClaimChoice, node: str, class_of: FromClass) -> Allocation:
    """The allocation of the claim on the node."""
    requests = (claim.spec.devices.requests if claim.spec.devices else None) or ()
    results = [_result(claim, requests, device, number) for number, device in enumerate(choice.devices)]
    config = list(_configuration(claim, requests, choice, class_of))
    return Allocation(KubeDeviceAllocation(results or None, config or None), _selector(choice, node))


def choice_in(name: str, allocation: Mapping[str, Any]) -> ClaimChoice | None:
    """The choice that an allocation records; None if it cannot be decoded."""
    try:
        wire = msgspec.convert(allocation, Allocation)
        terms = volume_terms(wire.node_selector, "nodeSelector.nodeSelectorTerms")
    except (ValueError, msgspec.ValidationError):
        return None
    return ClaimChoice(name, devices_in(wire), is_local=False, terms=terms)


def devices_in(allocation: Allocation | None) -> tuple[AssignedDevice, ...]:
    """The allocated devices."""
    results = (allocation.devices.results if allocation and allocation.devices else None) or ()
    return tuple(
        AssignedDevice(
            result.request or "",
            DeviceName(result.driver or "", result.pool or "", result.device or ""),
            bool(result.admin_access),
            _portions(result),
        )
        for result in results
    )


def _portions(result: AllocatedDevice) -> tuple[tuple[str, int], ...] | None:
    """The consumed capacity of a shared device; None for the whole device, also if it cannot be decoded."""
    if result.consumed_capacity is None:
        return None
    try:
        return tuple(
            (name, parse_quantity(amount, milli=True)) for name, amount in sorted(result.consumed_capacity.items())
        )
    except ValueError:
        return None


def _result(
    claim: ResourceClaim, requests: Iterable[DeviceRequest], device: AssignedDevice, number: int
) -> AllocatedDevice:
    is_part = device.portions is not None
    share = f"{claim.metadata.uid}/{device.name}/{number}"  # the id is unique and reproducible
    alternative = next((each for name, each in _alternatives(requests) if name == device.request), None)
    return AllocatedDevice(
        request=device.request,
        driver=device.name.driver,
        pool=device.name.pool,
        device=device.name.device,
        admin_access=True if device.is_admin else None,
        share_id=str(uuid.uuid5(uuid.NAMESPACE_OID, share)) if is_part else None,
        tolerations=alternative.tolerations if alternative is not None else None,
        consumed_capacity={
            name: format_quantity(amount, milli=True, binary=True) for name, amount in device.portions or ()
        } if is_part else None,
    )  # fmt: skip


def _alternatives(requests: Iterable[DeviceRequest]) -> Iterator[tuple[str, DeviceSubRequest]]:
    """All alternatives of requests, each under the name that results use for it."""
    for request in requests:
        if request.exactly is not None:
            yield request.name or "", request.exactly
        for alternative in request.first_available or ():
            yield f"{request.name}/{alternative.name}", alternative


def _configuration(
    claim: ResourceClaim, requests: Iterable[DeviceRequest], choice: ClaimChoice, class_of: FromClass
) -> Iterator[dict[str, Any]]:
    """Configuration for drivers: from the class of each chosen request, and from the claim for these requests."""
    chosen = {device.request for device in choice.devices}
    for name, alternative in _alternatives(requests):
        device_class = class_of(alternative.device_class_name or "") if name in chosen else None
        for entry in (device_class.spec.config if device_class is not None else None) or ():
            yield {"source": "FromClass", "requests": [name], **entry}
    for entry in (claim.spec.devices.config if claim.spec.devices else None) or ():
        named = entry.get("requests") or ()
        if not named or any(each in named or each.partition("/")[0] in named for each in chosen):
            yield {"source": "FromClaim", **entry}


def _selector(choice: ClaimChoice, node: str) -> NodeSelector | None:
    if choice.is_local:
        term = NodeSelectorTerm(match_fields=[KubeRequirement(key="metadata.name", operator="In", values=[node])])
        return NodeSelector([term])
    if choice.terms is None:
        return None
    return NodeSelector(
        [NodeSelectorTerm(_wire_clauses(each.labels), _wire_clauses(each.fields)) for each in choice.terms]
    )


def _wire_clauses(clauses: Iterable[Clause]) -> list[KubeRequirement] | None:
    wire = [KubeRequirement(each.key, each.operator, list(each.values) or None) for each in clauses]
    return wire or None
