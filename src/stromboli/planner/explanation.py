"""Why a job waits: reasons with their codes, pods by class, the queue, and the jobs ahead of it.

Everything is read from the session of a plan while its plugins are open, and stored as plain values, so that later
trials do not change an explanation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import CODES, Code, CodeFacts
from stromboli.core.session.decision_records import EvictionRecord, PreemptionFailure
from stromboli.core.session.session import Session
from stromboli.core.topology.domain_search_records import DomainSearchRecord
from stromboli.planner.class_explanation import ClassExplanation, classes_of
from stromboli.planner.plan import GroupPlan, SchedulingPlan

#: The phase of a job without remaining pods.
EVICTED = "Evicted"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason code of a waiting job, with its messages."""

    code: Code
    messages: tuple[str, ...]

    @property
    def facts(self) -> CodeFacts:
        return CODES[self.code]


@dataclass(frozen=True, slots=True)
class Amount:
    """The amounts of a queue for one requested resource. None stands for unlimited or unknown."""

    resource: str
    requested: str
    allocated: str
    deserved: str | None
    capability: str | None


@dataclass(frozen=True, slots=True)
class QueueShareReport:
    name: str
    exists: bool
    state: str = ""
    weight: int = 0
    #: Whether the weight determines the deserved amounts; None without deserved amounts.
    by_weight: bool | None = None
    #: Whether the job is admitted.
    admitted: bool = False
    amounts: tuple[Amount, ...] = ()


@dataclass(frozen=True, slots=True)
class JobAhead:
    """A job ahead in the same queue."""

    job: str
    priority: int
    #: Number of pods bound in the last cycle.
    bound: int
    waiting: bool


@dataclass(slots=True)
class Explanation:
    job: str
    group: GroupPlan
    priority: int
    findings: list[Finding]
    classes: list[ClassExplanation]
    queue: QueueShareReport
    ahead: list[JobAhead] = field(default_factory=list)
    #: Evictions of its own pods, and evictions for it, in all cycles.
    lost: list[EvictionRecord] = field(default_factory=list)
    gained: list[EvictionRecord] = field(default_factory=list)
    #: Failed preemptions in the last cycle.
    refused: list[PreemptionFailure] = field(default_factory=list)
    #: The domain searches of the job.
    searches: Sequence[DomainSearchRecord] = ()


def explain_job(plan: SchedulingPlan, key: str) -> Explanation:
    """Explain a job of the plan, waiting or not."""
    lost = [record for record in plan.records if record.job == key]
    if key not in plan.groups:  # its group was created for pods that were all evicted
        queue = lost[0].queue
        group = GroupPlan(phase=EVICTED, queue=queue, min_member=0, ready=0, pods=0, waiting=False)
        return Explanation(key, group, 0, [], [], QueueShareReport(queue, exists=queue in plan.queues), lost=lost)
    session, job = plan.session, plan.session.jobs[key]
    classes = classes_of(session, job)
    return Explanation(
        job=key,
        group=plan.groups[key],
        priority=job.priority,
        findings=_findings(plan.groups[key], classes),
        classes=classes,
        queue=_queue_share(session, job),
        lost=lost,
        gained=[record for record in plan.records if record.preemptor == key],
        refused=plan.refusals.get(key, []),
        searches=plan.searches_of(key),
    )


def _findings(group: GroupPlan, classes: Iterable[ClassExplanation]) -> list[Finding]:
    """Return every code once; reasons of nodes with the number of nodes."""
    refusals = [refusal for entry in classes if entry.found_no_node for refusal in entry.refusals]
    counted = {(refusal.code, refusal.reason): f"{len(refusal.nodes)} {refusal.reason}" for refusal in refusals}
    messages: dict[Code, dict[str, None]] = {}
    for reason in group.causes:
        message = counted.get((reason.code, reason.detail), reason.detail)
        messages.setdefault(reason.code, {}).setdefault(message)
    return [Finding(code, tuple(message)) for code, message in messages.items()]


def _queue_share(session: Session, job: Job) -> QueueShareReport:
    queue, axis = session.queues.get(job.queue), session.axis
    if queue is None:
        return QueueShareReport(job.queue, exists=False)
    allocated, facts = session.ledger.queues[queue.name].allocated, session.queue_facts(queue)
    capability = dict(queue.capability)
    amounts = tuple(
        Amount(
            axis.names[d],
            requested=axis.format(d, requested),
            allocated=axis.format(d, allocated[d]),
            deserved=axis.format(d, facts.deserved[d]) if facts else None,
            capability=axis.format(d, capability[d]) if d in capability else None,
        )
        for d, requested in enumerate(job.requested)
        if requested and axis.names[d] != "pods"
    )
    by_weight, admitted = facts.by_weight if facts else None, job.phase != "Pending"
    return QueueShareReport(queue.name, True, queue.state, queue.weight, by_weight, admitted, amounts)


def lines_of(plan: SchedulingPlan, order: Mapping[str, int]) -> dict[str, list[JobAhead]]:
    """Return for every queue the jobs that were placed in the last cycle or wait, in scheduling order."""
    bound = Counter(placement.job for statement in plan.session.decisions.binds for placement in statement)
    lines: dict[str, list[JobAhead]] = {}
    for key in sorted(plan.groups.keys() & order.keys(), key=lambda key: order[key]):
        group = plan.groups[key]
        if bound[key] or group.waiting:
            entry = JobAhead(key, plan.session.jobs[key].priority, bound[key], group.waiting)
            lines.setdefault(group.queue, []).append(entry)
    return lines


def ahead_of(key: str, line: Sequence[JobAhead]) -> list[JobAhead]:
    """Return the jobs before a job in the order; empty if the job is not in it."""
    before = list(takewhile(lambda entry: entry.job != key, line))
    return before if len(before) < len(line) else []
