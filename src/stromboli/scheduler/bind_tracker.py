"""Tracks binds and evictions: updates the cache, reports results, and starts recovery.

A failed bind releases its capacity, and its pod backs off for a time that grows with every failure. A bind with an
unknown outcome keeps its capacity until the pod was read again. A gang that is left half-bound is recovered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli import kube
from stromboli.binding.gangs import UNWIND_REASON
from stromboli.binding.orders import Commit, EvictOrder, Outcome, Result
from stromboli.binding.recovery import GangRecovery, completes_others
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.objects.nodes import NodeEntry
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.work.retry import RetryPolicy
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter
from stromboli.scheduler.resync import Resync
from stromboli.workloads.groups import job_key_of

#: The backoff of pods after failed binds and evictions.
BACKOFF = RetryPolicy(min_delay=1.0, max_delay=60.0, factor=2.0, jitter=False)
#: Values of the metrics' label `result`.
_RESULTS = {
    Outcome.DONE: "bound",
    Outcome.IMPOSSIBLE: "rejected",
    Outcome.UNKNOWN: "unknown",
    Outcome.DROPPED: "dropped",
}
_REPELLING_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class _PendingBind:
    """A bind in progress: the node when it was chosen, and the time."""

    node: NodeEntry | None
    since: float
    #: The cluster's counter of external changes at that time.
    external_changes: object


class BindTracker:
    """The observer of bind and eviction workers."""

    def __init__(
        self,
        ingest: Ingest,
        resync: Resync,
        recovery: GangRecovery,
        reporting: StatusReporter,
        announcer: EventAnnouncer,
        metrics: SchedulerMetrics,
        *,
        is_leader: Callable[[], bool],
        clock: Callable[[], float],
        notify: Callable[[], None],
        wall_clock: Callable[[], float] = time.time,
        reports_binds: bool = True,
    ) -> None:
        self._ingest = ingest
        self._cluster: Cluster = ingest.cluster
        self._resync = resync
        self._recovery = recovery
        self._reporting = reporting
        self._announcer = announcer
        self._metrics = metrics
        self._is_leader = is_leader
        self._clock = clock
        self._notify_trigger = notify
        self._wall_clock = wall_clock
        #: Whether this process, not a binder, reports bound pods.
        self._reports_binds = reports_binds
        #: Called with every eviction that is done.
        self.on_evicted: Callable[[EvictOrder], None] = lambda order: None
        self._pending: dict[str, _PendingBind] = {}
        self._failures: dict[str, int] = {}
        #: Pods that could not be evicted: the number of failures, and the end of the backoff.
        self._eviction_backoff: dict[str, tuple[int, float]] = {}

    def is_leader(self) -> bool:
        return self._is_leader()

    # -- binds --------------------------------------------------------------------------------------------------

    def begin(self, placement: Placement) -> None:
        """Assume a placement whose bind was decided: its capacity is used from now on."""
        self._pending[placement.uid] = _PendingBind(
            self._cluster.nodes.entries.get(placement.node), self._clock(), self._cluster.external_changes
        )
        self._cluster.assumptions.assume(placement)
        self._reporting.withdraw(placement.key)

    def precondition_error(self, placement: Placement) -> str:
        """Return what has made a bind impossible since it was decided; empty if nothing."""
        pod = self._cluster.pods.find(placement.uid)
        if pod is None:
            return "the pod is gone"
        if pod.metadata.deletion_timestamp is not None:
            return "the pod is being deleted"
        pending = self._pending.get(placement.uid)
        chosen = pending.node if pending else None
        changed = _node_precondition_error(placement.node, chosen, self._cluster.nodes.entries)
        if changed:
            return changed
        if pending is not None and pending.external_changes == self._cluster.external_changes:
            return ""
        lacking = self._cluster.shortages(placement.uid)
        return f"node {placement.node} has no capacity any more: Insufficient {', '.join(lacking)}" if lacking else ""

    def settled(self, commit: Commit, placement: Placement, result: Result) -> None:
        pending = self._pending.pop(placement.uid, None)
        waited = self._clock() - pending.since if pending else 0.0
        pod = self._cluster.pods.find(placement.uid)
        age = self._wall_clock() - seconds_of(pod.metadata.creation_timestamp) if pod else waited
        self._metrics.bind_finished(_RESULTS[result.outcome], waited, waited=age)
        if result.outcome is Outcome.DONE:
            self._failures.pop(placement.uid, None)
            if pod is not None and self._reports_binds:
                self._announcer.pod_bound(pod, placement.node)
        elif result.outcome is Outcome.UNKNOWN:
            self._metrics.resynced("bind")
            self._resync.ask(
                placement.namespace,
                placement.name,
                placement.uid,
                lambda found: self._bind_resolved(commit, placement, found),
            )
        else:
            self._failed(placement, result, pod)

    def _bind_resolved(self, commit: Commit, placement: Placement, found: kube.Pod | None) -> None:
        """Handle the pod that was read after a bind with an unknown outcome."""
        known = self._cluster.pods.find(placement.uid)
        if found is not None:
            self._ingest.apply(found)
            if not found.spec.node_name:
                self._failed(placement, Result(Outcome.IMPOSSIBLE, "the API server did not answer"), found)
        elif known is not None:
            self._ingest.remove(known)
        if found is None or not found.spec.node_name:
            self._start_recovery(commit, self._placed(commit), "the API server did not answer")
        self._notify_trigger()

    def _placed(self, commit: Commit) -> list[str]:
        """Return the uids of members that have a node or are being bound."""
        pods = [self._cluster.pods.find(member.uid) for member in commit.members]
        assumed = self._cluster.assumptions.placements
        return [pod.metadata.uid for pod in pods if pod and (pod.spec.node_name or pod.metadata.uid in assumed)]

    def _failed(self, placement: Placement, result: Result, pod: kube.Pod | None) -> None:
        self._cluster.assumptions.forget(placement.uid)
        if pod is None or result.outcome is Outcome.DROPPED:
            return
        problem = f"failed to bind to node {placement.node}: {result.problem}"
        self._reporting.report_failed_bind(pod, problem)
        self._announcer.bind_failed(pod, self._cluster.groups.get(job_key_of(pod) or ""), problem)
        failures = self._failures[placement.uid] = self._failures.get(placement.uid, 0) + 1
        self._cluster.assumptions.start_backoff(placement.uid)
        asyncio.get_running_loop().call_later(BACKOFF.delay(failures - 1), self._end_backoff, placement.uid)

    def _end_backoff(self, uid: str) -> None:
        self._cluster.assumptions.end_backoff(uid)
        if self._cluster.pods.find(uid) is None:
            self._failures.pop(uid, None)
        self._notify_trigger()

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        """Start recovery if the commit left its gang half-bound.

        A commit may succeed and leave its gang below the minimum nevertheless: it completes a gang of which another
        commit binds the rest, and that one may fail before or afterwards.
        """
        placed = [uid for uid, result in results.items() if result.outcome in (Outcome.DONE, Outcome.UNKNOWN)]
        problems = [result.problem for uid, result in results.items() if uid not in placed]
        if problems or any(completes_others(member.annotations) for member in commit.members[:1]):
            self._start_recovery(commit, placed, problems[0] if problems else "the binds of other members failed")

    def bound_late(self, commit: Commit, uids: Sequence[str]) -> None:
        """Handle members of a commit that were bound after the commit was given up."""
        self._start_recovery(commit, uids, "the bind request was given up before")

    def _start_recovery(self, commit: Commit, placed: Sequence[str], problem: str) -> None:
        """Track a partly bound gang, also while another commit may still complete it."""
        if placed and not self._cluster.has_minimum_bound(commit.job):
            self._recovery.begin(commit.job, placed)
        group = self._cluster.groups.get(commit.job)
        if group is None or not self._recovery.is_open(commit.job) or self._cluster.has_minimum_placed(commit.job):
            return
        done = f"{commit.bound + len(placed)} of {commit.bound + len(commit.members)} pods were bound"
        self._announcer.pod_group_half_bound(group, f"{done}; the rest is retried: {problem}")

    # -- evictions ----------------------------------------------------------------------------------------------

    def start_eviction(self, order: EvictOrder) -> bool:
        """Count the capacity of a victim as being released. Returns False during the backoff after a failure."""
        if self._eviction_backoff.get(order.uid, (0, 0.0))[1] > self._clock():
            return False
        self._cluster.assumptions.assume_evicted(order.uid)
        pod = self._cluster.pods.find(order.uid)
        if pod is not None:
            groups = self._cluster.groups
            self._announcer.evicts(pod, order, groups.get(order.job), groups.get(order.preemptor))
        return True

    def nominated(self, uid: str, node: str, victims: Sequence[EvictOrder]) -> None:
        """Report the node on which a pod gets capacity once the victims are gone."""
        pod = self._cluster.pods.find(uid)
        if pod is not None and victims:
            self._announcer.nominated(pod, node, victims)

    def evicted(self, order: EvictOrder, result: Result) -> None:
        self._metrics.eviction_finished(result.outcome.value)
        if result.outcome is Outcome.DONE:
            self._reporting.report_victim(order)
            self.on_evicted(order)
            return
        if result.outcome is Outcome.UNKNOWN:
            self._metrics.resynced("evict")
            self._resync.ask(
                order.namespace, order.name, order.uid, lambda found: self._eviction_resolved(order, found)
            )
            return
        self._eviction_failed(order, result.problem)

    def _eviction_resolved(self, order: EvictOrder, found: kube.Pod | None) -> None:
        known = self._cluster.pods.find(order.uid)
        if found is not None:
            self._ingest.apply(found)
            if found.metadata.deletion_timestamp is None:
                self._eviction_failed(order, "the API server did not answer")
            else:
                self.on_evicted(order)
        else:
            self.on_evicted(order)
            if known is not None:
                self._ingest.remove(known)
        self._notify_trigger()

    def _eviction_failed(self, order: EvictOrder, problem: str) -> None:
        self._cluster.assumptions.forget_eviction(order.uid)
        failures = self._eviction_backoff.get(order.uid, (0, 0.0))[0] + 1
        self._eviction_backoff[order.uid] = failures, self._clock() + BACKOFF.delay(failures - 1)
        if order.reason == UNWIND_REASON and not self._cluster.has_minimum_placed(order.job):
            self._recovery.begin(order.job, [order.uid])
        pod = self._cluster.pods.find(order.uid)
        if pod is not None:
            self._announcer.eviction_failed(pod, order, problem, self._cluster.groups.get(order.preemptor))

    # -- clean-up -----------------------------------------------------------------------------------------------

    def forget_gone(self) -> int:
        """Drop the failures of deleted pods. Returns how many."""
        gone = [uid for uid in {*self._failures, *self._eviction_backoff} if self._cluster.pods.find(uid) is None]
        for uid in gone:
            self._failures.pop(uid, None)
            self._eviction_backoff.pop(uid, None)
        return len(gone)


def _node_precondition_error(name: str, before: NodeEntry | None, nodes: dict[str, NodeEntry]) -> str:
    """Return what has changed about a node since it was chosen; the decision considered everything before."""
    now = nodes.get(name)
    if now is None:
        return f"node {name} is gone"
    if before is None or now is before:
        return ""
    if now.facts.unschedulable and not before.facts.unschedulable:
        return f"node {name} was cordoned"
    if before.facts.ready and not now.facts.ready:
        return f"node {name} is not ready any more"
    for taint in now.facts.taints:
        if taint.effect in _REPELLING_EFFECTS and taint not in before.facts.taints:
            return f"node {name} has a new taint {taint}"
    return ""
