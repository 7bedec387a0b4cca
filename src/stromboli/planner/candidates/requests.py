"""Changes to how much a pod asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import PODS, counts_in_milli
from stromboli.planner.candidates.amounts import below
from stromboli.planner.candidates.candidate import Candidate, describe_pods, edit
from stromboli.planner.changes import Change, Edit, Path
from stromboli.planner.job_context import JobContext, Member

_MAX_CLASSES = 3


def smaller_requests(situation: JobContext) -> Iterator[Candidate]:
    """One resource less per pod, class by class: for those that wait and, if that is no help, for all that do not
    run yet.
    """
    waiting, unplaced = _by_class(situation.waiting), _by_class(situation.unplaced)
    for number, members in list(waiting.items())[:_MAX_CLASSES]:
        for dimension, _ in members[0].task.task_class.request:
            if dimension != PODS:
                yield from _smaller(situation, members, dimension)
                if len(unplaced[number]) > len(members):
                    yield from _smaller(situation, unplaced[number], dimension)


def _by_class(members: Iterable[Member]) -> dict[int, list[Member]]:
    classes: dict[int, list[Member]] = {}
    for member in members:
        classes.setdefault(member.task.task_class.number, []).append(member)
    return classes


def _smaller(situation: JobContext, members: Sequence[Member], dimension: int) -> Iterator[Candidate]:
    """Size 1 is the largest round amount below what the first pod asks for."""
    name = situation.axis.names[dimension]
    largest = _largest_request(members[0].pod, name)
    step, sizes = below(name, largest.amount) if largest else (1, 0)
    if largest is not None and sizes > 0:
        make = partial(_ask_for_less, situation, [m.pod for m in members], dimension, largest.amount, step)
        yield Candidate("lower-request", sizes, make)


def _ask_for_less(
    situation: JobContext, pods: Sequence[kube.Pod], dimension: int, amount: int, step: int, size: int
) -> Change:
    axis, target = situation.axis, (-(-amount // step) - size) * step
    edits = [_lowered(situation, pod, dimension, amount - target) for pod in pods]
    edits.append(_lowered_min_resources(situation, dimension, amount - target))
    name, old, new = axis.names[dimension], axis.format(dimension, amount), axis.format(dimension, target)
    sentence = f"ask for {name} {new} instead of {old} in {describe_pods(pods)}"
    return Change("lower-request", sentence, tuple(entry for entry in edits if entry))


def _lowered(situation: JobContext, pod: kube.Pod, dimension: int, difference: int) -> Edit | None:
    """The pod asks for so much less: in the request for the whole pod, or in the container that asks for most."""
    name = situation.axis.names[dimension]
    largest = _largest_request(pod, name)
    if largest is None or largest.amount < difference:
        return None
    after = situation.axis.format(dimension, largest.amount - difference)
    return edit(pod, (*largest.place, "requests", name), largest.written, after)


@dataclass(frozen=True, slots=True)
class _Request:
    """Where a pod asks for a resource: `written` is None where a limit stands for the request."""

    place: Path
    amount: int
    written: str | int | float | None


def _largest_request(pod: kube.Pod, name: str) -> _Request | None:
    whole = _request(("spec", "resources"), pod.spec.resources, name)
    if whole is not None and whole.written is not None:
        return whole
    containers = (
        _request(("spec", "containers", place, "resources"), container.resources, name)
        for place, container in enumerate(pod.spec.containers or ())
    )
    return max((found for found in containers if found), key=lambda request: request.amount, default=None)


def _request(place: Path, resources: kube.ResourceRequirements | None, name: str) -> _Request | None:
    written = ((resources and resources.requests) or {}).get(name)
    limit = ((resources and resources.limits) or {}).get(name)
    given = limit if written is None else written
    return None if given is None else _Request(place, parse_quantity(given, milli=counts_in_milli(name)), written)


def _lowered_min_resources(situation: JobContext, dimension: int, difference: int) -> Edit | None:
    """What the group wants promised shrinks with what its pods ask for."""
    group, axis = situation.group, situation.axis
    minimum = dict(situation.job.min_resources or ())
    if group is None or dimension not in minimum:
        return None
    name = axis.names[dimension]
    left = max(minimum[dimension] - difference * situation.pods_needed, 0)
    before = (group.spec.min_resources or {})[name]
    return edit(group, ("spec", "minResources", name), before, axis.format(dimension, left))
