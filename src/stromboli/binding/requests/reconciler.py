"""A pass over one decision: look at everything that it names, do what can be done now, and write once how far it came.

Nothing is remembered that the objects do not say, except what the watches have yet to show. So it does not matter at
which write an earlier pass ended, or in which process.

A decision is rolled forward as long as it can reach its minimum. Members that cannot be bound now make the attempt a
failed one: the next comes after a pause that doubles. When the attempts or the time are used up, or too many members
have become impossible, it is undone (`ends`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from stromboli.binding.orders import Outcome, Result
from stromboli.binding.plugins.plugin import Bind
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.backoff import AttemptBackoff
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.finalizer import TOO_FEW_MEMBERS, GangFinalizer
from stromboli.binding.requests.member_orders import order_of
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.binding.requests.parallel_binds import ParallelBinds
from stromboli.binding.requests.preparations import Preparations
from stromboli.binding.requests.progress import GangProgress, is_ours, judge
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.status import StatusConflict
from stromboli.kube.objects.bind_requests import BINDING, FAILED

#: So many attempts are made to find room on the chosen nodes: enough for watches that lag, as who chose can choose
#: again.
MAX_ATTEMPTS_WITHOUT_CAPACITY = 3
#: How soon a request is looked at again that somebody else has written to, in seconds.
LOOK_AGAIN = 0.05


class GangReconciler:
    """`wake` has a decision looked at again."""

    def __init__(
        self,
        sight: BinderClusterView,
        rooms: AssumedPlacements,
        lookup: OutcomeLookup,
        preparations: Preparations,
        parallel_binds: ParallelBinds,
        ends: GangFinalizer,
        orphans: OrphanedPreparations,
        pauses: AttemptBackoff,
        reports: Reports,
        metrics: BinderMetrics,
        *,
        epoch: Callable[[], int],
        wake: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._view = sight
        self._book: DecisionIndex = sight.book
        self._rooms = rooms
        self._lookup = lookup
        self._preparations = preparations
        self._parallel_binds = parallel_binds
        self._ends = ends
        self._orphans = orphans
        self._backoff = pauses
        self._reports = reports
        self._metrics = metrics
        self._epoch = epoch
        self._wake = wake
        self._clock = clock

    async def look(self, key: str) -> float | None:
        """Answers after how many seconds to look again; None when something has to happen first."""
        decision = self._book.decisions.get(key)
        if decision is None:
            return None
        decision.is_processing = True
        try:
            return await self._look(decision)
        except StatusConflict:
            return LOOK_AGAIN
        finally:
            decision.is_processing = False
            if self._book.decisions.get(key) is not decision:
                self._orphans.forget(decision)

    async def _look(self, decision: Decision) -> float | None:
        if decision.is_settled:
            return await self._ends.rest(decision)
        if self._is_superseded():
            return None
        now = self._clock()
        if decision.preparing is not None:
            return self._enforce_deadline(decision, now)
        if decision.not_before > now:
            return decision.not_before - now
        if not (decision.is_complete or decision.has_begun):
            return await self._await_parts(decision, now)
        await self._lookup.resolve(decision)
        if decision.is_unwinding:
            return await self._ends.unwind(decision)
        return await self._carry_out(decision, judge(decision, self._view))

    def _is_superseded(self) -> bool:
        """Whether a binder of a later term is at work; then this one has nothing to say any more."""
        term = self._epoch()
        return 0 < term < self._book.latest_term

    async def _carry_out(self, decision: Decision, progress: GangProgress) -> float | None:
        if decision.refusal and not progress.ours:
            progress.give_up(dict.fromkeys(progress.open, decision.refusal))
            return await self._ends.end(decision, progress, FAILED, decision.refusal)
        if self._clock() >= decision.deadline:
            late = f"not bound within {decision.seconds} seconds"
            progress.give_up(dict.fromkeys(progress.open, late))
        if not progress.can_reach(decision.needed):
            return await self._ends.give_up(decision, progress)
        if not progress.open:
            return await self._ends.succeed(decision, progress)
        problems, limit = self._problems_now(decision, progress)
        ready = [bind for uid, bind in progress.open.items() if uid not in problems]
        if len(progress.placed) + len(ready) < decision.needed:
            if not progress.ours:
                self._rooms.release(self._rooms.held_by(decision))  # what nobody can use yet is in nobody's way
            return await self._conclude(decision, progress, problems, limit)
        if await self._start_preparation(decision, progress, ready):
            return None
        problems |= await self._bind(decision, ready)
        return await self._conclude(decision, judge(decision, self._view), problems, limit)

    def _problems_now(self, decision: Decision, progress: GangProgress) -> tuple[dict[str, str], int]:
        """Who cannot be bound just now, and why; and how many attempts may fail for such reasons."""
        limit = decision.first.spec.backoff_limit
        problems = {uid: each.words for uid, each in decision.problems.items() if uid in progress.open}
        decision.problems.clear()
        orders = {uid: order_of(bind) for uid, bind in progress.open.items() if uid not in problems}
        problems |= {uid: words for uid, order in orders.items() if (words := self._rooms.closed(order))}
        without_capacity = self._rooms.reserve(decision, [each for uid, each in orders.items() if uid not in problems])
        if without_capacity and not problems and not progress.ours:
            limit = min(limit, MAX_ATTEMPTS_WITHOUT_CAPACITY)
        return {**problems, **without_capacity}, limit

    async def _start_preparation(self, decision: Decision, progress: GangProgress, ready: list[Bind]) -> bool:
        """Whether members have to be made ready first. That it has begun is written before anything is."""
        unprepared = [
            bind
            for bind in ready
            if bind.member.pod_uid not in decision.prepared and self._preparations.applies_to(bind)
        ]
        if not unprepared:
            return False
        attempts = decision.failed_attempts
        await self._reports.write(decision, progress, BINDING, attempts, decision.first.status.reason)
        decision.begun |= {bind.member.pod_uid: bind for bind in unprepared}
        decision.preparing = asyncio.create_task(self._prepare(decision, unprepared))
        self._wake(decision.key)  # to be watched over
        return True

    async def _prepare(self, decision: Decision, binds: list[Bind]) -> None:
        try:
            await self._orphans.rollback_finished(bind.member.pod_uid for bind in binds)
            problems = await self._preparations.prepare(binds)
            decision.problems |= problems
            prepared = {bind.member.pod_uid: bind for bind in binds if bind.member.pod_uid not in problems}
            decision.prepared |= prepared
        finally:
            decision.preparing = None
            self._wake(decision.key)

    def _enforce_deadline(self, decision: Decision, now: float) -> float | None:
        """Preparations know their own limits; a plugin that forgets them is stopped."""
        if now < decision.deadline:
            return decision.deadline - now
        if decision.preparing is not None:
            decision.preparing.cancel()
        return None

    async def _bind(self, decision: Decision, ready: list[Bind]) -> dict[str, str]:
        """Bind them; by uid, what went wrong. What is not certain is found out before anything is concluded."""
        binds = [decision.prepared.get(bind.member.pod_uid, bind) for bind in ready]
        began = self._clock()
        results = await self._parallel_binds.place(binds)
        seconds = self._clock() - began
        for bind in binds:
            self._settle(decision, bind, results[bind.member.pod_uid], seconds)
        await self._lookup.resolve(decision)
        for bind in binds:
            self._own(bind, results[bind.member.pod_uid])
        return {uid: result.problem for uid, result in results.items() if result.outcome is not Outcome.DONE}

    def _settle(self, decision: Decision, bind: Bind, result: Result, seconds: float) -> None:
        uid = bind.member.pod_uid
        self._metrics.bind_finished(result.outcome, seconds)
        if result.outcome is not Outcome.DONE:
            decision.unknown.add(uid)
            return
        self._rooms.settle((uid,))
        if result.is_found:
            decision.unknown.add(uid)  # the pod itself says who bound it
            return
        decision.bound.add(uid)
        self._reports.bound(bind.request, bind.member)

    def _own(self, bind: Bind, result: Result) -> None:
        """Who was found bound was bound by an earlier attempt of ours, or by somebody else who tells it."""
        pod = self._view.pod(bind.member.pod_uid) if result.is_found else None
        if pod is not None and is_ours(pod, bind.request, bind.member):
            self._reports.bound(bind.request, bind.member)

    async def _conclude(
        self, decision: Decision, progress: GangProgress, problems: dict[str, str], limit: int
    ) -> float | None:
        """An attempt is over."""
        problems = {uid: words for uid, words in problems.items() if uid in progress.open}
        attempts = decision.failed_attempts + bool(problems)
        if problems and attempts >= limit:
            progress.give_up(problems)
            # who did not fail was not bound either, because too few were left
            progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        if not progress.can_reach(decision.needed):
            return await self._ends.give_up(decision, progress, attempts)
        if not progress.open:
            return await self._ends.succeed(decision, progress, attempts)
        await self._ends.follow(decision, progress)
        pause = self._backoff.after(decision, attempts)
        await self._reports.write(decision, progress, BINDING, attempts, next(iter(problems.values()), ""), problems)
        return pause

    async def _await_parts(self, decision: Decision, now: float) -> float | None:
        if now < decision.deadline:
            return decision.deadline - now
        missing = decision.first.spec.parts - len(decision.parts)
        reason = f"{missing} of {decision.first.spec.parts} parts of the decision did not come"
        progress = judge(decision, self._view)
        progress.give_up(dict.fromkeys(progress.open, reason))
        return await self._ends.end(decision, progress, FAILED, reason)
