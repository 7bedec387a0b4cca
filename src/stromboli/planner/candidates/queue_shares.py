"""Changes to what a queue is promised, where promises and not weights decide what it deserves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.resources import PODS
from stromboli.kube.objects.volcano import Guarantee
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import Candidate, edit
from stromboli.planner.changes import Change, Edit
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16


@dataclass(frozen=True, slots=True)
class _QueueAmount:
    """What a queue is promised, by dimension, and how to write other amounts into its object."""

    kind: str
    words: str
    has: Mapping[int, int]
    edits: Callable[[Mapping[str, str]], tuple[Edit, ...]]


def larger_deserved(situation: JobContext) -> Iterator[Candidate]:
    """What the queue deserves, raised so far that the job is within it."""
    given, facts = situation.queue_object, situation.queue_facts
    if given is not None and facts is not None and not facts.by_weight:
        has = {dimension: amount for dimension, amount in enumerate(facts.deserved) if amount}
        promise = _QueueAmount("raise-deserved", f"what queue {given.key} deserves", has, partial(_deserved, given))
        yield from _raised(situation, promise)


def larger_guarantee(situation: JobContext) -> Iterator[Candidate]:
    """What is kept free for the queue, raised so far that the job is within it."""
    given, facts, queue = situation.queue_object, situation.queue_facts, situation.queue
    if given is not None and queue is not None and facts is not None and not facts.by_weight:
        words, edits = f"the guarantee of queue {given.key}", partial(_guaranteed, given)
        yield from _raised(situation, _QueueAmount("raise-guarantee", words, dict(queue.guarantee), edits))


def _deserved(given: kube.KubeQueue, amounts: Mapping[str, str]) -> tuple[Edit, ...]:
    before = given.spec.deserved or {}
    return tuple(edit(given, ("spec", "deserved", name), before.get(name), text) for name, text in amounts.items())


def _guaranteed(given: kube.KubeQueue, amounts: Mapping[str, str]) -> tuple[Edit, ...]:
    if given.spec.guarantee is None:
        return (edit(given, ("spec", "guarantee"), None, Guarantee(resource=dict(amounts))),)
    before = given.spec.guarantee.resource or {}
    path = ("spec", "guarantee", "resource")
    return tuple(edit(given, (*path, name), before.get(name), text) for name, text in amounts.items())


def _raised(situation: JobContext, promise: _QueueAmount) -> Iterator[Candidate]:
    """The promise in sixteenths of what is missing."""
    needed, minimum = situation.needed(), dict(situation.job.min_resources or ())
    missing = {
        d: situation.queue_allocated[d] + max(amount, minimum.get(d, 0)) - promise.has.get(d, 0)
        for d, amount in enumerate(needed)
        if amount and d != PODS
    }
    missing = {d: amount for d, amount in missing.items() if amount > 0}
    if missing:
        yield Candidate(promise.kind, _SIXTEENTHS, partial(_raise, situation, promise, missing))


def _raise(situation: JobContext, promise: _QueueAmount, missing: Mapping[int, int], size: int) -> Change:
    axis, amounts, words = situation.axis, dict[str, str](), []
    for dimension, amount in missing.items():
        name, old = axis.names[dimension], promise.has.get(dimension, 0)
        step = step_of(name, amount)
        new = old + -(-amount * size // _SIXTEENTHS // step) * step
        amounts[name] = axis.format(dimension, new)
        words.append(f"{name} from {axis.format(dimension, old)} to {amounts[name]}")
    return Change(promise.kind, f"raise {promise.words}: {', '.join(words)}", promise.edits(amounts))
