"""Changes to who belongs to a job and how many must start together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from stromboli import kube
from stromboli.cluster.objects.pods.classes import role_of
from stromboli.core.model.jobs.job import valid_in
from stromboli.planner.candidates.candidate import Candidate, creation, describe_pods, edit, single
from stromboli.planner.candidates.minimum_resources import lower_minimum_resources
from stromboli.planner.changes import Change, Path, together
from stromboli.planner.job_context import JobContext

_NUMBERED = re.compile(r"(.*?)-?(\d*)", re.DOTALL)
_MAX_PODS_TO_CREATE = 1000


def missing_group(situation: JobContext) -> Iterator[Candidate]:
    """Pods that name a group which nobody wrote."""
    spec, pods = situation.job.spec, situation.waiting
    if situation.group is None and pods and spec.fault and situation.job.key == f"{spec.namespace}/{spec.name}":
        metadata = kube.ObjectMeta(name=spec.name, namespace=spec.namespace, uid=f"PodGroup/{spec.key}")
        group = kube.PodGroup("scheduling.volcano.sh/v1beta1", "PodGroup", metadata)
        group.spec.min_member = len(pods)
        yield single("create-group", f"create PodGroup {spec.key} with minMember {len(pods)}", creation(group))


def missing_pods(situation: JobContext) -> Iterator[Candidate]:
    """As many more pods as the minimum wants, like those that exist."""
    clones = [*_for_roles(situation)] or [*_for_minimum(situation)]
    if 0 < len(clones) <= _MAX_PODS_TO_CREATE:
        number = "the missing pod" if len(clones) == 1 else f"the {len(clones)} missing pods"
        sentence = f"create {number} of job {situation.job.key}"
        yield single("create-pods", sentence, *map(creation, clones))


def _for_minimum(situation: JobContext) -> Iterator[kube.Pod]:
    job = situation.job
    if situation.waiting:
        pattern = situation.waiting[-1].pod
        yield from _clones(pattern, job.min_available - job.valid_count, situation.pods)


def _for_roles(situation: JobContext) -> Iterator[kube.Pod]:
    job = situation.job
    for role in job.roles_short(valid_in):
        members = [pod for pod in situation.pods if role_of(pod) == role]
        if members:
            existing = valid_in(job.role_counts[role])
            yield from _clones(members[-1], job.spec.min_task_member[role] - existing, situation.pods)


def _clones(pattern: kube.Pod, number: int, pods: Sequence[kube.Pod]) -> Iterator[kube.Pod]:
    """Pods like the pattern under names that go on counting where the existing ones end."""
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


def smaller_minimum(situation: JobContext) -> Iterator[Candidate]:
    """Fewer members that must start together and, if that alone is no help, also less promised to them."""
    group = situation.group
    minimum = (group and group.spec.min_member) or 0
    if group is None or minimum < 2:
        return
    alone = _lowered(group, "lower-min-member", ("spec", "minMember"), minimum, floor=1)
    yield alone
    if situation.job.min_resources:
        yield Candidate(alone.kind, alone.sizes, partial(_lower_with_resources, situation, group, alone, minimum))


def _lower_with_resources(
    situation: JobContext, group: kube.PodGroup, alone: Candidate, minimum: int, size: int
) -> Change:
    resources = {d: amount * (minimum - size) // minimum for d, amount in situation.job.min_resources or ()}
    return together([alone.make(size), lower_minimum_resources(situation, group, resources)], kind=alone.kind)


def smaller_role_minimums(situation: JobContext) -> Iterator[Candidate]:
    group = situation.group
    for role, minimum in ((group and group.spec.min_task_member) or {}).items():
        if group is not None and minimum > 0:
            yield _lowered(group, "lower-min-task-member", ("spec", "minTaskMember", role), minimum, floor=0)


def smaller_sub_group_minimums(situation: JobContext) -> Iterator[Candidate]:
    group = situation.group
    for place, policy in enumerate((group and group.spec.sub_group_policy) or ()):
        if group is not None and policy.min_sub_groups:
            path = ("spec", "subGroupPolicy", place, "minSubGroups")
            yield _lowered(group, "lower-min-sub-groups", path, policy.min_sub_groups, floor=0)


def _lowered(group: kube.PodGroup, kind: str, path: Path, value: int, floor: int) -> Candidate:
    return Candidate(kind, value - floor, partial(_lower, group, kind, path, value))


def _lower(group: kube.PodGroup, kind: str, path: Path, value: int, size: int) -> Change:
    lowered = edit(group, path, value, value - size)
    field = lowered.field.removeprefix("spec.")
    return Change(kind, f"lower {field} of PodGroup {group.key} from {value} to {value - size}", (lowered,))


def without_gates(situation: JobContext) -> Iterator[Candidate]:
    gated = [pod for pod in situation.pods if pod.spec.scheduling_gates and not pod.spec.node_name]
    if gated:
        names = sorted({gate.name or "" for pod in gated for gate in pod.spec.scheduling_gates or ()})
        which = f"scheduling gate {names[0]}" if len(names) == 1 else "scheduling gates"
        edits = [edit(pod, ("spec", "schedulingGates"), pod.spec.scheduling_gates, None) for pod in gated]
        yield single("remove-gates", f"remove the {which} from {describe_pods(gated)}", *edits)
