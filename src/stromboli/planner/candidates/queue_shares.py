"""Changes to `deserved` and `guarantee` of a queue, if these and not weights determine its share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.resources import PODS
from stromboli.kube.objects.volcano import Guarantee
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import RemedyCandidate, edit
from stromboli.planner.changes import Edit, ObjectChange
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16


@dataclass(frozen=True, slots=True)
class _QueueAmount:
    """Current amounts of a queue by dimension, and how to edit them."""

    kind: str
    label: str
    has: Mapping[int, int]
    edits: Callable[[Mapping[str, str]], tuple[Edit, ...]]


def larger_deserved(context: JobContext) -> Iterator[RemedyCandidate]:
    """Raise `deserved` of the queue so that it includes the job."""
    queue_object, facts = context.queue_object, context.queue_facts
    if queue_object is not None and facts is not None and not facts.by_weight:
        has = {dimension: amount for dimension, amount in enumerate(facts.deserved) if amount}
        target = _QueueAmount(
            "raise-deserved", f"deserved of queue {queue_object.key}", has, partial(_deserved, queue_object)
        )
        yield from _raised(context, target)


def larger_guarantee(context: JobContext) -> Iterator[RemedyCandidate]:
    """Raise `guarantee` of the queue so that it includes the job."""
    queue_object, facts, queue = context.queue_object, context.queue_facts, context.queue
    if queue_object is not None and queue is not None and facts is not None and not facts.by_weight:
        label, edits = f"the guarantee of queue {queue_object.key}", partial(_guaranteed, queue_object)
        yield from _raised(context, _QueueAmount("raise-guarantee", label, dict(queue.guarantee), edits))


def _deserved(queue_object: kube.KubeQueue, amounts: Mapping[str, str]) -> tuple[Edit, ...]:
    before = queue_object.spec.deserved or {}
    return tuple(
        edit(queue_object, ("spec", "deserved", name), before.get(name), text) for name, text in amounts.items()
    )


def _guaranteed(queue_object: kube.KubeQueue, amounts: Mapping[str, str]) -> tuple[Edit, ...]:
    if queue_object.spec.guarantee is None:
        return (edit(queue_object, ("spec", "guarantee"), None, Guarantee(resource=dict(amounts))),)
    before = queue_object.spec.guarantee.resource or {}
    path = ("spec", "guarantee", "resource")
    return tuple(edit(queue_object, (*path, name), before.get(name), text) for name, text in amounts.items())


def _raised(context: JobContext, target: _QueueAmount) -> Iterator[RemedyCandidate]:
    """Yield the raised amounts, in sixteenths of what is missing."""
    needed, minimum = context.needed(), dict(context.job.min_resources or ())
    missing = {
        d: context.queue_allocated[d] + max(amount, minimum.get(d, 0)) - target.has.get(d, 0)
        for d, amount in enumerate(needed)
        if amount and d != PODS
    }
    missing = {d: amount for d, amount in missing.items() if amount > 0}
    if missing:
        yield RemedyCandidate(target.kind, _SIXTEENTHS, partial(_raise, context, target, missing))


def _raise(context: JobContext, target: _QueueAmount, missing: Mapping[int, int], size: int) -> ObjectChange:
    axis, amounts, parts = context.axis, dict[str, str](), []
    for dimension, amount in missing.items():
        name, old = axis.names[dimension], target.has.get(dimension, 0)
        step = step_of(name, amount)
        new = old + -(-amount * size // _SIXTEENTHS // step) * step
        amounts[name] = axis.format(dimension, new)
        parts.append(f"{name} from {axis.format(dimension, old)} to {amounts[name]}")
    return ObjectChange(target.kind, f"raise {target.label}: {', '.join(parts)}", target.edits(amounts))
