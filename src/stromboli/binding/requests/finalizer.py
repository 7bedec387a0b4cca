"""How decisions end: everybody who can be bound is, or it is undone, and that is written before the first eviction."""

from __future__ import annotations

import logging

from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.backoff import AttemptBackoff
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.events import BindEvents
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.preparations import Preparations
from stromboli.binding.requests.progress import GangProgress, bind_of, is_ours, judge
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.rollback import GangRollback
from stromboli.kube.objects.bind_requests import BINDING, BOUND, FAILED, SUCCEEDED, UNWINDING, UNWOUND

TOO_FEW_MEMBERS = "too few others of the gang can be bound"

log = logging.getLogger("stromboli.binding")


class GangFinalizer:
    def __init__(
        self,
        sight: BinderClusterView,
        rooms: AssumedPlacements,
        preparations: Preparations,
        unwinding: GangRollback,
        orphans: OrphanedPreparations,
        pauses: AttemptBackoff,
        reports: Reports,
        announcer: BindEvents,
        metrics: BinderMetrics,
    ) -> None:
        self._view = sight
        self._book: DecisionIndex = sight.book
        self._rooms = rooms
        self._preparations = preparations
        self._rollback = unwinding
        self._orphans = orphans
        self._backoff = pauses
        self._reports = reports
        self._announcer = announcer
        self._metrics = metrics

    async def succeed(self, decision: Decision, progress: GangProgress, attempts: int | None = None) -> float | None:
        """Everybody who can be bound is. For the others, what was prepared is taken back."""
        await self.follow(decision, progress)
        reason = next(iter(progress.impossible.values()), "")
        if progress.impossible and decision.has_begun:
            left = await self._rollback.take_back(decision, progress.impossible)
            if left:
                return await self._retry_later(decision, progress, BINDING, reason, left)
        return await self.end(decision, progress, SUCCEEDED, reason, attempts)

    async def give_up(self, decision: Decision, progress: GangProgress, attempts: int | None = None) -> float | None:
        """The gang cannot reach its minimum any more."""
        reason = next(iter(progress.impossible.values()), TOO_FEW_MEMBERS)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        self._rooms.release(self._rooms.held_by(decision))
        if progress.ours:
            self._announcer.unwinding_started(decision, reason)
            self._metrics.unwound()
            log.warning("a gang cannot be completed and is unwound", extra={"request": decision.key, "why": reason})
            count = decision.failed_attempts if attempts is None else attempts
            await self._reports.write(decision, progress, UNWINDING, count, reason)
            return 0.0
        if decision.has_begun:
            left = await self._rollback.take_back(decision)
            if left:
                return await self._retry_later(decision, progress, UNWINDING, reason, left)
        return await self.end(decision, progress, FAILED, reason, attempts)

    async def unwind(self, decision: Decision) -> float | None:
        progress, reason = judge(decision, self._view), decision.first.status.reason
        left = await self._rollback.unwind(decision)
        if left:
            return await self._retry_later(decision, progress, UNWINDING, reason, left)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        return await self.end(decision, progress, FAILED, reason)

    async def _retry_later(
        self, decision: Decision, progress: GangProgress, phase: str, reason: str, left: dict[str, str]
    ) -> float:
        """Something could not be undone; it is tried again for as long as it takes."""
        attempts = decision.failed_attempts + 1
        pause = self._backoff.after(decision, attempts)
        await self._reports.write(decision, progress, phase, attempts, reason, left)
        return pause

    async def end(
        self, decision: Decision, progress: GangProgress, phase: str, reason: str, attempts: int | None = None
    ) -> float | None:
        count = decision.failed_attempts if attempts is None else attempts
        await self._reports.write(decision, progress, phase, count, reason)
        self._orphans.release(decision)
        self._metrics.request_finished(phase)
        words = {"request": decision.key, "pods": len(progress.placed), "why": reason}
        log.log(logging.INFO if phase == SUCCEEDED else logging.WARNING, "bind request %s", phase.lower(), extra=words)
        return None

    async def rest(self, decision: Decision) -> float | None:
        """Nothing is left to do, but perhaps to tell. A binding that was under way when the gang was given up may have
        been carried out after all: it is taken back like the others.
        """
        self._orphans.release(decision)
        if decision.has_unknown_phase:
            return None
        members = list(decision.members())
        self._reports.tell_again(decision)
        if decision.is_inherited:
            await self._sweep(decision)
        if not decision.has_failed:
            return None
        pods = ((self._view.pod(member.pod_uid), request, member) for request, member in members)
        ours = [pod for pod, request, member in pods if pod is not None and is_ours(pod, request, member)]
        if not any(pod.metadata.deletion_timestamp is None for pod in ours):
            return None
        reason = decision.first.status.reason
        await self._reports.write(decision, judge(decision, self._view), UNWINDING, decision.failed_attempts, reason)
        return 0.0

    async def _sweep(self, decision: Decision) -> None:
        """A predecessor that was deposed may have prepared members after somebody else had given them up."""
        lost = decision.in_phase(FAILED) | decision.in_phase(UNWOUND)
        wanted = {uid for uid in lost for key in self._book.of_pod(uid) if not self._book.decisions[key].is_settled}
        left = await self._rollback.take_back(decision, lost - wanted) if lost - wanted else {}
        decision.is_inherited = bool(left)

    async def follow(self, decision: Decision, progress: GangProgress) -> None:
        """Let the plugins know who is bound: those of whom no earlier pass has said it."""
        said = decision.in_phase(BOUND) | decision.followed
        for request, member in decision.members():
            uid = member.pod_uid
            if uid in progress.ours and uid not in said:
                pod, node = self._view.pod(uid), self._view.node(member.selected_node)
                bind = decision.prepared.get(uid) or bind_of(request, member, pod, node)
                for words in await self._preparations.after(bind):
                    log.warning("after a bind: %s", words, extra={"pod": f"{bind.pod.key}"})
                decision.followed.add(uid)
