"""Reports a cycle: conditions of PodGroups and pods, allocations of queues, events.

Most jobs are in the same state as in the cycle before. A job is reported again when its phase, counts or reasons have
changed; a message that merely counts nodes differently is refreshed after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.objects.pod_groups.pod_groups import EVICTED, STALE, stale_since
from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_of, previous_domains_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import PODS_MISSING
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.status import INQUEUE, JobStatus
from stromboli.core.session.waiting_reasons import pod_condition
from stromboli.core.topology.previous_domains import current_domains, previous_domain_warnings
from stromboli.kube.client.client import PatchKind
from stromboli.kube.events.series import shortened
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.budget_events import BudgetEvents
from stromboli.scheduler.reporting.group_targets import target_of
from stromboli.scheduler.reporting.patches import (
    BIND_STUCK,
    CLAIMED,
    SCHEDULED,
    GroupCondition,
    GroupStatus,
    PendingPodStatus,
    eviction_condition,
    pod_patch,
    victim_patch,
)
from stromboli.scheduler.reporting.queue_statuses import QueueStatuses
from stromboli.scheduler.reporting.warning_log import WarningLog

#: Reasons for which a group is pending while its pods are being created.
_PODS_MISSING = tuple(code.value for code in PODS_MISSING)

#: The due time of a report that has been made.
_DONE = 0.0


@dataclass(slots=True)
class _Reported:
    """The last report on a job: its essential facts, and when its message may be refreshed."""

    mark: tuple[object, ...]
    refresh_at: float
    message: str = ""
    #: The cause of the last event.
    announced: object = None


class StatusReporter:
    def __init__(
        self,
        cluster: Cluster,
        writer: StatusWriter,
        announcer: EventAnnouncer,
        *,
        refresh: float,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._announcer = announcer
        self._refresh = refresh
        self._clock = clock
        self._reports: dict[str, _Reported] = {}
        #: Jobs whose status was not written, and when to retry.
        self._failed_writes: dict[str, float] = {}
        #: Jobs without their group or a part of their pods, and when to report it: controllers may still create them.
        self._incomplete: dict[str, float] = {}
        self._queues = QueueStatuses(cluster, writer)
        self._warnings = WarningLog(clock)
        #: The cut guarantees of queues, as last reported.
        self._reduced_guarantees: dict[str, str] = {}
        self.budget_events = BudgetEvents(cluster, announcer)

    def report(self, session: Session) -> None:
        """Report everything that this cycle has found."""
        for key, status in session.statuses.items():
            if key in self._cluster.groups:
                self._report_job(session, session.jobs[key], status)
            else:
                self._report_podless_group(session, session.jobs[key])
        for key, message in session.stale.items():
            self._report_staleness(key, message)
        self._queues.report(session)
        self.budget_events.report(session.budgets)
        self._report_guarantees(session.reduced_guarantees)
        self._warnings.log_new(session.warnings)

    def requeue_due(self) -> bool:
        """Requeue jobs whose status was not written or that are still incomplete; return whether there are any."""
        now = self._clock()
        due = [key for key, due_at in self._failed_writes.items() if now >= due_at]
        for key in due:
            del self._failed_writes[key]
            self._reports.pop(key, None)
        incomplete = [key for key, refresh_at in self._incomplete.items() if refresh_at and now >= refresh_at]
        self._incomplete.update(dict.fromkeys(incomplete, _DONE))
        for key in (*due, *incomplete):
            self._cluster.touch(key)
        return bool(due or incomplete)

    def forget_gone(self) -> int:
        """Drop records of deleted jobs, and old warnings; return their number."""
        gone = [key for key in self._reports if key not in self._cluster.groups]
        for key in gone:
            del self._reports[key]
        for key in [key for key in self._incomplete if not self._cluster.pods.of_job(key)]:
            del self._incomplete[key]
        return len(gone) + self._warnings.prune()

    def _report_guarantees(self, reduced: dict[str, str]) -> None:
        """Record an event on every queue whose guarantee is cut in another way than before."""
        for name, message in reduced.items():
            queue = self._cluster.queues.find(name)
            if queue is not None and self._reduced_guarantees.get(name) != message:
                self._announcer.guarantee_reduced(queue, message)
        self._reduced_guarantees = reduced

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _report_job(self, session: Session, job: Job, status: JobStatus) -> None:
        now = self._clock()
        homes = current_domains(session, job)
        mark = (*_mark(job, status), tuple(sorted(homes.items())), self._outdated_record_version(job.key, homes))
        last = self._reports.get(job.key)
        if last is not None and last.mark == mark and now < last.refresh_at:
            return
        record = placement_record_of(homes, job.key)
        if (last is None or last.mark != mark) and _may_be_creating_pods(status):
            self._report_incomplete(job, status, record)
            announced = None if last is None else last.announced
            self._reports[job.key] = _Reported(mark, now + self._refresh, announced=announced)
            return
        self._incomplete.pop(job.key, None)
        desired = _group_status(status, record)
        message = desired.condition.message if desired.condition else ""
        if last is None or (last.mark, last.message) != (mark, message):
            self._want_group_status(job, desired)
            self._announce_losses(session, job)
        cause = _cause(status)
        if last is None or last.announced != cause:
            self._announce(job.key, desired)
        self._report_pods(session, job)
        self._reports[job.key] = _Reported(mark, now + self._refresh, message, cause)

    def _report_incomplete(self, job: Job, status: JobStatus, record: Mapping[str, str]) -> None:
        """Report phase and counts of a job without a part of its pods. It is unschedulable if no pod is added for some
        time.
        """
        self._incomplete[job.key] = self._clock() + self._refresh
        counts = status.running, status.succeeded, status.failed
        self._want_group_status(job, GroupStatus(status.phase, *counts, record=record))

    def _want_group_status(self, job: Job, desired: GroupStatus) -> None:
        key = job.key
        target = target_of(self._cluster.groups[key])
        has_status = target.status(target.entry, desired, _now()) is None
        if has_status and not self._writer.has_begun(target.resource, target.key):
            self._writer.withdraw(target.resource, target.key)
            self._cluster.groups.set_phase(key, desired.phase)
            return
        self._cluster.groups.set_phase(key, desired.phase, hold=True)
        self._writer.want(
            DesiredStatus(
                target.resource,
                target.key,
                lambda entry: target.status(entry, desired, _now()),
                kind=target.kind,
                subresource=target.subresource,
                done=lambda written: self._cluster.groups.release_phase(key),
                failed=lambda: self._failed_writes.setdefault(key, self._clock() + self._refresh),
                urgent=desired.phase == INQUEUE and len(job.tasks) < job.min_available,  # a controller creates pods
            )
        )

    def _announce(self, key: str, desired: GroupStatus) -> None:
        condition = desired.condition
        if condition is None:
            return
        group = self._cluster.groups[key]
        before = {c.type: c for c in group.status.conditions or () if c.status == "True"}.get(condition.type)
        if condition.type == SCHEDULED:
            if before is None:
                self._announcer.pod_group_scheduled(group)
        elif before is None or before.message != shortened(condition.message):
            self._announcer.pod_group_unschedulable(group, condition.message)

    def _outdated_record_version(self, key: str, homes: Mapping[str, str]) -> str | None:
        """Return the version of a group whose recorded domains differ; None when they are equal."""
        group = self._cluster.groups[key]
        return None if previous_domains_of(group) == homes else group.metadata.resource_version

    def _announce_losses(self, session: Session, job: Job) -> None:
        for message in previous_domain_warnings(session, job):
            self._announcer.domain_lost(self._cluster.groups[job.key], message)

    def report_evictions(self, orders: Sequence[EvictOrder]) -> None:
        """Report evictions on the groups of the victims and of the preemptors."""
        by_group: dict[tuple[str, str], list[EvictOrder]] = {}
        for order in orders:
            by_group.setdefault((order.job, EVICTED), []).append(order)
            by_group.setdefault((order.preemptor, CLAIMED), []).append(order)
        for (key, kind), victims in by_group.items():
            if key in self._cluster.groups:
                condition = eviction_condition(kind, victims)
                target = target_of(self._cluster.groups[key])
                make = partial(target.condition, desired=condition, now=_now())
                desired = DesiredStatus(
                    target.resource, target.key, make, topic=kind, kind=target.kind, subresource=target.subresource
                )
                self._writer.want(desired)

    def report_stuck_bind(self, key: str, message: str, *, has_begun: bool) -> None:
        """Report on a group, and in an event, that no binder handles its placements, or not in time."""
        group = self._cluster.groups.get(key)
        if group is None:
            return
        reason, announce = "NoBinder", self._announcer.no_binder
        if has_begun:
            reason, announce = "BindingLate", self._announcer.binding_late
        target = target_of(group)
        make = partial(target.condition, desired=GroupCondition(BIND_STUCK, reason, message, ""), now=_now())
        self._writer.want(
            DesiredStatus(
                target.resource, target.key, make, topic=BIND_STUCK, kind=target.kind, subresource=target.subresource
            )
        )
        announce(group, message)

    def report_victim(self, order: EvictOrder) -> None:
        """Report on a victim why it is evicted, and in favour of which job."""
        make = partial(_victim_patch, order)
        self._writer.want(
            DesiredStatus(PODS, order.key, make, topic=EVICTED, kind=PatchKind.STRATEGIC, subresource="status")
        )

    def _report_staleness(self, key: str, message: str) -> None:
        """Report on a group since when it has been below its minimum, so that a restart does not lose it."""
        group = self._cluster.groups.get(key)
        if group is not None and bool(message) != bool(stale_since(group)):
            target = target_of(group)
            make = partial(target.staleness, message=message, now=_now())
            desired = DesiredStatus(
                target.resource, target.key, make, topic=STALE, kind=target.kind, subresource=target.subresource
            )
            self._writer.want(desired)

    # -- pods ---------------------------------------------------------------------------------------------------

    def _report_podless_group(self, session: Session, job: Job) -> None:
        """Report on pods that their group does not exist, after some time."""
        now = self._clock()
        if now >= self._incomplete.setdefault(job.key, now + self._refresh):
            self._report_pods(session, job)

    def _report_pods(self, session: Session, job: Job) -> None:
        """Report on every pending pod of the job."""
        for task in job.tasks.values():
            condition = pod_condition(session, task)
            pod = self._cluster.pods.find(task.uid)
            if condition is None or pod is None or task.uid in self._cluster.assumptions.placements:
                continue
            status = PendingPodStatus(*condition, nominated=_nominated_node(session, task))
            if pod_patch(pod, status, "") is None:
                self._writer.withdraw(PODS, pod.key)
            else:
                self._want_pod_status(pod, status)

    def report_groupless_pod(self, pod: kube.Pod, message: str) -> None:
        """Report a pod for which no controller creates a group."""
        status = PendingPodStatus("Unschedulable", message)
        if pod_patch(pod, status, "") is not None:
            self._want_pod_status(pod, status)

    def _want_pod_status(self, pod: kube.Pod, status: PendingPodStatus) -> None:
        self._writer.want(
            DesiredStatus(
                PODS,
                pod.key,
                partial(_pending_pod_patch, pod.metadata.uid, status),
                kind=PatchKind.STRATEGIC,
                subresource="status",
            )
        )
        self._announcer.pod_unschedulable(pod, status)

    def withdraw(self, pod: str) -> None:
        """Drop the unwritten status of a pod that is being bound."""
        self._writer.withdraw(PODS, pod)

    def report_failed_bind(self, pod: kube.Pod, problem: str) -> None:
        """Report a pod that was not bound to its node."""
        self._want_pod_status(pod, PendingPodStatus("SchedulerError", problem))


def _mark(job: Job, status: JobStatus) -> tuple[object, ...]:
    """Return the facts that make a report new."""
    condition = status.conditions[0] if status.conditions else None
    reason = (condition.type, condition.reason) if condition else ()
    results = status.running, status.succeeded, status.failed
    return job.spec.uid, status.phase, results, reason, (job.pending_count, job.pipelined_count, job.ready_count)


def _cause(status: JobStatus) -> tuple[object, ...]:
    """Return the facts that make an event new: the cause, without its counts."""
    condition = status.conditions[0] if status.conditions else None
    if condition is None or condition.type == SCHEDULED:
        return (condition and condition.type,)
    return condition.type, condition.reason, status.cause


def _may_be_creating_pods(status: JobStatus) -> bool:
    """Report whether missing pods may still be created: too early for a warning. A group with running pods has lost
    some.
    """
    return any(each.reason in _PODS_MISSING for each in status.conditions) and not status.running


def _nominated_node(session: Session, task: Task) -> str:
    """Return the node that is nominated for the task until its victims are gone."""
    return session.ledger.node_name(task) if session.ledger.status_of(task) is TaskStatus.PIPELINED else ""


def _group_status(status: JobStatus, record: Mapping[str, str]) -> GroupStatus:
    condition = None
    if status.conditions:
        first = status.conditions[0]
        condition = GroupCondition(first.type, first.reason, first.message, first.transition_id)
    return GroupStatus(status.phase, status.running, status.succeeded, status.failed, condition, record)


def _pending_pod_patch(uid: str, status: PendingPodStatus, pod: kube.Pod) -> dict[str, object] | None:
    """Skip a pod that has a node by now, or another pod of the same name."""
    if pod.metadata.uid != uid or pod.spec.node_name:
        return None
    return pod_patch(pod, status, _now())


def _victim_patch(order: EvictOrder, pod: kube.Pod) -> dict[str, object] | None:
    return victim_patch(pod, order, _now())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
