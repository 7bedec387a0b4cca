"""Claims for extended resources: created when a pod is bound to a node where devices provide them.

The name of the claim is the same at every attempt, so that a repeated write finds what an earlier one created. A
rollback deallocates the claim as any other; it is deleted with its pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stromboli.cluster.objects.claims.extended_resources import (
    extended_claim,
    narrowed,
    request_mappings,
    requests_in,
    resource_classes,
)
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS, RESOURCE_CLAIMS
from stromboli.kube.objects.claims import DeviceClass, ResourceClaim
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.status_writer import ObjectStore


class ExtendedClaims:
    """Creates the claims, and writes to pods which container uses which request."""

    def __init__(self, client: Client, view: ObjectStore) -> None:
        self._client = client
        self._view = view

    async def create(self, pod: Pod, classes: Iterable[DeviceClass], allocation: Mapping[str, Any]) -> None:
        """Create the claim for an allocation, unless it exists."""
        wanted = extended_claim(pod, resource_classes(classes))
        if wanted is None:
            return
        wanted = narrowed(wanted, requests_in(allocation))
        known = self._view.get(ResourceClaim, wanted.key)
        if isinstance(known, ResourceClaim) and _is_usable(known, wanted):
            return
        try:
            self._view.apply(await self._create(wanted))
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._replace(wanted)

    async def _replace(self, wanted: ResourceClaim) -> None:
        """Keep an existing claim, unless an earlier attempt created it for a node with other resources."""
        metadata = wanted.metadata
        found = await self._client.get(RESOURCE_CLAIMS, metadata.name, namespace=metadata.namespace)
        if not _is_usable(found, wanted):
            uid = found.metadata.uid
            await self._client.delete(RESOURCE_CLAIMS, metadata.name, namespace=metadata.namespace, uid=uid)
            found = await self._create(wanted)
        self._view.apply(found)

    async def _create(self, wanted: ResourceClaim) -> ResourceClaim:
        document = msgspec.to_builtins(wanted)
        metadata = {key: value for key, value in document["metadata"].items() if key != "uid" and value}
        body = {"metadata": metadata, "spec": document["spec"]}
        return await self._client.create(RESOURCE_CLAIMS, body, namespace=wanted.metadata.namespace)

    async def write_status(self, pod: Pod, classes: Iterable[DeviceClass], allocation: Mapping[str, Any]) -> None:
        """Write to the pod which request each container uses."""
        resources = resource_classes(classes)
        claim = extended_claim(pod, resources)
        mappings = request_mappings(pod, resources, requests_in(allocation))
        if claim is None or not mappings:
            return
        status = {"resourceClaimName": claim.metadata.name, "requestMappings": msgspec.to_builtins(mappings)}
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"extendedResourceClaimStatus": status}}
        metadata = pod.metadata
        await self._client.patch(PODS, metadata.name, body, namespace=metadata.namespace, subresource="status")


def _is_usable(found: ResourceClaim, wanted: ResourceClaim) -> bool:
    """Report whether the claim has these requests, or devices already."""
    return found.status.allocation is not None or _requests(found) == _requests(wanted)


def _requests(claim: ResourceClaim) -> list[tuple[object, ...]]:
    requests = (claim.spec.devices.requests if claim.spec.devices else None) or ()
    exact = ((request.name, request.exactly) for request in requests)
    return [(name, each and each.device_class_name, each and each.count) for name, each in exact]
