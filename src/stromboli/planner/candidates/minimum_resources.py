"""Changes to `minResources`, which a job needs to be admitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stromboli import kube
from stromboli.core.model.resources.resources import PODS, add_request
from stromboli.planner.candidates.amounts import step_of
from stromboli.planner.candidates.candidate import RemedyCandidate, edit
from stromboli.planner.changes import ObjectChange
from stromboli.planner.job_context import JobContext

_SIXTEENTHS = 16


def overstated_minimum_resources(context: JobContext) -> Iterator[RemedyCandidate]:
    """Lower a `minResources` above the requests of the minimum of pods."""
    group, minimum = context.group, dict(context.job.min_resources or ())
    if group is None or not minimum or not context.waiting:
        return
    asked = list(context.job.allocated)
    for member in context.waiting[: context.pods_needed]:
        add_request(asked, member.task.task_class.request)
    lowered = {d: asked[d] for d, amount in minimum.items() if asked[d] < amount and d != PODS}
    if lowered:
        change = lower_minimum_resources(context, group, lowered)
        yield RemedyCandidate(change.kind, 1, lambda _: change)


def smaller_minimum_resources(context: JobContext) -> Iterator[RemedyCandidate]:
    """Lower `minResources` below the requests of the pods."""
    group, minimum = context.group, dict(context.job.min_resources or ())
    if group is None or not any(minimum.values()):
        return

    def make(size: int) -> ObjectChange:
        steps = {d: step_of(context.axis.names[d], amount) for d, amount in minimum.items()}
        left = _SIXTEENTHS - size
        lowered = {d: amount * left // _SIXTEENTHS // steps[d] * steps[d] for d, amount in minimum.items()}
        return lower_minimum_resources(context, group, lowered)

    yield RemedyCandidate("lower-min-resources", _SIXTEENTHS, make)


def lower_minimum_resources(context: JobContext, group: kube.PodGroup, lowered: Mapping[int, int]) -> ObjectChange:
    axis, current = context.axis, group.spec.min_resources or {}
    edits, parts = [], []
    for dimension, amount in lowered.items():
        name, text = axis.names[dimension], axis.format(dimension, amount)
        edits.append(edit(group, ("spec", "minResources", name), current[name], text))
        parts.append(f"{name} from {current[name]} to {text}")
    description = f"lower minResources of PodGroup {group.key}: {', '.join(parts)}"
    return ObjectChange("lower-min-resources", description, tuple(edits))
