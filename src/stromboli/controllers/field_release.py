"""Releases the ownership of status fields that Volcano's controllers write by server-side apply without force.

An apply of another value by another field manager is a conflict. A write to the status subresource cannot change the
ownership, so that is a second write.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.kube.client.client import FIELD_MANAGER

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client
    from stromboli.kube.objects.resources import Resource

ManagedFields = list[dict[str, Any]]


async def release_status_fields(client: Client, resource: Resource[Any], name: str, fields: Collection[str]) -> None:
    """Release these fields of a cluster-scoped object, if the own field manager owns them."""
    metadata = msgspec.json.decode(await client.request("GET", resource.path(name=name)))["metadata"]
    before = metadata.get("managedFields") or []
    after = without_status_fields(before, fields)
    if after != before:
        # An empty list would not change anything; this resets it.
        released = {"resourceVersion": metadata["resourceVersion"], "managedFields": after or [{}]}
        await client.patch(resource, name, {"metadata": released})


def without_status_fields(entries: Sequence[dict[str, Any]], fields: Collection[str]) -> ManagedFields:
    """Return the entries without these status fields of the own field manager."""
    left: ManagedFields = []
    for entry in entries:
        owned = (entry.get("fieldsV1") or {}).get("f:status") or {}
        if entry.get("manager") != FIELD_MANAGER or not any(f"f:{field}" in owned for field in fields):
            left.append(entry)
            continue
        status = {key: value for key, value in owned.items() if key.removeprefix("f:") not in fields}
        rest = {key: value for key, value in entry["fieldsV1"].items() if key != "f:status"}
        content = rest | ({"f:status": status} if status.keys() - {"."} else {})
        if content:
            left.append({**entry, "fieldsV1": content})
    return left
