"""Changes to the queue of a job."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.resources import PODS
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import Candidate, creation, edit, single
from stromboli.planner.changes import Change
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16
_MAX_WEIGHT_FACTOR = 16


def opened_queue(situation: JobContext) -> Iterator[Candidate]:
    queue, given = situation.queue, situation.queue_object
    if queue is not None and given is not None and not queue.is_open:
        state = edit(given, ("status", "state"), given.status.state, "Open")
        yield single("open-queue", f"open queue {queue.name}, which is {queue.state}", state)


def missing_queue(situation: JobContext) -> Iterator[Candidate]:
    if situation.queue is None and situation.queue_object is None and not situation.job.spec.fault:
        name = situation.queue_name
        queue = kube.KubeQueue(
            "scheduling.volcano.sh/v1beta1", "Queue", kube.ObjectMeta(name=name, uid=f"Queue/{name}")
        )
        queue.spec.weight = 1
        yield single("create-queue", f"create queue {name}", creation(queue))


def larger_capability(situation: JobContext) -> Iterator[Candidate]:
    """Every ceiling that the job would hit, raised by a part or all of what is missing."""
    queue, given = situation.queue, situation.queue_object
    if queue is None or given is None:
        return
    ceiling = dict(queue.capability)
    needed, minimum = situation.needed(), dict(situation.job.min_resources or ())
    missing = {
        d: situation.queue_allocated[d] + max(needed[d], minimum.get(d, 0)) - limit
        for d, limit in ceiling.items()
        if d != PODS
    }
    missing = {d: amount for d, amount in missing.items() if amount > 0}
    if missing:
        yield Candidate("raise-capability", _SIXTEENTHS, partial(_raise_capability, situation, given, missing))


def _raise_capability(situation: JobContext, given: kube.KubeQueue, missing: dict[int, int], size: int) -> Change:
    axis, ceiling = situation.axis, dict(situation.queue.capability if situation.queue else ())
    edits, words = [], []
    for dimension, amount in missing.items():
        name, old = axis.names[dimension], ceiling[dimension]
        step = step_of(name, amount)
        new = old + -(-amount * size // _SIXTEENTHS // step) * step
        before = (given.spec.capability or {}).get(name)
        edits.append(edit(given, ("spec", "capability", name), before, axis.format(dimension, new)))
        words.append(f"{name} from {axis.format(dimension, old)} to {axis.format(dimension, new)}")
    sentence = f"raise the capability of queue {given.key}: {', '.join(words)}"
    return Change("raise-capability", sentence, tuple(edits))


def larger_weight(situation: JobContext) -> Iterator[Candidate]:
    given = situation.queue_object
    if situation.queue is not None and given is not None and situation.is_by_weight:
        weight = situation.queue.weight
        yield Candidate("raise-weight", weight * (_MAX_WEIGHT_FACTOR - 1), partial(_raise_weight, given, weight))


def _raise_weight(given: kube.KubeQueue, weight: int, size: int) -> Change:
    raised = edit(given, ("spec", "weight"), given.spec.weight, weight + size)
    sentence = f"raise the weight of queue {given.key} from {weight} to {weight + size}"
    return Change("raise-weight", sentence, (raised,))
