"""Guarantees that the cluster can keep.

The guarantees of all queues together may exceed the cluster: a queue was created with amounts beyond it, or nodes are
gone. Each would then count in full against the others, which starves them. None counts with more than the cluster has,
and all are cut in the same proportion, resource by resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.resources.resources import Request, ResourceAxis, add_request, request_of


def affordable(
    queues: Mapping[str, Queue], total: Sequence[int], axis: ResourceAxis
) -> tuple[Mapping[str, Queue], dict[str, str]]:
    """Return the queues with guarantees that fit into the cluster together, and by queue what was cut.

    A queue's guarantee includes those of its descendants, so only queues below the root are added up. A resource that
    the cluster does not have takes nothing from others.
    """
    sums = [0] * len(total)
    for queue in queues.values():
        if queue.name != ROOT and (queue.parent in ("", ROOT) or queue.parent not in queues):
            add_request(sums, _possible(queue, total))
    demanded = {d for queue in queues.values() for d, amount in queue.guarantee if amount > total[d]}
    over = {d for d, amount in enumerate(sums) if total[d] and (amount > total[d] or d in demanded)}
    if not over:
        return queues, {}
    cut, messages = dict(queues), dict[str, str]()
    for name, queue in queues.items():
        lost = [dimension for dimension, _ in queue.guarantee if dimension in over]
        if lost:
            possible = _possible(queue, total)
            kept = {d: _share(amount, total[d], sums[d]) for d, amount in possible}
            cut[name] = replace(queue, guarantee=request_of(kept))
            messages[name] = "; ".join(_message(axis, d, total[d], kept[d]) for d in lost)
    return cut, messages


def _possible(queue: Queue, total: Sequence[int]) -> Request:
    """Return the guarantee of a queue, as far as the cluster has it."""
    return tuple((d, min(amount, total[d]) if total[d] else amount) for d, amount in queue.guarantee)


def _share(amount: int, total: int, guaranteed: int) -> int:
    return amount * total // guaranteed if guaranteed > total > 0 else amount


def _message(axis: ResourceAxis, dimension: int, total: int, kept: int) -> str:
    name, there, counts = axis.names[dimension], axis.format(dimension, total), axis.format(dimension, kept)
    return f"all queues together are guaranteed more {name} than the cluster has ({there}); {counts} counts"
