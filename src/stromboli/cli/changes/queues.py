"""Changes of queues: creation, settings, opening, closing, deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.cli.output import Failure
from stromboli.cluster.standard_queues import standard_queues
from stromboli.controllers.queue_state import CLOSING, OPEN, parent_of, state_of
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import POD_GROUPS, QUEUES
from stromboli.kube.objects.volcano import KubeQueue
from stromboli.workloads.queues import queue_name_of


def queue_spec(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the settings that are present; an empty amount removes it."""
    fields = {
        "weight": settings["weight"],
        "parent": settings["parent"],
        "priority": settings["priority"],
        "reclaimable": settings["reclaimable"],
        "capability": settings["capability"],
        "deserved": settings["deserved"],
        "guarantee": None if settings["guarantee"] is None else {"resource": settings["guarantee"]},
    }
    return {name: value for name, value in fields.items() if value is not None}


async def create_queue(client: Client, name: str, spec: Mapping[str, Any]) -> None:
    if "parent" in spec:
        await existing_queue(client, str(spec["parent"]), "the parent of a queue must exist")
    await client.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": True, **spec}})


async def set_queue(client: Client, name: str, spec: Mapping[str, Any]) -> None:
    """Change settings. Amounts are replaced as a whole."""
    queue = await existing_queue(client, name)
    before = {
        "capability": queue.spec.capability,
        "deserved": queue.spec.deserved,
        "guarantee": {"resource": queue.spec.guarantee.resource if queue.spec.guarantee else None},
    }
    body = {part: _replacing(before.get(part), value) for part, value in spec.items()}
    await client.patch(QUEUES, name, {"metadata": {"resourceVersion": queue.metadata.resource_version}, "spec": body})


def _replacing(before: Any, value: Any) -> Any:
    """Return the merge patch that replaces amounts: those that are absent now are deleted."""
    if not isinstance(value, dict):
        return value
    if "resource" in value:  # the amounts of a guarantee
        return {"resource": _replacing(before["resource"], value["resource"])}
    return {**dict.fromkeys(before or ()), **value}


async def open_queue(client: Client, name: str) -> bool:
    """Open a queue; return whether it was closed. The controller opens the children that were closed with it."""
    queue = await existing_queue(client, name)
    parent = parent_of(queue)
    if parent is not None and await _is_closed(client, parent):
        raise Failure(f"queue {name} cannot be opened: its parent {parent} is closed; open that first")
    return await _set_state(client, queue, OPEN)


async def close_queue(client: Client, name: str) -> bool:
    """Close a queue for new jobs; return whether it was open. The controller completes it when the last job is gone."""
    _reject_standard(name, "closed")
    queue = await existing_queue(client, name)
    return False if state_of(queue).is_closed else await _set_state(client, queue, CLOSING)


async def _is_closed(client: Client, name: str) -> bool:
    try:
        return state_of(await client.get(QUEUES, name)).is_closed
    except ApiError as error:
        if error.is_missing:
            return False
        raise


async def _set_state(client: Client, queue: KubeQueue, state: str) -> bool:
    if state_of(queue).state == state:
        return False
    status: dict[str, Any] = {"state": state}
    if queue.status.allocated is None:  # Volcano's definition requires it
        status["allocated"] = {}
    body = {"metadata": {"resourceVersion": queue.metadata.resource_version}, "status": status}
    await client.patch(QUEUES, queue.metadata.name, body, subresource="status")
    return True


async def delete_queue(client: Client, name: str) -> None:
    """Delete a queue without jobs and children."""
    _reject_standard(name, "deleted")
    queue = await existing_queue(client, name)
    children = [each.metadata.name for each in (await client.list(QUEUES)).items if parent_of(each) == name]
    if children:
        raise Failure(f"queue {name} has children: {', '.join(sorted(children))}; delete them first")
    jobs = [group.key for group in (await client.list(POD_GROUPS)).items if queue_name_of(group) == name]
    if jobs:
        more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
        raise Failure(f"queue {name} has jobs: {', '.join(sorted(jobs)[:3])}{more}; close it, and wait for their end")
    await client.delete(QUEUES, name, uid=queue.metadata.uid)


def _reject_standard(name: str, verb: str) -> None:
    if name in {queue.metadata.name for queue in standard_queues()}:
        raise Failure(f"queue {name} cannot be {verb}: every installation has it")


async def existing_queue(client: Client, name: str, remedy: str = "") -> KubeQueue:
    try:
        return await client.get(QUEUES, name)
    except ApiError as error:
        if not (error.is_missing and error.reason == "NotFound"):
            raise
        known = sorted(queue.metadata.name for queue in (await client.list(QUEUES)).items)
        raise Failure(f"queue {name} does not exist; {remedy or 'there are ' + ', '.join(known)}") from error
