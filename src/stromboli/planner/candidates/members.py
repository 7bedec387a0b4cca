"""Changes to the members and minimums of a job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pods.classes import role_of
from stromboli.core.model.jobs.job import valid_in
from stromboli.planner.candidates.candidate import RemedyCandidate, creation, describe_pods, edit, single
from stromboli.planner.candidates.minimum_resources import lower_minimum_resources
from stromboli.planner.changes import ObjectChange, Path, combine
from stromboli.planner.job_context import JobContext

_NUMBERED = re.compile(r"(.*?)-?(\d*)", re.DOTALL)
_MAX_PODS_TO_CREATE = 1000


def missing_group(context: JobContext) -> Iterator[RemedyCandidate]:
    """Create the group of pods that name a missing one."""
    spec, pods = context.job.spec, context.waiting
    if context.group is None and pods and spec.fault and context.job.key == f"{spec.namespace}/{spec.name}":
        metadata = kube.ObjectMeta(name=spec.name, namespace=spec.namespace, uid=f"PodGroup/{spec.key}")
        group = kube.PodGroup("scheduling.volcano.sh/v1beta1", "PodGroup", metadata)
        group.spec.min_member = len(pods)
        yield single("create-group", f"create PodGroup {spec.key} with minMember {len(pods)}", creation(group))


def missing_pods(context: JobContext) -> Iterator[RemedyCandidate]:
    """Create the pods that are missing for the minimum, like the existing ones."""
    clones, job = [*_for_roles(context)], context.job
    if not clones and context.waiting:
        clones = [*_clones(context.waiting[-1].pod, job.min_available - job.valid_count, context.pods)]
    if 0 < len(clones) <= _MAX_PODS_TO_CREATE:
        number = "the missing pod" if len(clones) == 1 else f"the {len(clones)} missing pods"
        yield single("create-pods", f"create {number} of job {job.key}", *map(creation, clones))


def _for_roles(context: JobContext) -> Iterator[kube.Pod]:
    job = context.job
    for role in job.roles_short(valid_in):
        members = [pod for pod in context.pods if role_of(pod) == role]
        if members:
            existing = valid_in(job.role_counts[role])
            yield from _clones(members[-1], job.spec.min_task_member[role] - existing, context.pods)


def _clones(pattern: kube.Pod, number: int, pods: Sequence[kube.Pod]) -> Iterator[kube.Pod]:
    """Yield pods like the pattern, with the next free numbered names."""
    taken = {pod.metadata.name for pod in pods}
    match = _NUMBERED.fullmatch(pattern.metadata.name)
    base, place = (match[1], int(match[2] or 0)) if match else (pattern.metadata.name, 0)
    while number > 0:
        place += 1
        name = f"{base}-{place}"
        if name not in taken:
            number -= 1
            uid = f"Pod/{pattern.metadata.namespace}/{name}"
            metadata = msgspec.structs.replace(pattern.metadata, name=name, uid=uid, deletion_timestamp=None)
            spec = msgspec.structs.replace(pattern.spec, node_name=None)
            yield kube.Pod("v1", "Pod", metadata, spec)


def smaller_minimum(context: JobContext) -> Iterator[RemedyCandidate]:
    """Lower the minimum of members and, if that is not enough, also the minimum of resources."""
    group = context.group
    minimum = (group and group.spec.min_member) or 0
    if group is None or minimum < 2:
        return
    alone = _lowered(group, "lower-min-member", ("spec", "minMember"), minimum, floor=1)
    yield alone
    if context.job.min_resources:
        yield RemedyCandidate(alone.kind, alone.sizes, partial(_lower_with_resources, context, group, alone, minimum))


def _lower_with_resources(
    context: JobContext, group: kube.PodGroup, alone: RemedyCandidate, minimum: int, size: int
) -> ObjectChange:
    resources = {d: amount * (minimum - size) // minimum for d, amount in context.job.min_resources or ()}
    return combine([alone.make(size), lower_minimum_resources(context, group, resources)], kind=alone.kind)


def smaller_role_minimums(context: JobContext) -> Iterator[RemedyCandidate]:
    group = context.group
    for role, minimum in ((group and group.spec.min_task_member) or {}).items():
        if group is not None and minimum > 0:
            yield _lowered(group, "lower-min-task-member", ("spec", "minTaskMember", role), minimum, floor=0)


def smaller_sub_group_minimums(context: JobContext) -> Iterator[RemedyCandidate]:
    group = context.group
    for place, policy in enumerate((group and group.spec.sub_group_policy) or ()):
        if group is not None and policy.min_sub_groups:
            path = ("spec", "subGroupPolicy", place, "minSubGroups")
            yield _lowered(group, "lower-min-sub-groups", path, policy.min_sub_groups, floor=0)


def _lowered(group: kube.PodGroup, kind: str, path: Path, value: int, floor: int) -> RemedyCandidate:
    def make(size: int) -> ObjectChange:
        lowered = edit(group, path, value, value - size)
        field = lowered.field.removeprefix("spec.")
        return ObjectChange(kind, f"lower {field} of PodGroup {group.key} from {value} to {value - size}", (lowered,))

    return RemedyCandidate(kind, value - floor, make)


def without_gates(context: JobContext) -> Iterator[RemedyCandidate]:
    gated = [pod for pod in context.pods if pod.spec.scheduling_gates and not pod.spec.node_name]
    if gated:
        names = sorted({gate.name or "" for pod in gated for gate in pod.spec.scheduling_gates or ()})
        which = f"scheduling gate {names[0]}" if len(names) == 1 else "scheduling gates"
        edits = [edit(pod, ("spec", "schedulingGates"), pod.spec.scheduling_gates, None) for pod in gated]
        yield single("remove-gates", f"remove the {which} from {describe_pods(gated)}", *edits)
