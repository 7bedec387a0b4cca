"""Status writes of workloads, only over the version that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

T = TypeVar("T", bound=TopLevel)


async def write_status(client: Client, resource: Resource[T], entry: T, changes: dict[str, Any]) -> None:
    """Write a status; a conflict or a deleted object is ignored, because the status was computed for the version read."""
    metadata = entry.metadata
    body = {"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}, "status": changes}
    try:
        await client.patch(resource, metadata.name, body, namespace=metadata.namespace, subresource="status")
    except ApiError as error:
        if not error.is_missing:
            raise
