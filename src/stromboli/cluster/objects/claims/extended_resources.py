"""Extended resources that devices provide: a DeviceClass names the resource, pods request it like any other.

On nodes where a device plugin offers the resource, pods use that. On the others they get devices of the class, by a
claim of their own with a request for each container. Until the pod is bound, that claim exists in the cache only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.claims import (
    EXTENDED_CLAIM,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    KubeDeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference
from stromboli.kube.objects.pod import Container, ExtendedResourceRequest
from stromboli.workloads.requests import effective_requests

#: The name under which devices of every class can be requested, before the name of the class.
IMPLICIT = "deviceclass.resource.kubernetes.io/"
#: The pod's name for the claim; no claim in the spec of a pod can have it.
EXTENDED = "<extended-resources>"
_MAX_NAME = 253

#: Device classes by the extended resource that they provide.
ResourceClasses = Mapping[str, str]


def resource_classes(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The classes by resource. Of several classes for one resource the newest counts, then the first name."""
    ordered = sorted(classes, key=lambda each: each.metadata.name, reverse=True)
    ordered.sort(key=lambda each: each.metadata.creation_timestamp or "")
    found = {each.spec.extended_resource_name or "": each.metadata.name for each in ordered}
    found |= {f"{IMPLICIT}{each.metadata.name}": each.metadata.name for each in ordered}
    return {name: device_class for name, device_class in found.items() if name}


def extended_claim(pod: kube.Pod, classes: ResourceClasses) -> ResourceClaim | None:
    """The claim that a pod needs on nodes where devices provide its extended resources; None for a pod that requests
    none, or runs without one.
    """
    status = pod.status.extended_resource_claim_status
    if status is None and pod.spec.node_name:
        return None
    requests = [request for request, _ in _device_requests(pod, classes)]
    if status is None and not requests:
        return None
    metadata = pod.metadata
    owner = OwnerReference(api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True)
    return ResourceClaim(
        metadata=ObjectMeta(
            (status.resource_claim_name if status else None) or claim_name(pod),
            metadata.namespace,
            f"extended-{metadata.uid}",
            annotations={EXTENDED_CLAIM: "true"},
            owner_references=[owner],
        ),
        spec=ResourceClaimSpec(KubeDeviceClaim(sorted(requests, key=lambda each: each.name or ""))),
    )


def claim_name(pod: kube.Pod) -> str:
    """The name of the claim of a pod: the same at every attempt, so that a repeated creation finds the first one."""
    suffix = f"-extended-resources-{hashlib.sha256(pod.metadata.uid.encode()).hexdigest()[:8]}"
    return f"{pod.metadata.name[: _MAX_NAME - len(suffix)]}{suffix}"


def narrowed(claim: ResourceClaim, requests: Iterable[str]) -> ResourceClaim:
    """The claim with these requests only: on its node, a device plugin may provide some of the resources."""
    wanted, devices = set(requests), claim.spec.devices or KubeDeviceClaim()
    kept = [request for request in devices.requests or () if request.name in wanted]
    return msgspec.structs.replace(claim, spec=ResourceClaimSpec(KubeDeviceClaim(kept)))


def request_mappings(pod: kube.Pod, classes: ResourceClasses, requests: Iterable[str]) -> list[ExtendedResourceRequest]:
    """The requests of the claim that each container uses, for the status of the pod."""
    wanted = set(requests)
    mappings = (mapping for _, of_request in _device_requests(pod, classes) for mapping in of_request)
    return [mapping for mapping in mappings if mapping.request_name in wanted]


def requests_in(allocation: Mapping[str, Any]) -> set[str]:
    """The requests of an allocation that have devices."""
    results = (allocation.get("devices") or {}).get("results") or ()
    return {result.get("request") or "" for result in results}


def resource_of(pod: kube.Pod, request: str) -> str:
    """The resource that a request of the claim stands for, which is in the name of the request."""
    _, container, _, place = request.split("-")
    return sorted(effective_requests(_containers(pod)[int(container)].resources))[int(place)]


# -- requests of containers --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _ContainerNeed:
    """The amount of one resource that a container requests, and its request in the claim."""

    number: int
    container: Container
    amount: int
    #: Whether the container ends before the next one starts.
    is_short_lived: bool

    def request(self, resource: str, device_class: str, count: int) -> DeviceRequest:
        place = sorted(effective_requests(self.container.resources)).index(resource)
        exact = ExactDeviceRequest(device_class_name=device_class, allocation_mode="ExactCount", count=count)
        return DeviceRequest(f"container-{self.number}-request-{place}", exact)

    def mapping(self, resource: str, request: DeviceRequest) -> ExtendedResourceRequest:
        return ExtendedResourceRequest(self.container.name, resource, request.name)


_Request = tuple[DeviceRequest, list[ExtendedResourceRequest]]


def _device_requests(pod: kube.Pod, classes: ResourceClasses) -> Iterator[_Request]:
    """All requests of the claim, each with the containers that use its devices."""
    containers = _containers(pod)
    for resource in sorted(
        {name for container in containers for name in effective_requests(container.resources) if name in classes}
    ):
        yield from _of_resource(resource, classes[resource], list(_needs(pod, containers, resource)))


def _of_resource(resource: str, device_class: str, needs: Sequence[_ContainerNeed]) -> Iterator[_Request]:
    """Containers that run at the same time have requests of their own. Init containers use the devices of containers
    that start later; the largest amount that is missing to one of them is one more request, which they share.
    """
    lasting = {
        need.number: (request := need.request(resource, device_class, need.amount), [need.mapping(resource, request)])
        for need in needs
        if not need.is_short_lived
    }
    missing: list[tuple[int, _ContainerNeed]] = []
    for need in needs:
        left = need.amount if need.is_short_lived else 0
        for number, (request, mappings) in lasting.items():
            if left > 0 and number > need.number and request.exactly is not None:
                mappings.append(need.mapping(resource, request))
                left -= request.exactly.count or 0
        if left > 0:
            missing.append((left, need))
    if missing:
        count, largest = max(missing, key=lambda each: (each[0], -each[1].number))
        extra = largest.request(resource, device_class, count)
        yield extra, [need.mapping(resource, extra) for _, need in missing]
    yield from lasting.values()


def _needs(pod: kube.Pod, containers: Sequence[Container], resource: str) -> Iterator[_ContainerNeed]:
    first = len(pod.spec.init_containers or ())
    for number, container in enumerate(containers):
        amount = _amount(effective_requests(container.resources).get(resource, 0))
        if amount > 0:
            yield _ContainerNeed(number, container, amount, number < first and container.restart_policy != "Always")


def _containers(pod: kube.Pod) -> list[Container]:
    return [*(pod.spec.init_containers or ()), *(pod.spec.containers or ())]


def _amount(text: str | int | float) -> int:
    """A whole number of devices; 0 for an invalid one, which is reported with the requests of the pod."""
    try:
        return parse_quantity(text, milli=True) // 1000
    except ValueError:
        return 0
