"""Monitors bind requests: reports their results, and deletes those that have ended or never will.

Only requests of this scheduler are processed, including those of a former leader; the capacity of all others is
counted, and their schedulers process them. Nothing here waits, and no cycle waits for anything here:

* A request that succeeded is deleted when the watches show its pods on their nodes.
* A request that failed releases its capacity, and its pods back off as after any failed bind; a pod avoids a node on
  which its bind failed.
* A request that the binder has not begun is deleted when one of its nodes or all of its pods are gone, or at its time
  limit. It is deleted in the version that was last seen, so that the API server rejects the deletion if the binder has
  begun since then; until then its capacity is counted.

Time limits count from when this process first saw a request, by a monotonic clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from stromboli import kube
from stromboli.binding.orders import DONE, Commit, Outcome, Result
from stromboli.cluster.objects.bind_requests import is_over, placement_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import FAILED, PENDING, SUCCEEDED, UNWOUND, BindRequest, BoundPod
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_requests.avoided_nodes import AvoidedNodes
from stromboli.scheduler.bind_requests.deletions import RequestDeletions
from stromboli.scheduler.bind_requests.late_bindings import LateBindings
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.reporting.reporter import StatusReporter

#: Seconds that a scheduler waits for the end of a request after the binder's time limit.
MARGIN = 30.0
#: Seconds between two checks for overdue requests.
CHECK_INTERVAL = 1.0

NO_BINDER = "no binder has begun the bind request; check that `stromboli binder` runs and leads"
DELETED = "the bind request was deleted before it ended"

log = logging.getLogger("stromboli.scheduler")


@dataclass(slots=True)
class _TrackedRequest:
    """A request of this scheduler, and when it was first seen."""

    request: BindRequest
    since: float
    is_settled: bool = False
    #: Why it is being deleted before it has begun, and whether it was reported as overdue.
    reason: str = ""
    is_reported_late: bool = False


class RequestMonitor:
    def __init__(
        self,
        cluster: Cluster,
        tracker: BindTracker,
        reporting: StatusReporter,
        deletions: RequestDeletions,
        avoided_nodes: AvoidedNodes,
        metrics: SchedulerMetrics,
        *,
        scheduler: str,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._tracker = tracker
        self._reporting = reporting
        self._deletions = deletions
        self._avoided_nodes = avoided_nodes
        self._metrics = metrics
        self._scheduler = scheduler
        self._clock = clock
        self._late = LateBindings(cluster, tracker.bound_late, clock)
        #: By uid of the request.
        self._watched: dict[str, _TrackedRequest] = {}
        #: Requests to process, and deleted ones.
        self._changed: dict[str, None] = {}
        self._gone: list[_TrackedRequest] = []
        self._last_check = float("-inf")
        self._nodes_seen = -1

    @property
    def open(self) -> int:
        """The number of this scheduler's requests that have not ended."""
        return sum(not is_over(watched.request) for watched in self._watched.values())

    # -- events -------------------------------------------------------------------------------------------------

    def request_changed(self, request: BindRequest, before: BindRequest | None) -> bool:
        """Process a watch event (a deleted request is its own `before`); report whether it may release capacity."""
        is_gone = request is before
        if request.spec.scheduler == self._scheduler:
            self._track(request, is_gone)
        if is_gone or before is None:
            return is_gone and not is_over(request)
        is_end = is_over(request) and not is_over(before)
        return (is_end and (request.status.phase == FAILED or bool(_lost(request)))) or request.spec != before.spec

    def _track(self, request: BindRequest, is_gone: bool) -> None:
        uid = request.metadata.uid
        if is_gone:
            watched = self._watched.pop(uid, None)
            if watched is not None and self._tracker.is_leader():
                self._gone.append(watched)
            self._changed.pop(uid, None)
            return
        known = self._watched.get(uid)
        if known is None:
            self._watched[uid] = _TrackedRequest(request, self._clock())
        else:
            known.request = request
        self._changed[uid] = None

    def deletion_conflict(self, request: BindRequest) -> None:
        """Process a request again that was changed before it could be deleted."""
        if (watched := self._watched.get(request.metadata.uid)) is not None:
            watched.reason = ""
            self._changed[request.metadata.uid] = None

    # -- processing ---------------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Process requests that have changed or are overdue; only the leader calls it."""
        gone, self._gone = self._gone, []
        changed, self._changed = self._changed, {}
        for lost in gone:
            self._isolate_errors(self._process_deleted, lost)
        for uid in [*changed, *self._due()]:
            if (watched := self._watched.get(uid)) is not None:
                self._isolate_errors(self._process, watched)
        self._late.check()

    def _isolate_errors(self, act: Callable[[_TrackedRequest], None], watched: _TrackedRequest) -> None:
        """Isolate an error to one request: log it and continue with the others."""
        try:
            act(watched)
        except Exception:
            log.exception("bind request cannot be processed", extra={"request": watched.request.key})

    def _process_deleted(self, watched: _TrackedRequest) -> None:
        if not watched.is_settled:
            self._settle(watched, watched.reason or DELETED)

    def _is_due(self) -> bool:
        return self._clock() - self._last_check >= CHECK_INTERVAL or self._cluster.layout.generation != self._nodes_seen

    def _due(self) -> list[str]:
        """Return the uids of all open requests when nodes were added or deleted; else of the overdue ones."""
        if not self._is_due():
            return []
        nodes, self._last_check = self._cluster.layout.generation, self._clock()
        is_changed, self._nodes_seen = nodes != self._nodes_seen, nodes
        open_ones = (watched for watched in self._watched.values() if not is_over(watched.request))
        return [each.request.metadata.uid for each in open_ones if is_changed or self._is_late(each)]

    def _is_late(self, watched: _TrackedRequest) -> bool:
        return self._clock() - watched.since > watched.request.spec.deadline_seconds + MARGIN

    def _process(self, watched: _TrackedRequest) -> None:
        request = watched.request
        if request.status.phase == FAILED or (request.status.phase == SUCCEEDED and self._is_confirmed(request)):
            if not watched.is_settled:
                self._settle(watched, request.status.reason or "the binder gave no reason")
            self._deletions.add(request)
        elif request.status.phase == SUCCEEDED:
            self._changed[request.metadata.uid] = None
        elif request.status.phase in ("", PENDING):
            self._process_pending(watched)
        elif self._is_late(watched) and not watched.is_reported_late:
            watched.is_reported_late = True
            self._report_on_group(request, "the binder has not finished in time", has_begun=True)

    def _process_pending(self, watched: _TrackedRequest) -> None:
        """Delete a request that has not begun, if the binder should not begin it any more."""
        request = watched.request
        reason = (
            "" if watched.reason else self._precondition_error(request) or (NO_BINDER if self._is_late(watched) else "")
        )
        parts = self._parts_with(watched) if reason else []
        if any(part.request.status.phase not in ("", PENDING) for part in parts):
            return
        for part in parts:
            log.warning("deleting bind request", extra={"request": part.request.key, "reason": reason})
            part.reason = reason
            self._deletions.add(part.request, unchanged=True)
        if reason == NO_BINDER:
            self._report_on_group(request, NO_BINDER, has_begun=False)

    def _parts_with(self, watched: _TrackedRequest) -> list[_TrackedRequest]:
        """Return all parts of a decision: without one of them the others cannot succeed."""
        spec = watched.request.spec
        if spec.parts <= 1:
            return [watched]
        return [each for each in self._watched.values() if each.request.spec.decision == spec.decision]

    def _precondition_error(self, request: BindRequest) -> str:
        """Return why a request cannot succeed any more; empty if it can."""
        nodes = self._cluster.nodes.entries
        for member in request.spec.pods:
            if member.selected_node not in nodes:
                return f"node {member.selected_node} is gone"
        if not any(self._pod(member) for member in request.spec.pods):
            return "all of its pods are gone"
        return ""

    def _is_confirmed(self, request: BindRequest) -> bool:
        """Report whether the watches show that all bound pods have a node or are gone."""
        lost = _lost(request)
        pods = [self._pod(member) for member in request.spec.pods if member.pod_uid not in lost]
        return all(pod is None or pod.spec.node_name for pod in pods)

    def _pod(self, member: BoundPod) -> kube.Pod | None:
        return self._cluster.pods.find(member.pod_uid)

    # -- results ------------------------------------------------------------------------------------------------

    def _settle(self, watched: _TrackedRequest, reason: str) -> None:
        """Report the result of every member, as if this process had bound it."""
        watched.is_settled, request = True, watched.request
        placements = tuple(placement_of(request, member) for member in request.spec.pods)
        commit = Commit(self._job_of(request), placements, request.spec.min_member, 0, request.spec.decision)
        results = {each.uid: self._result_of(request, each, reason) for each in placements}
        failed = {each.pod_uid for each in request.status.pods if each.phase == FAILED}
        for placement in placements:
            if placement.uid in failed:
                self._avoided_nodes.bind_failed(placement.uid, placement.node)
            self._tracker.settled(commit, placement, results[placement.uid])
        self._tracker.finished(commit, results)
        self._late.expect(commit, [each for each in placements if results[each.uid].outcome is not Outcome.DONE])
        self._metrics.request_ended(_RESULTS.get(request.status.phase, "withdrawn"))

    def _result_of(self, request: BindRequest, placement: Placement, reason: str) -> Result:
        """Return the result of a member. A pod on its node is bound in any case; members of a request that was deleted
        are free to be scheduled again.
        """
        pod = self._cluster.pods.find(placement.uid)
        if pod is not None and pod.spec.node_name == placement.node:
            return DONE
        if reason == DELETED:
            return Result(Outcome.DROPPED, DELETED)
        status = {each.pod_uid: each for each in request.status.pods}.get(placement.uid)
        is_lost = status is not None and status.phase in (FAILED, UNWOUND)
        if request.status.phase == SUCCEEDED and not is_lost:
            return DONE
        return Result(Outcome.IMPOSSIBLE, (status.reason if status is not None else "") or reason)

    def _job_of(self, request: BindRequest) -> str:
        records = self._cluster.pods.records
        jobs = (records[each.pod_uid].job for each in request.spec.pods if each.pod_uid in records)
        return next(jobs, f"{request.metadata.namespace}/{request.spec.pod_group}")

    def _report_on_group(self, request: BindRequest, problem: str, *, has_begun: bool) -> None:
        message = f"BindRequest {request.key}: {problem}"
        self._reporting.report_stuck_bind(self._job_of(request), message, has_begun=has_begun)


#: Values of the metric's label `result`.
_RESULTS = {SUCCEEDED: "succeeded", FAILED: "failed"}


def _lost(request: BindRequest) -> Collection[str]:
    """Return the uids of members that were not bound, or were unwound."""
    return {each.pod_uid for each in request.status.pods if each.phase in (FAILED, UNWOUND)}
