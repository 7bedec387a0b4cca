"""What a cycle tells: conditions of PodGroups and pods, sums of queues, events.

A cycle has something to say about every job that waits, and most of it was said before. A job is told about again
when something about it has changed that people act on; words that merely count nodes differently wait for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.objects.pod_groups.pod_groups import STALE, stale_since
from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_of, previous_domains_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.session.session import Session
from stromboli.core.session.status import JobStatus
from stromboli.core.session.waiting_reasons import pod_condition
from stromboli.core.topology.previous_domains import current_domains, previous_domain_warnings
from stromboli.kube.client.client import PatchKind
from stromboli.kube.events.series import shortened
from stromboli.kube.objects.catalogue import PODS, QUEUES
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.group_targets import place_of
from stromboli.scheduler.reporting.patches import (
    BIND_STUCK,
    CLAIMED,
    EVICTED,
    SCHEDULED,
    GroupCondition,
    GroupStatus,
    PendingPodStatus,
    eviction_condition,
    pod_patch,
    queue_patch,
    victim_patch,
)
from stromboli.scheduler.reporting.warning_log import WarningLog

#: Reasons for which a group waits while its pods are being created.
_ARRIVING = (
    Code.NO_PODS.value,
    Code.NOT_ENOUGH_TASKS.value,
    Code.NOT_ENOUGH_PODS_OF_ROLE.value,
    Code.NOT_ENOUGH_SUB_GROUPS.value,
)


#: The moment of what has been told already.
_TOLD = 0.0


@dataclass(slots=True)
class _Reported:
    """What was told about a job: what people act on, and when it may be told in other words."""

    mark: tuple[object, ...]
    again: float
    message: str = ""
    #: Whether an event has told it, too.
    is_announced: bool = False


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
        self._told: dict[str, _Reported] = {}
        #: Jobs whose status could not be written, and when to try again.
        self._failed_writes: dict[str, float] = {}
        #: Jobs whose pods name a group that does not exist, and when that is worth saying: it may just be made.
        self._orphans: dict[str, float] = {}
        #: By name, queues and their sums as they were last looked at.
        self._queues: dict[str, tuple[kube.KubeQueue | None, list[int]]] = {}
        self._complaints = WarningLog(clock)

    def report(self, session: Session) -> None:
        """Wish for everything that this cycle has to say."""
        for key, status in session.statuses.items():
            if key in self._cluster.groups:
                self._orphans.pop(key, None)
                self._report_job(session, session.jobs[key], status)
            else:
                self._report_podless_group(session, session.jobs[key])
        for key, message in session.stale.items():
            self._report_staleness(key, message)
        self._report_queues()
        self._complaints.tell(session.warnings)

    def requeue_due(self) -> bool:
        """Have those jobs told about again whose status could not be written a while ago, and those whose group is
        still missing; whether there are any.
        """
        now = self._clock()
        due = [key for key, again in self._failed_writes.items() if now >= again]
        for key in due:
            del self._failed_writes[key]
            self._told.pop(key, None)
        lonely = [key for key, again in self._orphans.items() if again and now >= again]
        self._orphans.update(dict.fromkeys(lonely, _TOLD))
        for key in (*due, *lonely):
            self._cluster.touch(key)
        return bool(due or lonely)

    def forget_gone(self) -> int:
        """Forget what was told about jobs that are gone, and warnings that are over; answers how many they were."""
        gone = [key for key in self._told if key not in self._cluster.groups]
        for key in gone:
            del self._told[key]
        for key in [key for key in self._orphans if not self._cluster.pods.of_job(key)]:
            del self._orphans[key]
        return len(gone) + self._complaints.forget_old()

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _report_job(self, session: Session, job: Job, status: JobStatus) -> None:
        now = self._clock()
        homes = current_domains(session, job)
        record = placement_record_of(homes, job.key)
        mark = (*_mark(job, status), tuple(record.values()), self._outdated_record_version(job.key, homes))
        told = self._told.get(job.key)
        if told is not None and told.mark == mark and now < told.again:
            return
        wanted = _wanted(status, record)
        message = wanted.condition.message if wanted.condition else ""
        fresh = _Reported(mark, now + self._refresh, message)
        if told is None or (told.mark, told.message) != (mark, message):
            self._want_group_status(job, wanted)
            self._announce_losses(session, job)
        else:
            fresh.is_announced = told.is_announced
        stays = told is not None and told.mark == mark
        if not fresh.is_announced and (stays or not _may_be_creating_pods(wanted)):
            self._announce(job.key, wanted)
            fresh.is_announced = True
        self._report_pods(session, job)
        self._told[job.key] = fresh

    def _want_group_status(self, job: Job, wanted: GroupStatus) -> None:
        key = job.key
        place = place_of(self._cluster.groups[key])
        if place.status(place.entry, wanted, _now()) is None:
            self._writer.withdraw(place.resource, place.key)
            self._cluster.groups.set_phase(key, wanted.phase)
            return
        self._cluster.groups.set_phase(key, wanted.phase, hold=True)
        self._writer.want(
            DesiredStatus(
                place.resource,
                place.key,
                lambda entry: place.status(entry, wanted, _now()),
                kind=place.kind,
                subresource=place.subresource,
                done=lambda written: self._cluster.groups.release_phase(key),
                failed=lambda: self._failed_writes.setdefault(key, self._clock() + self._refresh),
                urgent=not self._is_being_bound(job),
            )
        )

    def _is_being_bound(self, job: Job) -> bool:
        """Whether members are under way to their nodes: what is told about the group will soon be old."""
        return any(uid in self._cluster.assumptions.placements for uid in job.tasks)

    def _announce(self, key: str, wanted: GroupStatus) -> None:
        condition = wanted.condition
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
        """The version of a group that says something else about where it is; None when it says this."""
        group = self._cluster.groups[key]
        return None if previous_domains_of(group) == homes else group.metadata.resource_version

    def _announce_losses(self, session: Session, job: Job) -> None:
        for message in previous_domain_warnings(session, job):
            self._announcer.domain_lost(self._cluster.groups[job.key], message)

    def report_evictions(self, orders: Sequence[EvictOrder]) -> None:
        """Say on the groups of the victims, and on those in whose favour they go, who goes and why."""
        told: dict[tuple[str, str], list[EvictOrder]] = {}
        for order in orders:
            told.setdefault((order.job, EVICTED), []).append(order)
            told.setdefault((order.preemptor, CLAIMED), []).append(order)
        for (key, kind), victims in told.items():
            if key in self._cluster.groups:
                condition = eviction_condition(kind, victims)
                place = place_of(self._cluster.groups[key])
                make = partial(place.condition, wanted=condition, now=_now())
                wish = DesiredStatus(
                    place.resource, place.key, make, topic=kind, kind=place.kind, subresource=place.subresource
                )
                self._writer.want(wish)

    def report_stuck_bind(self, key: str, message: str, *, has_begun: bool) -> None:
        """Say on a group, and in an event, that a binder does not do what was decided: not at all, or not in time."""
        group = self._cluster.groups.get(key)
        if group is None:
            return
        reason, tell = "NoBinder", self._announcer.no_binder
        if has_begun:
            reason, tell = "BindingLate", self._announcer.binding_late
        place = place_of(group)
        make = partial(place.condition, wanted=GroupCondition(BIND_STUCK, reason, message, ""), now=_now())
        self._writer.want(
            DesiredStatus(
                place.resource, place.key, make, topic=BIND_STUCK, kind=place.kind, subresource=place.subresource
            )
        )
        tell(group, message)

    def report_victim(self, order: EvictOrder) -> None:
        """Say on a victim that is on its way out why it goes, and for whom."""
        make = partial(_victim_patch, order)
        self._writer.want(
            DesiredStatus(PODS, order.key, make, topic=EVICTED, kind=PatchKind.STRATEGIC, subresource="status")
        )

    def _report_staleness(self, key: str, message: str) -> None:
        """Say on a group since when it has had too few members, so that it is known also after a restart."""
        group = self._cluster.groups.get(key)
        if group is not None and bool(message) != bool(stale_since(group)):
            place = place_of(group)
            make = partial(place.staleness, message=message, now=_now())
            wish = DesiredStatus(
                place.resource, place.key, make, topic=STALE, kind=place.kind, subresource=place.subresource
            )
            self._writer.want(wish)

    # -- pods ---------------------------------------------------------------------------------------------------

    def _report_podless_group(self, session: Session, job: Job) -> None:
        """Say on pods that their group does not exist, once they have waited for it a while."""
        now = self._clock()
        if now >= self._orphans.setdefault(job.key, now + self._refresh):
            self._report_pods(session, job)

    def _report_pods(self, session: Session, job: Job) -> None:
        """What every pod of the job that waits is told."""
        for task in job.tasks.values():
            told = pod_condition(session, task)
            pod = self._cluster.pods.find(task.uid)
            if told is None or pod is None or task.uid in self._cluster.assumptions.placements:
                continue
            waits = PendingPodStatus(*told, nominated=_nominated_node(session, task))
            if pod_patch(pod, waits, "") is None:
                self._writer.withdraw(PODS, pod.key)
            else:
                self._want_pod_status(pod, waits)

    def _want_pod_status(self, pod: kube.Pod, waits: PendingPodStatus) -> None:
        self._writer.want(
            DesiredStatus(
                PODS,
                pod.key,
                partial(_pending_pod_patch, pod.metadata.uid, waits),
                kind=PatchKind.STRATEGIC,
                subresource="status",
            )
        )
        self._announcer.pod_unschedulable(pod, waits)

    def withdraw(self, pod: str) -> None:
        """A pod is being bound: what it was to be told about waiting is old."""
        self._writer.withdraw(PODS, pod)

    def report_failed_bind(self, pod: kube.Pod, problem: str) -> None:
        """A pod could not be bound to the node that was chosen for it."""
        self._want_pod_status(pod, PendingPodStatus("SchedulerError", problem))

    # -- queues -------------------------------------------------------------------------------------------------

    def _report_queues(self) -> None:
        """What the jobs of every queue hold, binds that are under way included."""
        for name, sums in self._cluster.cluster_state().sums.books.items():
            queue = self._cluster.queues.find(name)
            looked_at = (queue, sums.allocated[:])
            if self._queues.get(name) == looked_at:
                continue
            self._queues[name] = looked_at
            allocated = self._cluster.axis.as_quantities(sums.allocated)
            if queue is not None and queue_patch(queue, allocated) is not None:
                make = partial(queue_patch, allocated=allocated)
                forget = partial(self._queues.pop, name, None)
                self._writer.want(DesiredStatus(QUEUES, name, make, subresource="status", failed=forget))


def _mark(job: Job, status: JobStatus) -> tuple[object, ...]:
    """What people act on."""
    condition = status.conditions[0] if status.conditions else None
    told = (condition.type, condition.reason) if condition else ()
    results = status.running, status.succeeded, status.failed
    if condition is not None and condition.reason in _ARRIVING:
        return job.spec.uid, status.phase, results, told
    return job.spec.uid, status.phase, results, told, (job.pending_count, job.pipelined_count, job.ready_count)


def _may_be_creating_pods(wanted: GroupStatus) -> bool:
    """Whether pods are missing that are perhaps just being created: no reason to warn anybody yet."""
    return wanted.condition is not None and wanted.condition.reason in _ARRIVING


def _nominated_node(session: Session, task: Task) -> str:
    """The node on which a room is held for the task until others are gone from it."""
    return session.ledger.node_name(task) if session.ledger.status_of(task) is TaskStatus.PIPELINED else ""


def _wanted(status: JobStatus, record: Mapping[str, str]) -> GroupStatus:
    condition = None
    if status.conditions:
        first = status.conditions[0]
        condition = GroupCondition(first.type, first.reason, first.message, first.transition_id)
    return GroupStatus(status.phase, status.running, status.succeeded, status.failed, condition, record)


def _pending_pod_patch(uid: str, waits: PendingPodStatus, pod: kube.Pod) -> dict[str, object] | None:
    """Nothing is said about a pod that has a node by now, or that is another one."""
    if pod.metadata.uid != uid or pod.spec.node_name:
        return None
    return pod_patch(pod, waits, _now())


def _victim_patch(order: EvictOrder, pod: kube.Pod) -> dict[str, object] | None:
    return victim_patch(pod, order, _now())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
