"""A pass over one decision: look at everything that it names, do what can be done now, and write once how far it came.

Nothing is remembered that the objects do not say, except what the watches have yet to show. So it does not matter at
which write an earlier pass ended, or in which process.

A decision is rolled forward as long as it can reach its minimum. Members that cannot be bound now make the attempt a
failed one: the next comes after a pause that doubles. When the attempts or the time are used up, or too many members
have become impossible, it is undone (`unwinding`), and that is written before the first eviction.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from stromboli.binder.ordering import order_of
from stromboli.binder.orders import Outcome, Result
from stromboli.binder.plugin import Bind
from stromboli.binder.requests.announcing import BindAnnouncer
from stromboli.binder.requests.book import Decision, RequestBook
from stromboli.binder.requests.inquiry import Inquiry
from stromboli.binder.requests.judging import Progress, bind_of, is_ours, judge
from stromboli.binder.requests.metrics import BinderMetrics
from stromboli.binder.requests.options import BinderOptions
from stromboli.binder.requests.placing import Placing
from stromboli.binder.requests.pod_conditions import PodConditions
from stromboli.binder.requests.preparing import Preparations
from stromboli.binder.requests.rooms import Rooms
from stromboli.binder.requests.sight import BinderSight
from stromboli.binder.requests.status import LONGEST_MEMBER_REASON, Outrun, RequestStatuses, cut
from stromboli.binder.requests.unwinding import Unwinding
from stromboli.kube.objects.bind_requests import (
    BINDING,
    BOUND,
    FAILED,
    SUCCEEDED,
    UNWINDING,
    UNWOUND,
    BoundPod,
    MemberStatus,
)

#: So many attempts are made to find room on the chosen nodes: enough for watches that lag, as who chose can choose
#: again.
ATTEMPTS_WITHOUT_ROOM = 3
#: How soon a request is looked at again that somebody else has written to, in seconds.
LOOK_AGAIN = 0.05
TOO_FEW = "too few others of the gang can be bound"

log = logging.getLogger("stromboli.binder")


class Passes:
    """`wake` has a decision looked at again."""

    def __init__(
        self,
        sight: BinderSight,
        rooms: Rooms,
        inquiry: Inquiry,
        preparations: Preparations,
        placing: Placing,
        unwinding: Unwinding,
        statuses: RequestStatuses,
        conditions: PodConditions,
        announcer: BindAnnouncer,
        metrics: BinderMetrics,
        options: BinderOptions,
        *,
        epoch: Callable[[], int],
        wake: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sight = sight
        self._book: RequestBook = sight.book
        self._rooms = rooms
        self._inquiry = inquiry
        self._preparations = preparations
        self._placing = placing
        self._unwinding = unwinding
        self._statuses = statuses
        self._conditions = conditions
        self._announcer = announcer
        self._metrics = metrics
        self._options = options
        self._epoch = epoch
        self._wake = wake
        self._clock = clock
        self._background: set[asyncio.Task[None]] = set()

    async def look(self, key: str) -> float | None:
        """Answers after how many seconds to look again; None when something has to happen first."""
        decision = self._book.decisions.get(key)
        if decision is None:
            return None
        try:
            return await self._look(decision)
        except Outrun:
            return LOOK_AGAIN
        finally:
            if self._book.decisions.get(key) is not decision:
                self.forget(decision)

    async def _look(self, decision: Decision) -> float | None:
        if decision.is_settled:
            return await self._rest(decision)
        if self._is_superseded():
            return None
        now = self._clock()
        if decision.preparing is not None:
            return self._watch_over(decision, now)
        if decision.not_before > now:
            return decision.not_before - now
        if not decision.is_complete:
            return await self._await_parts(decision, now)
        await self._inquiry.find_out(decision)
        if decision.is_unwinding:
            return await self._unwind(decision)
        return await self._carry_out(decision, judge(decision, self._sight))

    def _is_superseded(self) -> bool:
        """Whether a binder of a later term is at work; then this one has nothing to say any more."""
        term = self._epoch()
        return 0 < term < self._book.latest_term

    # -- rolling forward ----------------------------------------------------------------------------------------

    async def _carry_out(self, decision: Decision, progress: Progress) -> float | None:
        if decision.refusal and not progress.ours:
            progress.give_up(dict.fromkeys(progress.open, decision.refusal))
            return await self._end(decision, progress, FAILED, decision.refusal)
        if self._clock() >= decision.deadline:
            late = f"not bound within {decision.seconds} seconds"
            progress.give_up(dict.fromkeys(progress.open, late))
        if not progress.can_reach(decision.needed):
            return await self._give_up(decision, progress)
        if not progress.open:
            return await self._succeed(decision, progress)
        problems, limit = self._hindrances(decision, progress)
        ready = [bind for uid, bind in progress.open.items() if uid not in problems]
        if len(progress.placed) + len(ready) < decision.needed:
            if not progress.ours:
                self._rooms.release(progress.open)  # what nobody can use yet is in nobody's way
            return await self._conclude(decision, progress, problems, limit)
        if await self._begin_to_prepare(decision, progress, ready):
            return None
        problems |= await self._bind(decision, ready)
        return await self._conclude(decision, judge(decision, self._sight), problems, limit)

    def _hindrances(self, decision: Decision, progress: Progress) -> tuple[dict[str, str], int]:
        """Who cannot be bound just now, and why; and how many attempts may fail for such reasons."""
        limit = decision.first.spec.backoff_limit
        problems = {uid: each.words for uid, each in decision.problems.items() if uid in progress.open}
        decision.problems.clear()
        orders = {uid: order_of(bind) for uid, bind in progress.open.items() if uid not in problems}
        problems |= {uid: words for uid, order in orders.items() if (words := self._rooms.closed(order))}
        without_room = self._rooms.reserve(decision.key, [each for uid, each in orders.items() if uid not in problems])
        if without_room and not problems and not progress.ours:
            limit = min(limit, ATTEMPTS_WITHOUT_ROOM)
        return {**problems, **without_room}, limit

    async def _begin_to_prepare(self, decision: Decision, progress: Progress, ready: list[Bind]) -> bool:
        """Whether members have to be made ready first. That it has begun is written before anything is."""
        unprepared = [
            bind for bind in ready if bind.member.pod_uid not in decision.prepared and self._preparations.concerns(bind)
        ]
        if not unprepared:
            return False
        attempts = decision.failed_attempts
        await self._write(decision, progress, BINDING, attempts, decision.first.status.reason)
        decision.begun |= {bind.member.pod_uid: bind for bind in unprepared}
        decision.preparing = asyncio.create_task(self._prepare(decision, unprepared))
        self._wake(decision.key)  # to be watched over
        return True

    async def _prepare(self, decision: Decision, binds: list[Bind]) -> None:
        try:
            problems = await self._preparations.prepare(binds)
            decision.problems |= problems
            prepared = {bind.member.pod_uid: bind for bind in binds if bind.member.pod_uid not in problems}
            decision.prepared |= prepared
        finally:
            decision.preparing = None
            self._wake(decision.key)

    def _watch_over(self, decision: Decision, now: float) -> float | None:
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
        results = await self._placing.place(binds)
        seconds = self._clock() - began
        for bind in binds:
            self._settle(decision, bind, results[bind.member.pod_uid], seconds)
        await self._inquiry.find_out(decision)
        return {uid: result.problem for uid, result in results.items() if result.outcome is not Outcome.DONE}

    def _settle(self, decision: Decision, bind: Bind, result: Result, seconds: float) -> None:
        uid, request, member = bind.member.pod_uid, bind.request, bind.member
        self._metrics.bind_finished(result.outcome, seconds)
        if result.outcome is not Outcome.DONE:
            decision.unknown.add(uid)
            return
        decision.bound.add(uid)
        self._rooms.settle((uid,))
        self._announcer.bound(request, member)
        self._conditions.bound(request.metadata.namespace, member.pod_name, uid)

    async def _conclude(
        self, decision: Decision, progress: Progress, problems: dict[str, str], limit: int
    ) -> float | None:
        """An attempt is over."""
        problems = {uid: words for uid, words in problems.items() if uid in progress.open}
        attempts = decision.failed_attempts + bool(problems)
        if problems and attempts >= limit:
            progress.give_up(problems)
            # who did not fail was not bound either, because too few were left
            progress.give_up(dict.fromkeys(progress.open, TOO_FEW))
        if not progress.can_reach(decision.needed):
            return await self._give_up(decision, progress, attempts)
        if not progress.open:
            return await self._succeed(decision, progress, attempts)
        await self._follow(decision, progress)
        pause = self._pause(decision, attempts)
        await self._write(decision, progress, BINDING, attempts, next(iter(problems.values()), ""), problems)
        return pause

    def _pause(self, decision: Decision, attempts: int) -> float:
        options = self._options
        pause = min(options.shortest_pause * 2.0 ** min(max(attempts - 1, 0), 30), options.longest_pause)
        now = self._clock()
        if now < decision.deadline and not decision.is_unwinding:
            pause = min(pause, max(decision.deadline - now, options.shortest_pause))
        decision.not_before = now + pause
        return pause

    async def _await_parts(self, decision: Decision, now: float) -> float | None:
        if now < decision.deadline:
            return decision.deadline - now
        missing = decision.first.spec.parts - len(decision.parts)
        reason = f"{missing} of {decision.first.spec.parts} parts of the decision did not come"
        progress = judge(decision, self._sight)
        progress.give_up(dict.fromkeys(progress.open, reason))
        return await self._end(decision, progress, FAILED, reason)

    # -- ends ---------------------------------------------------------------------------------------------------

    async def _succeed(self, decision: Decision, progress: Progress, attempts: int | None = None) -> float | None:
        """Everybody who can be bound is. For the others, what was prepared is taken back."""
        await self._follow(decision, progress)
        reason = next(iter(progress.impossible.values()), "")
        if progress.impossible and decision.has_begun:
            left = await self._unwinding.take_back(decision, progress.impossible)
            if left:
                return await self._try_later(decision, progress, BINDING, reason, left)
        return await self._end(decision, progress, SUCCEEDED, reason, attempts)

    async def _give_up(self, decision: Decision, progress: Progress, attempts: int | None = None) -> float | None:
        """The gang cannot reach its minimum any more."""
        reason = next(iter(progress.impossible.values()), TOO_FEW)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW))
        self._rooms.release(self._rooms.held_by(decision.key))
        if progress.ours:
            self._announcer.unwinds(decision, reason)
            self._metrics.unwound()
            log.warning("a gang cannot be completed and is unwound", extra={"request": decision.key, "why": reason})
            count = decision.failed_attempts if attempts is None else attempts
            await self._write(decision, progress, UNWINDING, count, reason)
            return 0.0
        if decision.has_begun:
            left = await self._unwinding.take_back(decision)
            if left:
                return await self._try_later(decision, progress, UNWINDING, reason, left)
        return await self._end(decision, progress, FAILED, reason, attempts)

    async def _unwind(self, decision: Decision) -> float | None:
        progress, reason = judge(decision, self._sight), decision.first.status.reason
        left = await self._unwinding.unwind(decision)
        if left:
            return await self._try_later(decision, progress, UNWINDING, reason, left)
        progress.give_up(dict.fromkeys(progress.open, TOO_FEW))
        return await self._end(decision, progress, FAILED, reason)

    async def _try_later(
        self, decision: Decision, progress: Progress, phase: str, reason: str, left: dict[str, str]
    ) -> float:
        """Something could not be undone; it is tried again for as long as it takes."""
        attempts = decision.failed_attempts + 1
        pause = self._pause(decision, attempts)
        await self._write(decision, progress, phase, attempts, reason, left)
        return pause

    async def _end(
        self, decision: Decision, progress: Progress, phase: str, reason: str, attempts: int | None = None
    ) -> float | None:
        count = decision.failed_attempts if attempts is None else attempts
        await self._write(decision, progress, phase, count, reason)
        self._release(decision)
        self._metrics.request_finished(phase)
        words = {"request": decision.key, "pods": len(progress.placed), "why": reason}
        log.log(logging.INFO if phase == SUCCEEDED else logging.WARNING, "bind request %s", phase.lower(), extra=words)
        return None

    async def _rest(self, decision: Decision) -> float | None:
        """Nothing is left to do, but perhaps to tell. A binding that was under way when the gang was given up may have
        been carried out after all: it is taken back like the others.
        """
        self._release(decision)
        members = list(decision.members())
        self._tell_again(decision)
        if decision.is_inherited:
            await self._sweep(decision)
        if not decision.has_failed:
            return None
        pods = ((self._sight.pod(member.pod_uid), request, member) for request, member in members)
        ours = [pod for pod, request, member in pods if pod is not None and is_ours(pod, request, member)]
        if not any(pod.metadata.deletion_timestamp is None for pod in ours):
            return None
        reason = decision.first.status.reason
        await self._write(decision, judge(decision, self._sight), UNWINDING, decision.failed_attempts, reason)
        return 0.0

    async def _sweep(self, decision: Decision) -> None:
        """A predecessor that was deposed may have prepared members after somebody else had given them up."""
        lost = decision.said_to_be(FAILED) | decision.said_to_be(UNWOUND)
        wanted = {uid for uid in lost for key in self._book.of_pod(uid) if not self._book.decisions[key].is_settled}
        left = await self._unwinding.take_back(decision, lost - wanted) if lost - wanted else {}
        decision.is_inherited = bool(left)

    # -- telling ------------------------------------------------------------------------------------------------

    def _tell_again(self, decision: Decision) -> None:
        """A process that died may not have come to say on the pods what became of them."""
        states = {each.pod_uid: each for request in decision.requests for each in request.status.pods}
        for request, member in decision.members():
            state, namespace = states.get(member.pod_uid), request.metadata.namespace
            if state is None:
                continue
            if decision.has_succeeded and state.phase == BOUND:
                self._conditions.bound(namespace, member.pod_name, member.pod_uid)
            elif state.phase == FAILED and self._conditions.is_silent(member.pod_uid):
                words = _failure(member, state.reason)
                self._conditions.failed_to_bind(namespace, member.pod_name, member.pod_uid, words)

    async def _follow(self, decision: Decision, progress: Progress) -> None:
        """Let the plugins know who is bound: those of whom no earlier pass has said it."""
        said = decision.said_to_be(BOUND) | decision.followed
        for request, member in decision.members():
            uid = member.pod_uid
            if uid in progress.ours and uid not in said:
                pod, node = self._sight.pod(uid), self._sight.node(member.selected_node)
                bind = decision.prepared.get(uid) or bind_of(request, member, pod, node)
                for words in await self._preparations.after(bind):
                    log.warning("after a bind: %s", words, extra={"pod": f"{bind.pod.key}"})
                decision.followed.add(uid)

    def _news(self, decision: Decision, impossible: dict[str, str]) -> dict[str, str]:
        """Of those that will not be bound, the ones of which nobody was told yet."""
        told = decision.said_to_be(FAILED)
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

    async def _write(
        self,
        decision: Decision,
        progress: Progress,
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

    # -- memory -------------------------------------------------------------------------------------------------

    def _release(self, decision: Decision) -> None:
        """Who is not bound holds no room any more."""
        self._rooms.release(self._rooms.held_by(decision.key))
        decision.prepared.clear()
        decision.begun.clear()
        decision.problems.clear()
        decision.unknown.clear()

    def forget(self, decision: Decision) -> None:
        """The request is gone: nobody wants its pods to be bound. What was prepared for them is taken back."""
        begun = [bind for uid, bind in decision.begun.items() if uid not in decision.bound]
        preparing = decision.preparing
        if preparing is not None:
            preparing.cancel()
        self._release(decision)
        if begun:
            task = asyncio.ensure_future(self._take_back(begun, preparing))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _take_back(self, binds: Iterable[Bind], preparing: asyncio.Task[None] | None) -> None:
        if preparing is not None:
            await asyncio.wait((preparing,))
        for bind in binds:
            for words in await self._preparations.take_back(bind):
                log.warning("a bind request is gone: %s", words, extra={"pod": bind.pod.key})


def _failure(member: BoundPod, words: str) -> str:
    return f"failed to bind to node {member.selected_node}: {words}"


def _statuses(decision: Decision, progress: Progress, phase: str, problems: dict[str, str]) -> dict[str, MemberStatus]:
    """How far every member has come, as it is said in the request."""
    before = {each.pod_uid: each for request in decision.requests for each in request.status.pods}
    found: dict[str, MemberStatus] = {}
    for _, member in decision.members():
        uid, known = member.pod_uid, before.get(member.pod_uid)
        if phase == FAILED and known is not None and known.phase in (BOUND, UNWOUND) and not known.reason:
            found[uid] = MemberStatus(uid, UNWOUND)
        elif uid in progress.placed:
            found[uid] = MemberStatus(uid, BOUND, cut(progress.placed[uid], LONGEST_MEMBER_REASON))
        elif uid in progress.impossible:
            found[uid] = MemberStatus(uid, FAILED, cut(progress.impossible[uid], LONGEST_MEMBER_REASON))
        else:
            words = problems.get(uid, "")
            found[uid] = MemberStatus(uid, BINDING, cut(words, LONGEST_MEMBER_REASON))
    return found
