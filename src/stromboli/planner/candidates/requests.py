"""Changes to the requests of pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import PODS, counts_in_milli
from stromboli.planner.candidates.amounts import below
from stromboli.planner.candidates.candidate import RemedyCandidate, describe_pods, edit, single
from stromboli.planner.changes import Edit, ObjectChange, Path
from stromboli.planner.job_context import JobContext, MemberPod

_MAX_CLASSES = 3


def smaller_requests(context: JobContext) -> Iterator[RemedyCandidate]:
    """Lower the request of one resource, class by class: for waiting pods and, if that is not enough, for all pods that
    do not run yet.
    """
    waiting, unplaced = _by_class(context.waiting), _by_class(context.unplaced)
    for number, members in list(waiting.items())[:_MAX_CLASSES]:
        for dimension, _ in members[0].task.task_class.request:
            if dimension != PODS:
                yield from _smaller(context, members, dimension)
                if len(unplaced[number]) > len(members):
                    yield from _smaller(context, unplaced[number], dimension)


def without_missing_resources(context: JobContext) -> Iterator[RemedyCandidate]:
    """Drop the requests of a resource that no node has."""
    total = context.empty_capacity.total
    requested = {d: None for member in context.waiting for d, _ in member.task.task_class.request if not total[d]}
    for dimension in requested:
        name = context.axis.names[dimension]
        dropped = {member.pod.key: edits for member in context.waiting if (edits := [*_dropped(member.pod, name)])}
        pods = [member.pod for member in context.waiting if member.pod.key in dropped]
        if pods:
            group, edits = context.group, [each for edits in dropped.values() for each in edits]
            minimum = ((group and group.spec.min_resources) or {}).get(name)
            if group is not None and minimum is not None:
                edits.append(edit(group, ("spec", "minResources", name), minimum, None))
            yield single("drop-request", f"do not request {name} in {describe_pods(pods)}", *edits)


def _dropped(pod: kube.Pod, name: str) -> Iterator[Edit]:
    """Yield the removal of every request and limit of a resource."""
    places: list[tuple[Path, kube.ResourceRequirements | None]] = [(("spec", "resources"), pod.spec.resources)]
    for place, container in enumerate(pod.spec.containers or ()):
        places.append((("spec", "containers", place, "resources"), container.resources))
    for path, resources in places:
        for part, amounts in (
            ("requests", resources and resources.requests),
            ("limits", resources and resources.limits),
        ):
            if amounts and name in amounts:
                yield edit(pod, (*path, part, name), amounts[name], None)


def _by_class(members: Iterable[MemberPod]) -> dict[int, list[MemberPod]]:
    classes: dict[int, list[MemberPod]] = {}
    for member in members:
        classes.setdefault(member.task.task_class.number, []).append(member)
    return classes


def _smaller(context: JobContext, members: Sequence[MemberPod], dimension: int) -> Iterator[RemedyCandidate]:
    """Yield lower requests; size 1 is the largest round amount below the request of the first pod."""
    name = context.axis.names[dimension]
    largest = _largest_request(members[0].pod, name)
    step, sizes = below(name, largest.amount) if largest else (1, 0)
    if largest is not None and sizes > 0:
        make = partial(_ask_for_less, context, [m.pod for m in members], dimension, largest.amount, step)
        yield RemedyCandidate("lower-request", sizes, make)


def _ask_for_less(
    context: JobContext, pods: Sequence[kube.Pod], dimension: int, amount: int, step: int, size: int
) -> ObjectChange:
    axis, target = context.axis, (-(-amount // step) - size) * step
    edits = [_lowered(context, pod, dimension, amount - target) for pod in pods]
    edits.append(_lowered_min_resources(context, dimension, amount - target))
    name, old, new = axis.names[dimension], axis.format(dimension, amount), axis.format(dimension, target)
    description = f"request {name} {new} instead of {old} in {describe_pods(pods)}"
    return ObjectChange("lower-request", description, tuple(entry for entry in edits if entry))


def _lowered(context: JobContext, pod: kube.Pod, dimension: int, difference: int) -> Edit | None:
    """Lower the request: of the whole pod, or of the container with the largest request."""
    name = context.axis.names[dimension]
    largest = _largest_request(pod, name)
    if largest is None or largest.amount < difference:
        return None
    after = context.axis.format(dimension, largest.amount - difference)
    return edit(pod, (*largest.place, "requests", name), largest.written, after)


@dataclass(frozen=True, slots=True)
class _Request:
    """The request of a resource in a pod; `written` is None if a limit implies the request."""

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
    quantity = limit if written is None else written
    return None if quantity is None else _Request(place, parse_quantity(quantity, milli=counts_in_milli(name)), written)


def _lowered_min_resources(context: JobContext, dimension: int, difference: int) -> Edit | None:
    """Lower `minResources` of the group with the requests of its pods."""
    group, axis = context.group, context.axis
    minimum = dict(context.job.min_resources or ())
    if group is None or dimension not in minimum:
        return None
    name = axis.names[dimension]
    left = max(minimum[dimension] - difference * context.pods_needed, 0)
    before = (group.spec.min_resources or {})[name]
    return edit(group, ("spec", "minResources", name), before, axis.format(dimension, left))
