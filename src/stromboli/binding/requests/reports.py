"""Reports about a decision: conditions and events on its pods, and one status write of its requests per run."""

from __future__ import annotations

from stromboli.binding.orders import Outcome
from stromboli.binding.requests.decisions import Decision
from stromboli.binding.requests.events import BindEvents
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.pod_conditions import PodConditions
from stromboli.binding.requests.progress import GangProgress
from stromboli.binding.requests.status import MAX_MEMBER_REASON_LENGTH, RequestStatuses, cut
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import (
    BINDING,
    BOUND,
    FAILED,
    SUCCEEDED,
    UNWOUND,
    BindRequest,
    BoundPod,
    MemberStatus,
)


class Reports:
    def __init__(
        self, statuses: RequestStatuses, conditions: PodConditions, events: BindEvents, metrics: BinderMetrics
    ) -> None:
        self._statuses = statuses
        self._conditions = conditions
        self._events = events
        self._metrics = metrics

    async def write(
        self,
        decision: Decision,
        progress: GangProgress,
        phase: str,
        attempts: int,
        reason: str,
        problems: dict[str, str] | None = None,
    ) -> None:
        """Report new problems of members, and write the progress of all of them once."""
        problems = problems or {}
        reported = decision.in_phase(FAILED)
        new = {uid: message for uid, message in progress.impossible.items() if uid not in reported}
        self._report_problems(decision, {**problems, **new}, attempts)
        members = _statuses(decision, progress, phase, problems)
        await self._statuses.write(decision, phase, members, attempts=attempts, reason=reason)

    def bind_finished(self, outcome: Outcome, seconds: float) -> None:
        self._metrics.bind_finished(outcome, seconds)

    def bound(self, placement: Placement) -> None:
        """Report that this binder bound the pod."""
        self._events.bound(placement)
        self._conditions.enqueue(placement.key, placement.uid)

    def unwinding_started(self, decision: Decision, reason: str) -> None:
        self._events.unwinding_started(decision, reason)
        self._metrics.unwound()

    def eviction_finished(self, request: BindRequest, member: BoundPod, outcome: Outcome) -> None:
        self._metrics.eviction_finished(outcome)
        if outcome is Outcome.DONE:
            self._events.evicted(request, member, request.status.reason)

    def request_finished(self, phase: str) -> None:
        self._metrics.request_finished(phase)

    def repeat(self, decision: Decision) -> None:
        """Write the conditions again that a process may not have written before it died."""
        states = {each.pod_uid: each for request in decision.requests for each in request.status.pods}
        for request, member in decision.members():
            state, uid, key = states.get(member.pod_uid), member.pod_uid, _key(request, member)
            if state is None:
                continue
            is_bound = decision.has_ended_as(SUCCEEDED) and state.phase == BOUND
            if is_bound or (state.phase == FAILED and self._conditions.has_wrong_condition(uid)):
                self._conditions.enqueue(key, uid)
            elif state.phase == FAILED and self._conditions.lacks_condition(uid):
                self._conditions.enqueue(key, uid, _failure(member, state.reason))

    def _report_problems(self, decision: Decision, problems: dict[str, str], attempt: int) -> None:
        if not problems:
            return
        self._metrics.attempt_failed()
        self._events.attempt_failed(decision, problems, attempt)
        for request, member in decision.members():
            if problem := problems.get(member.pod_uid):
                self._conditions.enqueue(_key(request, member), member.pod_uid, _failure(member, problem))


def _key(request: BindRequest, member: BoundPod) -> str:
    return f"{request.metadata.namespace}/{member.pod_name}"


def _failure(member: BoundPod, problem: str) -> str:
    return f"failed to bind to node {member.selected_node}: {problem}"


def _statuses(
    decision: Decision, progress: GangProgress, phase: str, problems: dict[str, str]
) -> dict[str, MemberStatus]:
    """Return the status of every member."""
    before = {each.pod_uid: each for request in decision.requests for each in request.status.pods}
    found: dict[str, MemberStatus] = {}
    for _, member in decision.members():
        uid, known = member.pod_uid, before.get(member.pod_uid)
        if phase == FAILED and known is not None and known.phase in (BOUND, UNWOUND) and not known.reason:
            found[uid] = MemberStatus(uid, UNWOUND)
        elif uid in progress.placed:
            found[uid] = MemberStatus(uid, BOUND, cut(progress.placed[uid], MAX_MEMBER_REASON_LENGTH))
        elif uid in progress.impossible:
            found[uid] = MemberStatus(uid, FAILED, cut(progress.impossible[uid], MAX_MEMBER_REASON_LENGTH))
        else:
            found[uid] = MemberStatus(uid, BINDING, cut(problems.get(uid, ""), MAX_MEMBER_REASON_LENGTH))
    return found
