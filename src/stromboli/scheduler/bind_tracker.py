"""What becomes of decisions: the cache learns it, people are told, and what went wrong is put right.

A bind that failed gives its room back, and its pod rests for a while that grows with every failure. One whose outcome
nobody knows keeps its room until the cluster has said it. A gang that was left half-bound is healed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli import kube
from stromboli.binding.orders import BindOrder, Commit, EvictOrder, Outcome, Result
from stromboli.binding.recovery import UNWOUND, GangRecovery
from stromboli.binding.steps.claims.orders import choices_in
from stromboli.cluster.ingest.ingest import Mirror
from stromboli.cluster.objects.nodes import NodeEntry
from stromboli.cluster.objects.pod_groups.pod_groups import job_key_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.devices.claims import ClaimOrder
from stromboli.core.model.tasks.placement import Placement
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter
from stromboli.scheduler.resync import Resync

MIN_REST, MAX_REST = 1.0, 60.0
#: What metrics call the outcomes.
_WORDS = {
    Outcome.DONE: "bound",
    Outcome.IMPOSSIBLE: "rejected",
    Outcome.UNKNOWN: "unknown",
    Outcome.DROPPED: "dropped",
}
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class _PendingBind:
    """A bind that is being carried out: the node as it was when it was chosen, and when that was."""

    node: NodeEntry | None
    since: float
    #: What the cluster had seen of others by then.
    seen: object


class BindTracker:
    """Implements what the binder's workers want to know and to tell."""

    def __init__(
        self,
        mirror: Mirror,
        resync: Resync,
        healing: GangRecovery,
        reporting: StatusReporter,
        announcer: EventAnnouncer,
        metrics: SchedulerMetrics,
        *,
        is_leader: Callable[[], bool],
        clock: Callable[[], float],
        ring: Callable[[], None],
        wall_clock: Callable[[], float] = time.time,
        reports_binds: bool = True,
    ) -> None:
        self._mirror = mirror
        self._cluster: Cluster = mirror.cluster
        self._resync = resync
        self._recovery = healing
        self._reporting = reporting
        self._announcer = announcer
        self._metrics = metrics
        self._is_leader = is_leader
        self._clock = clock
        self._notify_trigger = ring
        self._wall_clock = wall_clock
        #: Whether it is on us to say that a pod was bound, and not on a binder.
        self._reports_binds = reports_binds
        self._under_way: dict[str, _PendingBind] = {}
        self._failures: dict[str, int] = {}
        #: Pods that could not be evicted: how often, and until when they are left alone.
        self._eviction_backoff: dict[str, tuple[int, float]] = {}

    def is_leader(self) -> bool:
        return self._is_leader()

    # -- binds --------------------------------------------------------------------------------------------------

    def begin(self, order: BindOrder) -> None:
        """A bind was decided: its room is taken from now on."""
        self._under_way[order.uid] = _PendingBind(
            self._cluster.nodes.entries.get(order.node), self._clock(), self._cluster.external_changes
        )
        devices = ClaimOrder(choices=choices_in(order.claims))
        self._cluster.assumptions.assume(
            Placement(order.uid, order.namespace, order.name, "", order.node, order.annotations, order.volumes, devices)
        )
        self._reporting.withdraw(order.key)

    def obstacle(self, order: BindOrder) -> str:
        """What has come in the way of a bind since it was decided, in words; empty if nothing."""
        pod = self._cluster.pods.find(order.uid)
        if pod is None:
            return "the pod is gone"
        if pod.metadata.deletion_timestamp is not None:
            return "the pod is being deleted"
        under_way = self._under_way.get(order.uid)
        chosen = under_way.node if under_way else None
        changed = _node_precondition_error(order.node, chosen, self._cluster.nodes.entries)
        if changed:
            return changed
        if under_way is not None and under_way.seen == self._cluster.external_changes:
            return ""
        lacking = self._cluster.shortages(order.uid)
        return f"node {order.node} has no room any more: Insufficient {', '.join(lacking)}" if lacking else ""

    def settled(self, commit: Commit, order: BindOrder, result: Result) -> None:
        under_way = self._under_way.pop(order.uid, None)
        waited = self._clock() - under_way.since if under_way else 0.0
        pod = self._cluster.pods.find(order.uid)
        age = self._wall_clock() - seconds_of(pod.metadata.creation_timestamp) if pod else waited
        self._metrics.bind_finished(_WORDS[result.outcome], waited, waited=age)
        if result.outcome is Outcome.DONE:
            self._failures.pop(order.uid, None)
            if pod is not None and self._reports_binds:
                self._announcer.pod_bound(pod, order.node)
        elif result.outcome is Outcome.UNKNOWN:
            self._metrics.resynced("bind")
            self._resync.ask(
                order.namespace, order.name, order.uid, lambda found: self._bind_resolved(commit, order, found)
            )
        else:
            self._failed(order, result, pod)

    def _bind_resolved(self, commit: Commit, order: BindOrder, found: kube.Pod | None) -> None:
        """The cluster has said what became of a bind whose outcome was unknown."""
        known = self._cluster.pods.find(order.uid)
        if found is not None:
            self._mirror.apply(found)
            if not found.spec.node_name:
                self._failed(order, Result(Outcome.IMPOSSIBLE, "the API server did not answer"), found)
        elif known is not None:
            self._mirror.remove(known)
        if found is None or not found.spec.node_name:
            self._start_recovery(commit, self._placed(commit), "the API server did not answer")
        self._notify_trigger()

    def _placed(self, commit: Commit) -> list[str]:
        """The members of a commit that have a node, or are on their way to it."""
        pods = [self._cluster.pods.find(member.uid) for member in commit.members]
        assumed = self._cluster.assumptions.placements
        return [pod.metadata.uid for pod in pods if pod and (pod.spec.node_name or pod.metadata.uid in assumed)]

    def _failed(self, order: BindOrder, result: Result, pod: kube.Pod | None) -> None:
        self._cluster.assumptions.forget(order.uid)
        if pod is None or result.outcome is Outcome.DROPPED:
            return
        problem = f"failed to bind to node {order.node}: {result.problem}"
        self._reporting.report_failed_bind(pod, problem)
        self._announcer.bind_failed(pod, self._cluster.groups.get(job_key_of(pod) or ""), problem)
        failures = self._failures[order.uid] = self._failures.get(order.uid, 0) + 1
        self._cluster.assumptions.start_backoff(order.uid)
        asyncio.get_running_loop().call_later(_pause(failures), self._end_backoff, order.uid)

    def _end_backoff(self, uid: str) -> None:
        self._cluster.assumptions.end_backoff(uid)
        if self._cluster.pods.find(uid) is None:
            self._failures.pop(uid, None)
        self._notify_trigger()

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        """All members of a commit are settled. A gang that is not whole now must not stay so."""
        placed = [uid for uid, result in results.items() if result.outcome in (Outcome.DONE, Outcome.UNKNOWN)]
        problems = [result.problem for uid, result in results.items() if uid not in placed]
        if problems:
            self._start_recovery(commit, placed, problems[0])

    def bound_late(self, commit: Commit, uids: Sequence[str]) -> None:
        """Members of a commit that was given up are bound after all."""
        self._start_recovery(commit, uids, "the bind request was given up before")

    def _start_recovery(self, commit: Commit, placed: Sequence[str], problem: str) -> None:
        """A gang is watched over as soon as a part of it is bound, also while another commit may still complete it."""
        if placed and not self._cluster.has_minimum_bound(commit.job):
            self._recovery.begin(commit.job, placed)
        group = self._cluster.groups.get(commit.job)
        if group is None or not self._recovery.is_open(commit.job) or self._cluster.has_minimum_placed(commit.job):
            return
        done = f"{commit.bound + len(placed)} of {commit.bound + len(commit.members)} pods were bound"
        self._announcer.pod_group_half_bound(group, f"{done}; the rest is tried again: {problem}")

    # -- evictions ----------------------------------------------------------------------------------------------

    def start_eviction(self, order: EvictOrder) -> bool:
        """An eviction was decided: the room counts as being released from now on. Not so for a pod that could not be
        evicted a short while ago: it is left alone for a pause that grows; whether it may be tried.
        """
        if self._eviction_backoff.get(order.uid, (0, 0.0))[1] > self._clock():
            return False
        self._cluster.assumptions.assume_evicted(order.uid)
        pod = self._cluster.pods.find(order.uid)
        if pod is not None:
            groups = self._cluster.groups
            self._announcer.evicts(pod, order, groups.get(order.job), groups.get(order.preemptor))
        return True

    def nominated(self, uid: str, node: str, victims: Sequence[EvictOrder]) -> None:
        """A pod has a room as soon as these are gone from it."""
        pod = self._cluster.pods.find(uid)
        if pod is not None and victims:
            self._announcer.nominated(pod, node, victims)

    def evicted(self, order: EvictOrder, result: Result) -> None:
        self._metrics.eviction_finished(result.outcome.value)
        if result.outcome is Outcome.DONE:
            self._reporting.report_victim(order)
            return
        if result.outcome is Outcome.UNKNOWN:
            self._metrics.resynced("evict")
            self._resync.ask(
                order.namespace, order.name, order.uid, lambda found: self._eviction_resolved(order, found)
            )
            return
        self._stays(order, result.problem)

    def _eviction_resolved(self, order: EvictOrder, found: kube.Pod | None) -> None:
        known = self._cluster.pods.find(order.uid)
        if found is not None:
            self._mirror.apply(found)
            if found.metadata.deletion_timestamp is None:
                self._stays(order, "the API server did not answer")
        elif known is not None:
            self._mirror.remove(known)
        self._notify_trigger()

    def _stays(self, order: EvictOrder, problem: str) -> None:
        self._cluster.assumptions.forget_eviction(order.uid)
        failures = self._eviction_backoff.get(order.uid, (0, 0.0))[0] + 1
        self._eviction_backoff[order.uid] = failures, self._clock() + _pause(failures)
        if order.reason == UNWOUND and not self._cluster.has_minimum_placed(order.job):
            self._recovery.begin(order.job, [order.uid])
        pod = self._cluster.pods.find(order.uid)
        if pod is not None:
            self._announcer.eviction_failed(pod, order, problem, self._cluster.groups.get(order.preemptor))

    # -- memory -------------------------------------------------------------------------------------------------

    def forget_gone(self) -> int:
        """Forget the failures of pods that are gone; answers how many."""
        gone = [uid for uid in {*self._failures, *self._eviction_backoff} if self._cluster.pods.find(uid) is None]
        for uid in gone:
            self._failures.pop(uid, None)
            self._eviction_backoff.pop(uid, None)
        return len(gone)


def _pause(failures: int) -> float:
    """How long something is left alone after so many failures in a row."""
    return min(MIN_REST * 2 ** min(failures - 1, 10), MAX_REST)


def _node_precondition_error(name: str, before: NodeEntry | None, nodes: dict[str, NodeEntry]) -> str:
    """What has become of a node since it was chosen. What was so before was seen by those who chose it."""
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
        if taint.effect in _KEEPS_AWAY and taint not in before.facts.taints:
            return f"node {name} has a new taint {taint}"
    return ""
