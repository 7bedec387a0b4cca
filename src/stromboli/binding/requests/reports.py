"""What is told of a decision: on its pods, as events, and once per pass in the status of its requests."""

from __future__ import annotations

from stromboli.binding.requests.decisions import Decision
from stromboli.binding.requests.events import BindEvents
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.pod_conditions import PodConditions
from stromboli.binding.requests.progress import GangProgress
from stromboli.binding.requests.status import MAX_MEMBER_REASON_LENGTH, RequestStatuses, cut
from stromboli.kube.objects.bind_requests import BINDING, BOUND, FAILED, UNWOUND, BindRequest, BoundPod, MemberStatus


class Reports:
    def __init__(
        self,
        statuses: RequestStatuses,
        conditions: PodConditions,
        announcer: BindEvents,
        metrics: BinderMetrics,
    ) -> None:
        self._statuses = statuses
        self._conditions = conditions
        self._announcer = announcer
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
        """Tell what is new about members, and write once how far all of them have come."""
        problems = problems or {}
        self._tell(decision, {**problems, **self._news(decision, progress.impossible)}, attempts)
        members = _statuses(decision, progress, phase, problems)
        await self._statuses.write(decision, phase, members, attempts=attempts, reason=reason)

    def bound(self, request: BindRequest, member: BoundPod) -> None:
        """This request bound the pod."""
        self._announcer.bound(request, member)
        self._conditions.bound(request.metadata.namespace, member.pod_name, member.pod_uid)

    def tell_again(self, decision: Decision) -> None:
        """A process that died may not have come to say on the pods what became of them."""
        states = {each.pod_uid: each for request in decision.requests for each in request.status.pods}
        for request, member in decision.members():
            state, namespace = states.get(member.pod_uid), request.metadata.namespace
            if state is None:
                continue
            is_bound = decision.has_succeeded and state.phase == BOUND
            if is_bound or (state.phase == FAILED and self._conditions.has_wrong_condition(member.pod_uid)):
                self._conditions.bound(namespace, member.pod_name, member.pod_uid)
            elif state.phase == FAILED and self._conditions.lacks_condition(member.pod_uid):
                words = _failure(member, state.reason)
                self._conditions.failed_to_bind(namespace, member.pod_name, member.pod_uid, words)

    def _news(self, decision: Decision, impossible: dict[str, str]) -> dict[str, str]:
        """Of those that will not be bound, the ones of which nobody was told yet."""
        told = decision.in_phase(FAILED)
        return {uid: words for uid, words in impossible.items() if uid not in told}

    def _tell(self, decision: Decision, problems: dict[str, str], attempt: int) -> None:
        if not problems:
            return
        self._metrics.attempt_failed()
        self._announcer.attempt_failed(decision, problems, attempt)
        for request, member in decision.members():
            if words := problems.get(member.pod_uid):
                namespace, told = request.metadata.namespace, _failure(member, words)
                self._conditions.failed_to_bind(namespace, member.pod_name, member.pod_uid, told)


def _failure(member: BoundPod, words: str) -> str:
    return f"failed to bind to node {member.selected_node}: {words}"


def _statuses(
    decision: Decision, progress: GangProgress, phase: str, problems: dict[str, str]
) -> dict[str, MemberStatus]:
    """How far every member has come, as it is said in the request."""
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
            words = problems.get(uid, "")
            found[uid] = MemberStatus(uid, BINDING, cut(words, MAX_MEMBER_REASON_LENGTH))
    return found
