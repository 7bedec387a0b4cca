"""Changes of budgets: the annotation of a queue."""

from __future__ import annotations

import msgspec

from stromboli.cli.changes.queues import existing_queue
from stromboli.cli.output import Failure
from stromboli.core.model.usage.budgets import BUDGETS, Budget, budgets_of
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.volcano import KubeQueue


def own_budgets(queue: KubeQueue) -> list[Budget]:
    """Return the budgets of a queue. Raises Failure for invalid ones, which no change keeps."""
    text = (queue.metadata.annotations or {}).get(BUDGETS)
    try:
        return list(budgets_of(text)) if text else []
    except ValueError as error:
        name = queue.metadata.name
        remedy = f"remove all budgets of the queue with kubectl annotate queue {name} {BUDGETS}-"
        raise Failure(f"queue {name}: {error}; {remedy}") from error


async def set_budget(client: Client, name: str, budget: Budget) -> None:
    """Add a budget, or replace the one for the same resource, user and namespace."""
    queue = await existing_queue(client, name)
    others = [each for each in own_budgets(queue) if each.scope != budget.scope]
    await _write(client, queue, [*others, budget])


async def remove_budget(client: Client, name: str, scope: str) -> bool:
    """Remove a budget; return whether there was one."""
    queue = await existing_queue(client, name)
    before = own_budgets(queue)
    after = [each for each in before if each.scope != scope]
    if len(after) == len(before):
        return False
    await _write(client, queue, after)
    return True


async def _write(client: Client, queue: KubeQueue, budgets: list[Budget]) -> None:
    text = msgspec.json.encode(budgets).decode() if budgets else None
    metadata = {"resourceVersion": queue.metadata.resource_version, "annotations": {BUDGETS: text}}
    await client.patch(QUEUES, queue.metadata.name, {"metadata": metadata})
