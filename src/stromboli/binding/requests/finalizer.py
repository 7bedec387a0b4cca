"""Ends decisions: the gang has succeeded, or is undone. The phase Unwinding is written before the first eviction."""

from __future__ import annotations

import logging
from collections.abc import Callable

from stromboli.binding.gangs import GangStep
from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.placements import bound_placement
from stromboli.binding.requests.progress import GangProgress, progress_of, was_bound_by
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.rollback import GangRollback
from stromboli.kube.objects.bind_requests import BINDING, BOUND, FAILED, SUCCEEDED, UNWINDING, UNWOUND
from stromboli.kube.work.retry import RetryPolicy

TOO_FEW_MEMBERS = "too few other members of the gang can be bound"

log = logging.getLogger("stromboli.binding")


class GangFinalizer:
    """`retry` has the delays between failed attempts."""

    def __init__(
        self,
        view: BinderClusterView,
        assumed: AssumedPlacements,
        preparations: Preparations,
        rollback: GangRollback,
        orphans: OrphanedPreparations,
        reports: Reports,
        *,
        retry: RetryPolicy,
        clock: Callable[[], float],
    ) -> None:
        self._view = view
        self._index: DecisionIndex = view.index
        self._assumed = assumed
        self._preparations = preparations
        self._rollback = rollback
        self._orphans = orphans
        self._reports = reports
        self._retry = retry
        self._clock = clock

    def delay_next(self, decision: Decision, attempts: int) -> float:
        """Return the delay before the next attempt, at most until the deadline, unless something has to be undone."""
        delay, now = self._retry.delay(max(attempts - 1, 0)), self._clock()
        if now < decision.deadline and not decision.is_unwinding:
            delay = min(delay, max(decision.deadline - now, self._retry.min_delay))
        decision.not_before = now + delay
        return delay

    async def succeed(self, decision: Decision, progress: GangProgress, attempts: int | None = None) -> float | None:
        """End a decision of which all members are bound that can be; preparations of the others are rolled back."""
        await self.after_binds(decision, progress)
        reason = next(iter(progress.impossible.values()), "")
        if progress.impossible and decision.has_begun:
            left = await self._rollback.roll_back(decision, progress.impossible)
            if left:
                return await self._retry_later(decision, progress, BINDING, reason, left)
        return await self.end(decision, progress, SUCCEEDED, reason, attempts)

    async def give_up(self, decision: Decision, progress: GangProgress, attempts: int | None = None) -> float | None:
        """End a decision that cannot reach its minimum."""
        reason = next(iter(progress.impossible.values()), TOO_FEW_MEMBERS)
        step = progress.next_step(decision.needed)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        self._assumed.release(self._assumed.held_by(decision))
        if step is GangStep.UNWIND:
            self._reports.unwinding_started(decision, reason)
            log.warning("gang cannot be completed; unwinding", extra={"request": decision.key, "reason": reason})
            count = decision.failed_attempts if attempts is None else attempts
            await self._reports.write(decision, progress, UNWINDING, count, reason)
            return 0.0
        if decision.has_begun:
            left = await self._rollback.roll_back(decision)
            if left:
                return await self._retry_later(decision, progress, UNWINDING, reason, left)
        return await self.end(decision, progress, FAILED, reason, attempts)

    async def unwind(self, decision: Decision) -> float | None:
        """Continue to undo a decision."""
        progress, reason = progress_of(decision, self._view), decision.first.status.reason
        left = await self._rollback.unwind(decision)
        if left:
            return await self._retry_later(decision, progress, UNWINDING, reason, left)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        return await self.end(decision, progress, FAILED, reason)

    async def _retry_later(
        self, decision: Decision, progress: GangProgress, phase: str, reason: str, left: dict[str, str]
    ) -> float:
        """Retry what could not be undone, indefinitely."""
        attempts = decision.failed_attempts + 1
        delay = self.delay_next(decision, attempts)
        await self._reports.write(decision, progress, phase, attempts, reason, left)
        return delay

    async def end(
        self, decision: Decision, progress: GangProgress, phase: str, reason: str, attempts: int | None = None
    ) -> float | None:
        count = decision.failed_attempts if attempts is None else attempts
        await self._reports.write(decision, progress, phase, count, reason)
        self._orphans.release(decision)
        self._reports.request_finished(phase)
        facts = {"request": decision.key, "phase": phase, "pods": len(progress.placed), "reason": reason}
        log.log(logging.INFO if phase == SUCCEEDED else logging.WARNING, "bind request finished", extra=facts)
        return None

    async def revisit(self, decision: Decision) -> float | None:
        """Recheck a decision that has ended: conditions may be missing, and a bind that was in flight when the gang was
        given up may have succeeded; it is unwound like the others.
        """
        self._orphans.release(decision)
        if decision.has_unknown_phase:
            return None
        members = list(decision.members())
        self._reports.repeat(decision)
        if decision.is_inherited:
            await self._sweep(decision)
        if not decision.has_ended_as(FAILED):
            return None
        pods = ((self._view.pod(member.pod_uid), request, member) for request, member in members)
        bound = [pod for pod, request, member in pods if pod is not None and was_bound_by(pod, request, member)]
        if not any(pod.metadata.deletion_timestamp is None for pod in bound):
            return None
        progress, reason = progress_of(decision, self._view), decision.first.status.reason
        await self._reports.write(decision, progress, UNWINDING, decision.failed_attempts, reason)
        return 0.0

    async def _sweep(self, decision: Decision) -> None:
        """Roll back what a former leader may have prepared for members after its successor had given them up."""
        lost = decision.in_phase(FAILED) | decision.in_phase(UNWOUND)
        index = self._index
        needed = {uid for uid in lost for key in index.of_pod(uid) if not index.decisions[key].is_settled}
        left = await self._rollback.roll_back(decision, lost - needed) if lost - needed else {}
        decision.is_inherited = bool(left)

    async def after_binds(self, decision: Decision, progress: GangProgress) -> None:
        """Run `post_bind` for bound members, unless an earlier run did."""
        done = decision.in_phase(BOUND) | decision.followed
        for request, member in decision.members():
            uid = member.pod_uid
            if uid in progress.bound_here and uid not in done:
                await self._preparations.after_bind(decision.prepared.get(uid) or bound_placement(request, member))
                decision.followed.add(uid)
