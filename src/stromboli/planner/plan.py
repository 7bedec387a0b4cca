"""A plan: the decisions of some cycles over manifests, and the reasons of waiting jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.reasons import PODS_MISSING, Code, Reason
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import OCCUPYING_STATUSES
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.session.decision_records import DecisionRecords, EvictionRecord, PreemptionFailure
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.status import JobCondition
from stromboli.core.session.waiting_reasons import pod_condition, too_few_tasks
from stromboli.core.topology.domain_search_records import DomainSearchRecord
from stromboli.kube import KubeObject, PodGroup
from stromboli.planner.evictions import accounts_of, describe_eviction, loss_of, refusals_of
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.workloads.queues import DEFAULT_QUEUE

#: Phases of a job that has at least its minimum.
STARTED = ("Running", "Completed")


@dataclass(slots=True)
class CyclePlan:
    binds: dict[str, str] = field(default_factory=dict)
    pipelined: dict[str, str] = field(default_factory=dict)
    #: Reports of evictions, by pod.
    records: dict[str, EvictionRecord] = field(default_factory=dict)
    #: Failed preemptions, by job.
    refusals: dict[str, list[PreemptionFailure]] = field(default_factory=dict)
    #: Domain searches, by job.
    searches: dict[str, list[DomainSearchRecord]] = field(default_factory=dict, repr=False)
    #: Devices of resource claims, by pod.
    devices: dict[str, list[str]] = field(default_factory=dict)

    @property
    def evictions(self) -> dict[str, str]:
        """The reasons of evictions, one line per pod."""
        return {pod: describe_eviction(record) for pod, record in self.records.items()}


@dataclass(slots=True)
class GroupPlan:
    phase: str
    queue: str
    min_member: int
    ready: int
    pods: int
    waiting: bool
    #: Why it waits, in one line of at most 60 characters.
    summary: str = ""
    conditions: Sequence[JobCondition] = ()
    reasons: Sequence[str] = ()
    #: Why it waits, with codes.
    causes: Sequence[Reason] = ()
    #: Number of its pods on each node.
    nodes: dict[str, int] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reason.code.value for reason in self.causes))

    @property
    def has_started(self) -> bool:
        return self.phase in STARTED


@dataclass(slots=True)
class QueuePlan:
    allocated: dict[str, str]
    deserved: dict[str, str]
    share: float


@dataclass(slots=True)
class SchedulingPlan:
    cycles: list[CyclePlan]
    groups: dict[str, GroupPlan]
    queues: dict[str, QueuePlan]
    #: Reason and message of the condition `PodScheduled` of each waiting pod.
    pods: dict[str, tuple[str, str]]
    warnings: list[str]
    #: The session of the last cycle.
    session: Session
    axis: ResourceAxis
    #: The PodGroups by key, with those that were created for pods without one.
    pod_groups: Mapping[str, PodGroup] = field(default_factory=dict, repr=False)
    #: The position of every waiting job in the order at the start of the last cycle.
    order: Mapping[str, int] = field(default_factory=dict, repr=False)
    #: The plan of all jobs, if this is a part of it.
    whole: SchedulingPlan | None = field(default=None, repr=False)

    @property
    def binds(self) -> dict[str, str]:
        return {pod: node for cycle in self.cycles for pod, node in cycle.binds.items()}

    @property
    def devices(self) -> dict[str, list[str]]:
        """Devices of resource claims by pod, as `claim: driver/pool/device`."""
        return {pod: devices for cycle in self.cycles for pod, devices in cycle.devices.items()}

    @property
    def evictions(self) -> dict[str, str]:
        return {pod: reason for cycle in self.cycles for pod, reason in cycle.evictions.items()}

    @property
    def records(self) -> list[EvictionRecord]:
        """Reports of evictions, in all cycles."""
        return [record for cycle in self.cycles for record in cycle.records.values()]

    @property
    def refusals(self) -> dict[str, list[PreemptionFailure]]:
        """Failed preemptions of the last cycle."""
        return self.cycles[-1].refusals if self.cycles else {}

    def searches_of(self, job: str) -> Sequence[DomainSearchRecord]:
        """Return the domain searches of a job in the last cycle with any."""
        return next((cycle.searches[job] for cycle in reversed(self.cycles) if job in cycle.searches), ())

    @property
    def explained_jobs(self) -> list[str]:
        """The jobs to explain: those that wait, and those that searched for a domain."""
        return [key for key, group in self.groups.items() if group.waiting or self.searches_of(key)]

    @property
    def pipelined(self) -> dict[str, str]:
        return self.cycles[-1].pipelined if self.cycles else {}

    @property
    def waiting(self) -> list[str]:
        """The jobs with unscheduled pods, or below their minimum."""
        return [key for key, group in self.groups.items() if group.waiting]

    @property
    def is_complete(self) -> bool:
        """Report whether no job waits."""
        return not any(group.waiting for group in self.groups.values())


def make_plan(
    objects: Sequence[KubeObject],
    program: Program,
    *,
    cycles: int = 1,
    seed: int = 0,
    scheduler_names: Sequence[str],
    shard: ShardChoice | None = None,
    now: float | None = None,
    default_queue: str = DEFAULT_QUEUE,
    node_selector: Mapping[str, Collection[str]] | None = None,
    past_usage: UsageLedger | None = None,
) -> SchedulingPlan:
    """Run cycles over manifests at a time, by default the latest time of the objects, and return the plan."""
    cluster = PlannedCluster(
        objects, program, scheduler_names=scheduler_names, seed=seed, shard=shard, now=now,
        default_queue=default_queue, node_selector=node_selector,
    )  # fmt: skip
    cluster.include_past(past_usage)
    return plan_in(cluster, program, cycles)


def plan_in(cluster: PlannedCluster, program: Program, cycles: int = 1) -> SchedulingPlan:
    """Run cycles in a virtual cluster and return the plan."""
    decided, pod_groups = list[CyclePlan](), cluster.pod_groups()
    for _ in range(max(cycles, 1)):
        session = cluster.run_cycle(DecisionRecords())
        decided.append(decisions_of(session))
    after = cluster.snapshot()
    return SchedulingPlan(
        cycles=decided,
        groups=_groups(session, cluster, after, _losses(decided)),
        queues=_queues(session),
        pods=_pods(session),
        warnings=list(dict.fromkeys([*program.configuration.warnings, *session.warnings])),
        session=session,
        axis=after.axis,
        pod_groups=pod_groups,
        order=cluster.order,
    )


def decisions_of(session: Session) -> CyclePlan:
    """Return the decisions of a cycle by pod name."""
    ledger = session.ledger
    binds = {placement.key: placement.node for statement in session.decisions.binds for placement in statement}
    pipelined = {task.key: ledger.node_name(task) for task in session.pipelined_tasks()}
    return CyclePlan(
        dict(sorted(binds.items())),
        dict(sorted(pipelined.items())),
        accounts_of(session),
        refusals_of(session),
        {job: list(found) for job, found in session.records.searches.items()} if session.records else {},
        _devices(session),
    )


def _devices(session: Session) -> dict[str, list[str]]:
    placements = (placement for statement in session.decisions.binds for placement in statement)
    devices = {
        placement.key: [
            f"{each.name.strip('<>')}: {device.name}" for each in placement.devices.choices for device in each.devices
        ]
        for placement in placements
        if placement.devices is not None
    }
    return {pod: found for pod, found in sorted(devices.items()) if found}


def _pods(session: Session) -> dict[str, tuple[str, str]]:
    waiting = (task for key in session.snapshot.waiting for task in session.jobs[key].tasks.values())
    conditions = ((task.key, pod_condition(session, task)) for task in waiting)
    return {key: condition for key, condition in sorted(conditions) if condition is not None}


def _losses(cycles: Sequence[CyclePlan]) -> dict[str, list[EvictionRecord]]:
    """Return the evictions of all cycles by the job of the victim."""
    losses: dict[str, list[EvictionRecord]] = {}
    for cycle in cycles:
        for record in cycle.records.values():
            losses.setdefault(record.job, []).append(record)
    return losses


def _groups(
    session: Session, cluster: PlannedCluster, after: Snapshot, losses: Mapping[str, Sequence[EvictionRecord]]
) -> dict[str, GroupPlan]:
    names, occupying = (*after.nodes.names, ""), np.isin(after.status, OCCUPYING_STATUSES)
    #: The node name of each task by its row; empty for none.
    places = [names[row] for row in np.where(occupying, after.node_of, -1).tolist()]
    return {key: _group(session, cluster, after, key, places, losses.get(key, ())) for key in sorted(after.jobs)}


def _group(
    session: Session,
    cluster: PlannedCluster,
    after: Snapshot,
    key: str,
    places: Sequence[str],
    lost: Sequence[EvictionRecord],
) -> GroupPlan:
    job, status = after.jobs[key], session.statuses.get(key)
    phase = cluster.phase(job, session, after)
    nodes = Counter(places[task.row] for task in job.tasks.values() if places[task.row])
    waiting = bool(job.pending_count) or (phase not in STARTED and bool(job.tasks or job.min_available))
    causes: Sequence[Reason] = status.reasons if status else ()
    sentences: Sequence[str] = status.sentences if status else ()
    summary = status.summary if status else ""
    if waiting:
        missing = job.min_available - job.valid_count
        loss = loss_of(lost, cluster.eviction_message(job.key), missing) or too_few_tasks(job)
        causes, sentences = _with_loss(causes, sentences, loss)
        summary = loss.short if causes[0] is loss else summary
    return GroupPlan(
        phase=phase,
        queue=job.queue,
        min_member=job.min_available,
        ready=job.ready_count,
        pods=len(job.tasks),
        waiting=waiting,
        summary=summary if waiting else "",
        conditions=list(status.conditions) if status else [],
        reasons=list(sentences),
        causes=list(causes),
        nodes=dict(sorted(nodes.items())),
    )


def _with_loss(
    causes: Sequence[Reason], sentences: Sequence[str], loss: Reason
) -> tuple[Sequence[Reason], Sequence[str]]:
    """Return why a job waits, first how it has lost pods: this is why they are missing. A job without any reason has
    lost pods as well.
    """
    if sentences and loss.code is not Code.PREEMPTED:
        return causes, sentences
    missing = {cause.detail for cause in causes if cause.code in PODS_MISSING}
    others = [sentence for sentence in sentences if sentence not in missing]
    return [loss, *(cause for cause in causes if cause.code not in PODS_MISSING)], [loss.detail, *others]


def _queues(session: Session) -> dict[str, QueuePlan]:
    plans = {}
    for name, queue in sorted(session.queues.items()):
        allocated = session.ledger.queues[name].allocated
        facts = session.queue_facts(queue)
        plans[name] = QueuePlan(
            session.axis.as_quantities(allocated),
            session.axis.as_quantities(facts.deserved) if facts else {},
            facts.share if facts else _part(allocated, session.total),
        )
    return plans


def _part(allocated: Sequence[int], total: Sequence[int]) -> float:
    return max((a / t for a, t in zip(allocated, total, strict=True) if t), default=0.0)
