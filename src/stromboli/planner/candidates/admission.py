"""Changes to the queue of a job."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from stromboli import kube
from stromboli.core.config.spelling import nearest
from stromboli.core.model.resources.resources import PODS
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import RemedyCandidate, creation, edit, single
from stromboli.planner.changes import ObjectChange
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16
_MAX_WEIGHT_FACTOR = 16


def opened_queue(context: JobContext) -> Iterator[RemedyCandidate]:
    queue, queue_object = context.queue, context.queue_object
    if queue is not None and queue_object is not None and not queue.is_open:
        state = edit(queue_object, ("status", "state"), queue_object.status.state, "Open")
        yield single("open-queue", f"open queue {queue.name}, which is {queue.state}", state)


def similar_queue(context: JobContext) -> Iterator[RemedyCandidate]:
    """Use the queue with a name similar to that of the missing one."""
    group, meant = context.group, nearest(context.queue_name, context.queue_names)
    if group is not None and meant is not None and context.queue is None and not context.job.spec.fault:
        corrected = edit(group, ("spec", "queue"), group.spec.queue, meant)
        yield single("correct-queue", f"use queue {meant} in PodGroup {group.key}", corrected)


def missing_queue(context: JobContext) -> Iterator[RemedyCandidate]:
    if context.queue is None and context.queue_object is None and not context.job.spec.fault:
        name = context.queue_name
        queue = kube.KubeQueue(
            "scheduling.volcano.sh/v1beta1", "Queue", kube.ObjectMeta(name=name, uid=f"Queue/{name}")
        )
        queue.spec.weight = 1
        yield single("create-queue", f"create queue {name}", creation(queue))


def larger_capability(context: JobContext) -> Iterator[RemedyCandidate]:
    """Raise every capability that the job exceeds, by a fraction or all of the missing amount."""
    queue, queue_object = context.queue, context.queue_object
    if queue is None or queue_object is None:
        return
    ceiling = dict(queue.capability)
    needed, minimum = context.needed(), dict(context.job.min_resources or ())
    missing = {
        d: context.queue_allocated[d] + max(needed[d], minimum.get(d, 0)) - limit
        for d, limit in ceiling.items()
        if d != PODS
    }
    missing = {d: amount for d, amount in missing.items() if amount > 0}
    if missing:
        yield RemedyCandidate(
            "raise-capability", _SIXTEENTHS, partial(_raise_capability, context, queue_object, missing)
        )


def _raise_capability(
    context: JobContext, queue_object: kube.KubeQueue, missing: dict[int, int], size: int
) -> ObjectChange:
    axis, ceiling = context.axis, dict(context.queue.capability if context.queue else ())
    edits, parts = [], []
    for dimension, amount in missing.items():
        name, old = axis.names[dimension], ceiling[dimension]
        step = step_of(name, amount)
        new = old + -(-amount * size // _SIXTEENTHS // step) * step
        before = (queue_object.spec.capability or {}).get(name)
        edits.append(edit(queue_object, ("spec", "capability", name), before, axis.format(dimension, new)))
        parts.append(f"{name} from {axis.format(dimension, old)} to {axis.format(dimension, new)}")
    description = f"raise the capability of queue {queue_object.key}: {', '.join(parts)}"
    return ObjectChange("raise-capability", description, tuple(edits))


def larger_weight(context: JobContext) -> Iterator[RemedyCandidate]:
    queue, queue_object, facts = context.queue, context.queue_object, context.queue_facts
    if queue is None or queue_object is None or not (facts is None or facts.by_weight):
        return
    weight = queue.weight

    def make(size: int) -> ObjectChange:
        raised = edit(queue_object, ("spec", "weight"), queue_object.spec.weight, weight + size)
        description = f"raise the weight of queue {queue_object.key} from {weight} to {weight + size}"
        return ObjectChange("raise-weight", description, (raised,))

    yield RemedyCandidate("raise-weight", weight * (_MAX_WEIGHT_FACTOR - 1), make)
