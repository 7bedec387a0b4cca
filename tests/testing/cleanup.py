"""Clean up a shared API server for the next test."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client

#: In the order of deletion, so that no controller recreates a deleted object.
_IN_NAMESPACES = (
    "/apis/apps/v1/namespaces/{}/deployments",
    "/apis/apps/v1/namespaces/{}/statefulsets",
    "/apis/apps/v1/namespaces/{}/replicasets",
    "/apis/batch/v1/namespaces/{}/cronjobs",
    "/apis/batch/v1/namespaces/{}/jobs",
    "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
    "/apis/scheduling.stromboli.dev/v1alpha1/namespaces/{}/bindrequests",
    "/api/v1/namespaces/{}/pods",
    "/api/v1/namespaces/{}/persistentvolumeclaims",
    "/api/v1/namespaces/{}/events",
)
_IN_CLUSTERS = (
    "/apis/scheduling.volcano.sh/v1beta1/queues",
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
)
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_AT_ONCE = b'{"gracePeriodSeconds":0,"propagationPolicy":"Background"}'
_NO_FINALIZERS = b'{"metadata":{"finalizers":null}}'


async def delete_created(client: Client, namespace: str) -> None:
    """Delete the objects of the namespace and the cluster-wide objects, with or without finalizers."""
    for collection in (*(path.format(namespace) for path in _IN_NAMESPACES), *_IN_CLUSTERS):
        await _clear(client, collection)
    await _clear_classes(client)


async def delete_all(client: Client) -> None:
    """Do the same for every namespace."""
    for path in _IN_NAMESPACES:
        found = await _listed(client, path.replace("/namespaces/{}", ""))
        for namespace in sorted({metadata["namespace"] for metadata in found}):
            await _clear(client, path.format(namespace))
    for collection in _IN_CLUSTERS:
        await _clear(client, collection)
    await _clear_classes(client)


async def _clear(client: Client, collection: str) -> None:
    await client.request("DELETE", collection, body=_AT_ONCE)
    for metadata in await _listed(client, collection):
        await _release(client, f"{collection}/{metadata['name']}")


async def _clear_classes(client: Client) -> None:
    for metadata in await _listed(client, _CLASSES):
        if not metadata["name"].startswith("system-"):
            await client.request("DELETE", f"{_CLASSES}/{metadata['name']}")


async def _listed(client: Client, collection: str) -> list[dict[str, Any]]:
    found: Any = msgspec.json.decode(await client.request("GET", collection))
    return [item["metadata"] for item in found["items"]]


async def _release(client: Client, path: str) -> None:
    """Remove the finalizers."""
    try:
        await client.request("PATCH", path, body=_NO_FINALIZERS, content_type="application/merge-patch+json")
    except ApiError as error:
        if not error.is_missing:
            raise
