"""Changes to what a job must be promised before it is let in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from stromboli import kube
from stromboli.core.model.resources.resources import PODS, add_request
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import Candidate, edit
from stromboli.planner.changes import Change
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16


def overstated_minimum_resources(situation: JobContext) -> Iterator[Candidate]:
    """A group that wants more promised than the pods that must start ask for."""
    group, minimum = situation.group, dict(situation.job.min_resources or ())
    if group is None or not minimum or not situation.waiting:
        return
    asked = list(situation.job.allocated)
    for member in situation.waiting[: situation.pods_needed]:
        add_request(asked, member.task.task_class.request)
    lowered = {d: asked[d] for d, amount in minimum.items() if asked[d] < amount and d != PODS}
    if lowered:
        change = lower_minimum_resources(situation, group, lowered)
        yield Candidate(change.kind, 1, lambda _: change)


def smaller_minimum_resources(situation: JobContext) -> Iterator[Candidate]:
    """Less promised than the pods ask for: the job is let in sooner, and may then wait for room."""
    group, minimum = situation.group, dict(situation.job.min_resources or ())
    if group is not None and any(minimum.values()):
        yield Candidate(
            "lower-min-resources", _SIXTEENTHS, partial(_lower_by_sixteenths, situation, group, minimum)
        )  # fmt: skip


def _lower_by_sixteenths(situation: JobContext, group: kube.PodGroup, minimum: dict[int, int], size: int) -> Change:
    lowered = {}
    for dimension, amount in minimum.items():
        step = step_of(situation.axis.names[dimension], amount)
        lowered[dimension] = amount * (_SIXTEENTHS - size) // _SIXTEENTHS // step * step
    return lower_minimum_resources(situation, group, lowered)


def lower_minimum_resources(situation: JobContext, group: kube.PodGroup, lowered: Mapping[int, int]) -> Change:
    axis, given = situation.axis, group.spec.min_resources or {}
    edits, words = [], []
    for dimension, amount in lowered.items():
        name, text = axis.names[dimension], axis.format(dimension, amount)
        edits.append(edit(group, ("spec", "minResources", name), given[name], text))
        words.append(f"{name} from {given[name]} to {text}")
    sentence = f"lower minResources of PodGroup {group.key}: {', '.join(words)}"
    return Change("lower-min-resources", sentence, tuple(edits))
