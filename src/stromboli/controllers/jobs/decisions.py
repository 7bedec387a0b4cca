"""What follows for a Job from its state: the next phase, or the pods to create and delete. No clock, no client.

A change of phase is written to the status before anything is done in the new phase, and only if the Job has not changed
meanwhile. What is done depends on the status and the pods that exist, so it can be interrupted at any point and is
continued by the next decision, of this process or another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stromboli.controllers.jobs import phases
from stromboli.controllers.jobs.occurrences import occurrences
from stromboli.controllers.jobs.phases import PHASES, PodCounts, PodHandling
from stromboli.controllers.jobs.pods import FAILED, PENDING, RUNNING, SUCCEEDED, JobPod
from stromboli.controllers.jobs.policies import Occurrence, policy_for
from stromboli.controllers.jobs.specification import JobSpecification
from stromboli.controllers.jobs.target import RestartTarget
from stromboli.workloads.families.volcano.tasks import VolcanoTask, pod_name

COMMAND_ISSUED = "CommandIssued"
#: Phases of a PodGroup before it is admitted to its queue.
_NOT_ADMITTED = ("", "Pending")


@dataclass(frozen=True, slots=True)
class JobView:
    """All that a decision depends on. The pods are those that the Job owns."""

    name: str
    spec: JobSpecification
    phase: str
    version: int
    retry_count: int
    target: RestartTarget
    pods: Sequence[JobPod]
    #: Pods that were deleted by others before they had finished.
    evicted: Sequence[JobPod] = ()
    #: Names of pods that belong to another object, such as an earlier Job of this name.
    taken: frozenset[str] = frozenset()
    #: The phase of the PodGroup; empty if there is none.
    group_phase: str = ""
    #: The action that a Command requests; empty for none.
    command: str = ""
    #: When the Job reached its phase.
    phase_since: float = 0.0
    now: float = 0.0
    #: Returns since when an event lasts.
    since: Callable[[Occurrence], float] = lambda occurrence: 0.0


class Transition(NamedTuple):
    """A change of phase, and what caused it."""

    phase: str
    version: int
    retry_count: int
    target: RestartTarget = RestartTarget()
    #: The action that leads to the phase; empty if the phase follows by itself.
    action: str = ""
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class JobDecision:
    """The next change of phase, or what is to do within the phase."""

    transition: Transition | None = None
    delete: list[JobPod] = field(default_factory=list)
    create: list[tuple[VolcanoTask, int]] = field(default_factory=list)
    wants_group: bool = False
    #: Seconds until a policy is due.
    wait: float | None = None
    #: Events whose policy is not due yet.
    waiting: list[Occurrence] = field(default_factory=list)
    is_expired: bool = False


def decide(view: JobView) -> JobDecision:
    row = PHASES[view.phase]
    if view.command in row.actions:
        return JobDecision(_commanded(view, view.command))
    decision, runs = JobDecision(), row.pods is PodHandling.RUN
    if runs and (transition := _by_policy(view, decision)):
        return JobDecision(transition)
    # Superfluous pods are about to be deleted: they decide nothing.
    counts = counts_of(pod for pod in view.pods if not runs or _is_member(view.spec, pod, view.version))
    replaced = [pod for pod in view.pods if view.target.covers(pod, view.version, view.retry_count)]
    phase = phases.settled(view.phase, view.spec, counts, view.target, view.retry_count, len(replaced))
    if phase != view.phase:
        return JobDecision(Transition(phase, view.version, view.retry_count))
    if runs:
        _run(view, decision)
    elif row.pods is PodHandling.REPLACE:
        decision.wants_group = not view.target.is_job
        decision.delete = [pod for pod in replaced if not pod.is_terminating]
    else:
        decision.delete = [pod for pod in view.pods if not (pod.is_finished or pod.is_terminating)]
        _expire(view, decision)
    return decision


def pods_after(view: JobView, transition: Transition) -> list[JobPod]:
    """Return the pods as a change of phase leaves them: those that the new phase deletes are terminating, so that the
    status names them from its first version on.
    """
    handling, target = PHASES[transition.phase].pods, transition.target
    if handling is PodHandling.RUN:
        return list(view.pods)
    if handling is PodHandling.STOP:
        ending = {pod.uid for pod in view.pods if not pod.is_finished}
    else:
        ending = {pod.uid for pod in view.pods if target.covers(pod, transition.version, transition.retry_count)}
    return [pod._replace(is_terminating=True) if pod.uid in ending else pod for pod in view.pods]


def counts_of(pods: Iterable[JobPod]) -> PodCounts:
    members = list(pods)
    present = [pod for pod in members if not pod.is_terminating]
    numbers = Counter(pod.phase for pod in present)
    pending, running, succeeded, failed = (numbers.pop(name, 0) for name in (PENDING, RUNNING, SUCCEEDED, FAILED))
    by_task = Counter(pod.task for pod in present if pod.phase == SUCCEEDED)
    terminating, unknown = len(members) - len(present), numbers.total()
    return PodCounts(pending, running, succeeded, failed, terminating, unknown, by_task)


# -- changes of phase -----------------------------------------------------------------------------------------------


def _commanded(view: JobView, command: str) -> Transition:
    transition = _transition(view, command, RestartTarget())
    return transition._replace(reason=COMMAND_ISSUED, message=f"requested by a Command: {command}")


def _by_policy(view: JobView, decision: JobDecision) -> Transition | None:
    """Return the change of phase of the first policy that is due."""
    members = [pod for pod in view.pods if _is_member(view.spec, pod, view.version)]
    evicted = [pod for pod in view.evicted if _is_member(view.spec, pod, view.version)]
    for occurrence in occurrences(view.spec, members, evicted, view.group_phase):
        levels = (view.spec.task_policies.get(occurrence.task, ()), view.spec.policies)
        policy = policy_for(occurrence, *levels)
        if policy is None or policy.action not in PHASES[view.phase].actions:
            continue
        due = (occurrence.since or view.since(occurrence)) + (policy.timeout or 0.0)
        if policy.timeout and due > view.now:
            decision.waiting.append(occurrence)
            decision.wait = min(decision.wait or due - view.now, due - view.now)
            continue
        subject = occurrence.pod or occurrence.task
        message = f"{policy.action} after {occurrence.event}{f' of {subject}' if subject else ''}"
        transition = _transition(view, policy.action, _target_of(policy.action, occurrence))
        return transition._replace(reason=occurrence.event, message=message)
    return None


def _transition(view: JobView, action: str, target: RestartTarget) -> Transition:
    is_new = action in phases.NEW_GENERATION or (action in phases.RESTARTS and target.is_job)
    return Transition(
        PHASES[view.phase].actions[action],
        version=view.version + is_new,
        retry_count=view.retry_count + (action in phases.RESTARTS),
        target=target,
        action=action,
    )


def _target_of(action: str, occurrence: Occurrence) -> RestartTarget:
    """Return what an action restarts. An event without a pod, or without a task, is one of the next larger unit."""
    if not occurrence.task or action not in phases.RESTARTS or action == phases.RESTART_JOB:
        return RestartTarget()
    if action == phases.RESTART_POD and occurrence.uid:
        return RestartTarget.of_pod(occurrence.task, occurrence.uid)
    if action == phases.RESTART_PARTITION and occurrence.partition:
        return RestartTarget.of_partition(occurrence.task, occurrence.partition)
    return RestartTarget.of_task(occurrence.task)


# -- within a phase -------------------------------------------------------------------------------------------------


def _run(view: JobView, decision: JobDecision) -> None:
    """Create missing pods when all of an earlier generation are gone, and the group is admitted to its queue."""
    decision.wants_group = True
    superfluous = [pod for pod in view.pods if not _is_member(view.spec, pod, view.version)]
    decision.delete = [pod for pod in superfluous if not pod.is_terminating]
    if view.group_phase in _NOT_ADMITTED or any(pod.version < view.version for pod in view.pods):
        return
    present = {(pod.task, pod.task_index) for pod in view.pods}
    by_task = _ready_by_task(view.pods, view.version)
    for task in view.spec.tasks:
        if not _may_start(task, view.spec, by_task):
            continue
        indices = (index for index in range(task.replicas) if (task.name, index) not in present)
        decision.create += [
            (task, index) for index in indices if pod_name(view.name, task.name, index) not in view.taken
        ]


def _ready_by_task(pods: Iterable[JobPod], version: int) -> Mapping[str, int]:
    usable = (pod for pod in pods if pod.version == version and not pod.is_terminating)
    return Counter(pod.task for pod in usable if pod.is_ready or pod.phase == SUCCEEDED)


def _may_start(task: VolcanoTask, spec: JobSpecification, ready: Mapping[str, int]) -> bool:
    """Report whether the tasks that this one depends on run, each with its minimum."""
    minimums = {each.name: each.minimum for each in spec.tasks}
    running = [ready.get(name, 0) >= minimums.get(name, 0) for name in task.depends_on]
    return not running or (any(running) if task.depends_on_any else all(running))


def _is_member(spec: JobSpecification, pod: JobPod, version: int) -> bool:
    """Report whether the pod belongs to the present generation and its task still has this index."""
    task = spec.task(pod.task)
    return pod.version == version and task is not None and 0 <= pod.task_index < task.replicas


def _expire(view: JobView, decision: JobDecision) -> None:
    if view.phase not in phases.FINISHED or view.spec.ttl is None or not view.phase_since:
        return
    left = view.phase_since + view.spec.ttl - view.now
    decision.is_expired = left <= 0
    decision.wait = None if decision.is_expired else left
