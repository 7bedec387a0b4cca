"""What becomes of bind requests: the ended are told about and deleted, and so are those that will never come to an end.

Only requests of this scheduler are looked after, also those of a predecessor; the rooms of all others are held, and the
rest is for whoever wrote them. Nothing here waits, and no cycle waits for anything here:

* one that succeeded is deleted when its pods say so themselves;
* one that failed gives its rooms back, and its pods rest for a while as after any bind that failed; a node that refused
  a pod is avoided for that pod;
* one that nobody has begun is deleted when a node of it is gone, when none of its pods is there any more, or when its
  time is up. It is deleted as it was last seen, so that the server itself says that nobody has begun meanwhile; until
  then its rooms are held.

Deadlines count from when this process first heard of a request, by a clock that only goes forward.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from stromboli import kube
from stromboli.binding.orders import DONE, BindOrder, Commit, Outcome, Result
from stromboli.cluster.objects.bind_requests import is_over
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.bind_requests import FAILED, PENDING, SUCCEEDED, UNWOUND, BindRequest, BoundPod
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_requests.avoided_nodes import AvoidedNodes
from stromboli.scheduler.bind_requests.deletions import RequestDeletions
from stromboli.scheduler.bind_requests.late_bindings import LateBindings
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.reporting.reporter import StatusReporter

#: How much longer than the binder a scheduler waits for the end of a request, in seconds.
MARGIN = 30.0
#: How often it looks whether the time of some request is up, in seconds.
LOOK_EVERY = 1.0

NO_BINDER = "no binder has taken up the bind request; see that `stromboli binder` runs and leads"
DELETED = "the bind request was deleted before it came to an end"

log = logging.getLogger("stromboli.requests")


@dataclass(slots=True)
class _TrackedRequest:
    """A request of ours, and since when it is known."""

    request: BindRequest
    since: float
    is_settled: bool = False
    #: Why it is being deleted although nobody has begun, and whether it was said that it is late.
    reason: str = ""
    is_late: bool = False


class RequestMonitor:
    def __init__(
        self,
        cluster: Cluster,
        outcomes: BindTracker,
        reporting: StatusReporter,
        deletions: RequestDeletions,
        avoidance: AvoidedNodes,
        metrics: SchedulerMetrics,
        *,
        scheduler: str,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._outcomes = outcomes
        self._reporting = reporting
        self._deletions = deletions
        self._avoided_nodes = avoidance
        self._metrics = metrics
        self._scheduler = scheduler
        self._clock = clock
        self._late = LateBindings(cluster, outcomes.bound_late, clock)
        #: By uid of the request.
        self._watched: dict[str, _TrackedRequest] = {}
        #: Those to look at, and those that are gone.
        self._changed: dict[str, None] = {}
        self._gone: list[_TrackedRequest] = []
        self._last_look = float("-inf")
        self._nodes_seen = -1

    @property
    def open(self) -> int:
        """Our requests that have not come to an end."""
        return sum(not is_over(watched.request) for watched in self._watched.values())

    # -- news ---------------------------------------------------------------------------------------------------

    def heard(self, request: BindRequest, before: BindRequest | None) -> bool:
        """A request was added or changed, or is gone, when it is its own `before`; whether that may free rooms."""
        is_gone = request is before
        if request.spec.scheduler == self._scheduler:
            self._follow(request, is_gone)
        if is_gone or before is None:
            return is_gone and not is_over(request)
        is_end = is_over(request) and not is_over(before)
        return (is_end and (request.status.phase == FAILED or bool(_lost(request)))) or request.spec != before.spec

    def _follow(self, request: BindRequest, is_gone: bool) -> None:
        uid = request.metadata.uid
        if is_gone:
            watched = self._watched.pop(uid, None)
            if watched is not None and self._outcomes.is_leader():
                self._gone.append(watched)
            self._changed.pop(uid, None)
            return
        known = self._watched.get(uid)
        if known is None:
            self._watched[uid] = _TrackedRequest(request, self._clock())
        else:
            known.request = request
        self._changed[uid] = None

    def look_again(self, request: BindRequest) -> None:
        """It could not be deleted as it was last seen."""
        if (watched := self._watched.get(request.metadata.uid)) is not None:
            watched.reason = ""
            self._changed[request.metadata.uid] = None

    # -- what follows -------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Whoever is in charge does what there is to do about requests that have changed, or whose time is up."""
        gone, self._gone = self._gone, []
        changed, self._changed = self._changed, {}
        for lost in gone:
            self._isolate_errors(self._process_deleted, lost)
        for uid in [*changed, *self._due()]:
            if (watched := self._watched.get(uid)) is not None:
                self._isolate_errors(self._look_at, watched)
        self._late.look()

    def _isolate_errors(self, act: Callable[[_TrackedRequest], None], watched: _TrackedRequest) -> None:
        """One request that makes no sense hurts nobody else."""
        try:
            act(watched)
        except Exception:
            log.exception("BindRequest %s cannot be looked after", watched.request.key)

    def _process_deleted(self, watched: _TrackedRequest) -> None:
        if not watched.is_settled:
            self._settle(watched, watched.reason or DELETED)

    def _is_due(self) -> bool:
        return self._clock() - self._last_look >= LOOK_EVERY or self._cluster.layout.generation != self._nodes_seen

    def _due(self) -> list[str]:
        """All that nobody has begun, when nodes have come or gone; else those whose time is up."""
        if not self._is_due():
            return []
        nodes, self._last_look = self._cluster.layout.generation, self._clock()
        is_changed, self._nodes_seen = nodes != self._nodes_seen, nodes
        open_ones = (watched for watched in self._watched.values() if not is_over(watched.request))
        return [each.request.metadata.uid for each in open_ones if is_changed or self._is_late(each)]

    def _is_late(self, watched: _TrackedRequest) -> bool:
        return self._clock() - watched.since > watched.request.spec.deadline_seconds + MARGIN

    def _look_at(self, watched: _TrackedRequest) -> None:
        request = watched.request
        if request.status.phase == FAILED or (request.status.phase == SUCCEEDED and self._is_confirmed(request)):
            if not watched.is_settled:
                self._settle(watched, request.status.reason or "the binder gave no reason")
            self._deletions.want(request)
        elif request.status.phase == SUCCEEDED:
            self._changed[request.metadata.uid] = None
        elif request.status.phase in ("", PENDING):
            self._process_pending(watched)
        elif self._is_late(watched) and not watched.is_late:
            watched.is_late = True
            self._report_on_group(request, "the binder has come to no end in time", has_begun=True)

    def _process_pending(self, watched: _TrackedRequest) -> None:
        """Nobody has begun; whether anybody still should."""
        request = watched.request
        reason = "" if watched.reason else self._obstacle(request) or (NO_BINDER if self._is_late(watched) else "")
        parts = self._parts_with(watched) if reason else []
        if any(part.request.status.phase not in ("", PENDING) for part in parts):
            return
        for part in parts:
            log.warning("BindRequest %s is taken back: %s", part.request.key, reason)
            part.reason = reason
            self._deletions.want(part.request, unchanged=True)
        if reason == NO_BINDER:
            self._report_on_group(request, NO_BINDER, has_begun=False)

    def _parts_with(self, watched: _TrackedRequest) -> list[_TrackedRequest]:
        """All parts of a decision: without one of them nothing will become of the others."""
        spec = watched.request.spec
        if spec.parts <= 1:
            return [watched]
        return [each for each in self._watched.values() if each.request.spec.decision == spec.decision]

    def _obstacle(self, request: BindRequest) -> str:
        """Why nobody should begin with it any more; empty if somebody should."""
        nodes = self._cluster.nodes.entries
        for member in request.spec.pods:
            if member.selected_node not in nodes:
                return f"node {member.selected_node} is gone"
        if not any(self._pod(member) for member in request.spec.pods):
            return "none of its pods is there any more"
        return ""

    def _is_confirmed(self, request: BindRequest) -> bool:
        """Whether all pods say themselves that they have a node, or are gone, or were not bound."""
        lost = _lost(request)
        pods = [self._pod(member) for member in request.spec.pods if member.pod_uid not in lost]
        return all(pod is None or pod.spec.node_name for pod in pods)

    def _pod(self, member: BoundPod) -> kube.Pod | None:
        return self._cluster.pods.find(member.pod_uid)

    # -- ends ---------------------------------------------------------------------------------------------------

    def _settle(self, watched: _TrackedRequest, reason: str) -> None:
        """Tell what became of every member, as if we had bound it ourselves."""
        watched.is_settled, request = True, watched.request
        orders = tuple(_order_of(request, member) for member in request.spec.pods)
        commit = Commit(self._job_of(request), orders, request.spec.min_member, 0, request.spec.decision)
        results = {order.uid: self._result_of(request, order, reason) for order in orders}
        refused = {each.pod_uid for each in request.status.pods if each.phase == FAILED}
        for order in orders:
            if order.uid in refused:
                self._avoided_nodes.refused(order.uid, order.node)
            self._outcomes.settled(commit, order, results[order.uid])
        self._outcomes.finished(commit, results)
        self._late.expect(commit, [order for order in orders if results[order.uid].outcome is not Outcome.DONE])
        self._metrics.request_ended(_WORDS.get(request.status.phase, "withdrawn"))

    def _result_of(self, request: BindRequest, order: BindOrder, reason: str) -> Result:
        """A pod that has its node is bound, whatever else is said; one of a request that was deleted is simply free."""
        pod = self._cluster.pods.find(order.uid)
        if pod is not None and pod.spec.node_name == order.node:
            return DONE
        if reason == DELETED:
            return Result(Outcome.DROPPED, DELETED)
        told = {each.pod_uid: each for each in request.status.pods}.get(order.uid)
        is_lost = told is not None and told.phase in (FAILED, UNWOUND)
        if request.status.phase == SUCCEEDED and not is_lost:
            return DONE
        return Result(Outcome.IMPOSSIBLE, (told.reason if told is not None else "") or reason)

    def _job_of(self, request: BindRequest) -> str:
        records = self._cluster.pods.records
        jobs = (records[each.pod_uid].job for each in request.spec.pods if each.pod_uid in records)
        return next(jobs, f"{request.metadata.namespace}/{request.spec.pod_group}")

    def _report_on_group(self, request: BindRequest, problem: str, *, has_begun: bool) -> None:
        message = f"BindRequest {request.key}: {problem}"
        self._reporting.report_stuck_bind(self._job_of(request), message, has_begun=has_begun)


#: What metrics call the ends.
_WORDS = {SUCCEEDED: "succeeded", FAILED: "failed"}


def _lost(request: BindRequest) -> Collection[str]:
    """The uids of members that were not bound, or were taken back."""
    return {each.pod_uid for each in request.status.pods if each.phase in (FAILED, UNWOUND)}


def _order_of(request: BindRequest, member: BoundPod) -> BindOrder:
    return BindOrder(
        member.pod_uid, request.metadata.namespace, member.pod_name, member.selected_node, member.annotations
    )
