"""Changes to how much a pod asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from stromboli import kube
from stromboli.model.quantity import parse_quantity
from stromboli.model.resources import PODS, ResourceAxis, counts_in_milli
from stromboli.planner.candidates.amounts import below
from stromboli.planner.candidates.candidate import Candidate, edit, pods_in_words
from stromboli.planner.changes import Change, Edit, Path
from stromboli.planner.situation import Situation

_MOST_CLASSES = 3


def smaller_requests(situation: Situation) -> Iterator[Candidate]:
    """One resource less per pod, class by class."""
    classes: dict[int, list[kube.Pod]] = {}
    for member in situation.waiting:
        classes.setdefault(member.task.task_class.number, []).append(member.pod)
    requests = {m.task.task_class.number: m.task.task_class.request for m in situation.waiting}
    for number, pods in list(classes.items())[:_MOST_CLASSES]:
        for dimension, amount in requests[number]:
            step, sizes = below(situation.axis.names[dimension], amount)
            if dimension != PODS and sizes > 0 and _lowered(pods[0], situation.axis, dimension, amount, step):
                make = partial(_ask_for_less, situation, pods, dimension, amount, step)
                yield Candidate("lower-request", sizes, make)


def _ask_for_less(
    situation: Situation, pods: Sequence[kube.Pod], dimension: int, amount: int, step: int, size: int
) -> Change:
    """The largest round amount below what is asked for is size 1."""
    axis, target = situation.axis, (-(-amount // step) - size) * step
    edits = [_lowered(pod, axis, dimension, amount, target) for pod in pods]
    promised = _promised_less(situation, dimension, amount - target)
    name, old, new = axis.names[dimension], axis.format(dimension, amount), axis.format(dimension, target)
    sentence = f"ask for {name} {new} instead of {old} in {pods_in_words(pods)}"
    return Change("lower-request", sentence, tuple(entry for entry in (*edits, promised) if entry))


def _lowered(pod: kube.Pod, axis: ResourceAxis, dimension: int, amount: int, target: int) -> Edit | None:
    """The edit after which the pod asks for `target` instead of `amount`: in the request for the whole pod, or
    in the container that asks for most.
    """
    name = axis.names[dimension]
    place, given = _largest_request(pod, name)
    if given is None:
        return None
    left = parse_quantity(given, milli=counts_in_milli(name)) - (amount - target)
    if left < 0:
        return None
    return edit(pod, (*place, "requests", name), given, axis.format(dimension, left))


def _largest_request(pod: kube.Pod, name: str) -> tuple[Path, str | int | float | None]:
    whole = pod.spec.resources
    if whole is not None and name in (whole.requests or {}):
        return ("spec", "resources"), (whole.requests or {})[name]
    milli = counts_in_milli(name)
    asked = [
        (-parse_quantity(given, milli=milli), place, given)
        for place, container in enumerate(pod.spec.containers or ())
        if (given := _request(container, name)) is not None
    ]
    if not asked:
        return (), None
    _, place, given = min(asked, key=lambda entry: entry[:2])
    return ("spec", "containers", place, "resources"), given


def _request(container: kube.Container, name: str) -> str | int | float | None:
    """A limit without a request is also the request."""
    resources = container.resources
    if resources is None:
        return None
    return (resources.requests or {}).get(name, (resources.limits or {}).get(name))


def _promised_less(situation: Situation, dimension: int, difference: int) -> Edit | None:
    """What the group wants promised shrinks with what its pods ask for."""
    group, axis = situation.group, situation.axis
    minimum = dict(situation.job.min_resources or ())
    if group is None or dimension not in minimum:
        return None
    name = axis.names[dimension]
    left = max(minimum[dimension] - difference * situation.pods_needed, 0)
    return edit(
        group, ("spec", "minResources", name), (group.spec.min_resources or {})[name], axis.format(dimension, left)
    )
