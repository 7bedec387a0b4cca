"""The gang reconciler: each run reads what a decision names, does what is possible now, and writes one status.

Nothing is kept in memory that the objects do not show, except what the watches have yet to report. So it does not
matter at which write an earlier run ended, or in which process.

`binding.gangs` decides whether the gang is rolled forward, waits, or is undone. Members that cannot be bound now make
the attempt fail; the next one follows after a delay that doubles. When the attempts or the time are used up, or too
many members can never be bound, the gang is undone (`finalizer`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stromboli.binding.gangs import GangStep
from stromboli.binding.orders import Outcome, Result
from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.pod_binding import ParallelBinds
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import Decision, DecisionIndex
from stromboli.binding.requests.finalizer import TOO_FEW_MEMBERS, GangFinalizer
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.binding.requests.placements import BOUND_BY
from stromboli.binding.requests.progress import GangProgress, precondition_error_of, progress_of
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.status import StatusConflict
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.bind_requests import BINDING, FAILED

#: Attempts to find capacity on the chosen nodes: enough for watches that lag; the scheduler can choose other nodes.
MAX_ATTEMPTS_WITHOUT_CAPACITY = 3
#: Seconds until a request that another writer has changed is reconciled again.
CONFLICT_DELAY = 0.05
REQUEST_GONE = "the bind request is gone"


class GangReconciler:
    """`epoch` returns the term of this binder; `notify` schedules another run for a decision."""

    def __init__(
        self,
        view: BinderClusterView,
        assumed: AssumedPlacements,
        lookup: OutcomeLookup,
        preparations: Preparations,
        binds: ParallelBinds,
        finalizer: GangFinalizer,
        orphans: OrphanedPreparations,
        reports: Reports,
        *,
        epoch: Callable[[], int],
        notify: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._view = view
        self._index: DecisionIndex = view.index
        self._assumed = assumed
        self._lookup = lookup
        self._preparations = preparations
        self._binds = binds
        self._finalizer = finalizer
        self._orphans = orphans
        self._reports = reports
        self._epoch = epoch
        self._notify = notify
        self._clock = clock

    async def reconcile(self, key: str) -> float | None:
        """Return the seconds until the next run; None when it has to wait for an event."""
        decision = self._index.decisions.get(key)
        if decision is None:
            return None
        decision.is_processing = True
        try:
            return await self._reconcile(decision)
        except StatusConflict:
            return CONFLICT_DELAY
        finally:
            decision.is_processing = False
            if self._index.decisions.get(key) is not decision:
                self._orphans.forget(decision)

    def precondition_error(self, placement: Placement) -> str:
        """Return what has made a bind impossible since its preparation started; empty if nothing."""
        if self._index.preparing(placement) is None:
            return REQUEST_GONE
        return precondition_error_of(placement, self._view)

    async def _reconcile(self, decision: Decision) -> float | None:
        if decision.is_settled:
            return await self._finalizer.revisit(decision)
        if 0 < self._epoch() < self._index.latest_term:
            return None  # a binder of a later term is at work; this one writes nothing more
        now = self._clock()
        if decision.preparing is not None:
            return self._enforce_deadline(decision, now)
        if decision.not_before > now:
            return decision.not_before - now
        if not (decision.is_complete or decision.has_begun):
            return await self._await_parts(decision, now)
        await self._lookup.resolve(decision)
        if decision.is_unwinding:
            return await self._finalizer.unwind(decision)
        return await self._advance(decision, progress_of(decision, self._view))

    async def _advance(self, decision: Decision, progress: GangProgress) -> float | None:
        if decision.refusal and not progress.bound_here:
            progress.give_up(dict.fromkeys(progress.open, decision.refusal))
            return await self._finalizer.end(decision, progress, FAILED, decision.refusal)
        if self._clock() >= decision.deadline:
            progress.give_up(dict.fromkeys(progress.open, f"not bound within {decision.seconds} seconds"))
        step = progress.next_step(decision.needed)
        if step in (GangStep.UNWIND, GangStep.FAIL):
            return await self._finalizer.give_up(decision, progress)
        if step is GangStep.COMPLETE:
            return await self._finalizer.succeed(decision, progress)
        problems, limit = self._problems_now(decision, progress)
        ready = [placement for uid, placement in progress.open.items() if uid not in problems]
        if progress.next_step(decision.needed, len(ready)) is GangStep.WAIT:
            if not progress.bound_here:
                self._assumed.release(self._assumed.held_by(decision))  # capacity that is unusable now blocks others
            return await self._conclude(decision, progress, problems, limit)
        if await self._start_preparation(decision, progress, ready):
            return None
        problems |= await self._bind(decision, ready)
        return await self._conclude(decision, progress_of(decision, self._view), problems, limit)

    def _problems_now(self, decision: Decision, progress: GangProgress) -> tuple[dict[str, str], int]:
        """Return by uid why members cannot be bound now, and how many attempts may fail for such reasons."""
        limit = decision.first.spec.backoff_limit
        problems = {uid: each.message for uid, each in decision.problems.items() if uid in progress.open}
        decision.problems.clear()
        remaining = {uid: placement for uid, placement in progress.open.items() if uid not in problems}
        problems |= {uid: error for uid, each in remaining.items() if (error := self._assumed.node_error(each))}
        fitting = [placement for uid, placement in remaining.items() if uid not in problems]
        without_capacity = self._assumed.reserve(decision, fitting)
        if without_capacity and not problems and not progress.bound_here:
            limit = min(limit, MAX_ATTEMPTS_WITHOUT_CAPACITY)
        return {**problems, **without_capacity}, limit

    # -- preparation --------------------------------------------------------------------------------------------

    async def _start_preparation(self, decision: Decision, progress: GangProgress, ready: list[Placement]) -> bool:
        """Report whether members have to be prepared first. The phase Binding is written before anything else."""
        unprepared = [
            each for each in ready if each.uid not in decision.prepared and self._preparations.applies_to(each)
        ]
        if not unprepared:
            return False
        reason = decision.first.status.reason
        await self._reports.write(decision, progress, BINDING, decision.failed_attempts, reason)
        decision.begun |= {each.uid: each for each in unprepared}
        decision.preparing = asyncio.create_task(self._prepare(decision, unprepared))
        self._notify(decision.key)  # to enforce the deadline
        return True

    async def _prepare(self, decision: Decision, placements: list[Placement]) -> None:
        try:
            await self._orphans.rollback_finished(each.uid for each in placements)
            problems = await self._preparations.prepare(placements)
            decision.problems |= problems
            decision.prepared |= {each.uid: each for each in placements if each.uid not in problems}
        finally:
            decision.preparing = None
            self._notify(decision.key)

    def _enforce_deadline(self, decision: Decision, now: float) -> float | None:
        """Cancel a preparation at the deadline, for plugins without timeouts of their own."""
        if now < decision.deadline:
            return decision.deadline - now
        if decision.preparing is not None:
            decision.preparing.cancel()
        return None

    # -- binds --------------------------------------------------------------------------------------------------

    async def _bind(self, decision: Decision, ready: list[Placement]) -> dict[str, str]:
        """Bind members. Returns problems by uid, after unknown outcomes were resolved."""
        placements = [decision.prepared.get(each.uid, each) for each in ready]
        began = self._clock()
        results = await self._binds.bind(placements, lambda placement: self._bind_error(decision, placement))
        seconds = self._clock() - began
        for placement in placements:
            self._settle(decision, placement, results[placement.uid], seconds)
        await self._lookup.resolve(decision)
        for placement in placements:
            self._report_found(placement, results[placement.uid])
        return {uid: result.problem for uid, result in results.items() if result.outcome is not Outcome.DONE}

    def _bind_error(self, decision: Decision, placement: Placement) -> str:
        if not self._index.has(decision, placement.uid):
            return REQUEST_GONE
        return precondition_error_of(placement, self._view)

    def _settle(self, decision: Decision, placement: Placement, result: Result, seconds: float) -> None:
        self._reports.bind_finished(result.outcome, seconds)
        if result.outcome is not Outcome.DONE:
            decision.unknown.add(placement.uid)
            return
        self._assumed.settle((placement.uid,))
        if result.is_found:
            decision.unknown.add(placement.uid)  # the pod's annotation shows which request bound it
            return
        decision.bound.add(placement.uid)
        self._reports.bound(placement)

    def _report_found(self, placement: Placement, result: Result) -> None:
        """Report a pod that had its node already, if an earlier attempt of this request bound it."""
        pod = self._view.pod(placement.uid) if result.is_found else None
        if pod is None or pod.spec.node_name != placement.node:
            return
        if (pod.metadata.annotations or {}).get(BOUND_BY) == placement.annotations[BOUND_BY]:
            self._reports.bound(placement)

    async def _conclude(
        self, decision: Decision, progress: GangProgress, problems: dict[str, str], limit: int
    ) -> float | None:
        """End an attempt."""
        problems = {uid: problem for uid, problem in problems.items() if uid in progress.open}
        attempts = decision.failed_attempts + bool(problems)
        if problems and attempts >= limit:
            progress.give_up(problems)
            # members without a problem were not bound either, because too few were left
            progress.give_up(dict.fromkeys(progress.open, TOO_FEW_MEMBERS))
        step = progress.next_step(decision.needed)
        if step in (GangStep.UNWIND, GangStep.FAIL):
            return await self._finalizer.give_up(decision, progress, attempts)
        if step is GangStep.COMPLETE:
            return await self._finalizer.succeed(decision, progress, attempts)
        await self._finalizer.after_binds(decision, progress)
        delay = self._finalizer.delay_next(decision, attempts)
        await self._reports.write(decision, progress, BINDING, attempts, next(iter(problems.values()), ""), problems)
        return delay

    async def _await_parts(self, decision: Decision, now: float) -> float | None:
        if now < decision.deadline:
            return decision.deadline - now
        missing = decision.first.spec.parts - len(decision.parts)
        reason = f"{missing} of {decision.first.spec.parts} parts of the decision are missing"
        progress = progress_of(decision, self._view)
        progress.give_up(dict.fromkeys(progress.open, reason))
        return await self._finalizer.end(decision, progress, FAILED, reason)
