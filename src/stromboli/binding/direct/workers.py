"""Bounded workers that carry out commits.

A commit is looked at as a whole before anything is written: when so many of its members have become impossible that
the gang could not reach its minimum, none is bound. Otherwise its members are bound side by side with those of other
commits, by at most so many workers at a time. Where members need something to be made ready before, the commit waits
aside until that is done for all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stromboli.binding.direct.preparation import CommitPreparation, CommitStep
from stromboli.binding.orders import BindOrder, Commit, Outcome, Result
from stromboli.binding.pod_binding import PodBinder
from stromboli.kube.work.work_queue import drained, run_workers


class BindObserver(Protocol):
    """Who wants to know what became of orders, and knows whether they still make sense."""

    def obstacle(self, order: BindOrder) -> str:
        """What has come in the way since the decision, in words; empty if nothing."""

    def is_leader(self) -> bool:
        """Whether we may write at all."""

    def settled(self, commit: Commit, order: BindOrder, result: Result) -> None:
        """One member is done, impossible, unknown or dropped."""

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        """All members of a commit are settled; results by uid."""


@dataclass(slots=True)
class _OpenCommit:
    """A commit that is being carried out. It is judged as a whole when its first member is taken up."""

    commit: Commit
    results: dict[str, Result] = field(default_factory=dict)
    is_checked: bool = False
    #: Whether a member was written, or is being written.
    has_begun: bool = False
    #: Members that will not be bound, while what was prepared for them is being taken back.
    failing: set[str] = field(default_factory=set)

    @property
    def undecided(self) -> list[BindOrder]:
        return [order for order in self.commit.members if order.uid not in self.results]

    @property
    def is_settled(self) -> bool:
        return len(self.results) == len(self.commit.members)


class BindWorkers:
    """`workers` members are bound at a time; a worker takes up to `batch` members of one commit, one after the other,
    before it turns to the next commit.
    """

    def __init__(
        self,
        binding: PodBinder,
        ledger: BindObserver,
        *,
        workers: int = 32,
        batch: int = 1,
        early: Sequence[CommitStep] = (),
    ) -> None:
        self._binding = binding
        self._ledger = ledger
        self._preparation = CommitPreparation(early)
        #: Members that are being made ready.
        self.preparing = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = max(workers, 1)
        self._batch = max(batch, 1)
        self._lines: deque[tuple[_OpenCommit, Sequence[BindOrder]]] = deque()
        self._work = asyncio.Event()
        self._unsettled = 0
        self._stopping = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Members that are not settled yet."""
        return self._unsettled

    def submit(self, commit: Commit) -> None:
        """Take a commit on."""
        opened = _OpenCommit(commit)
        self._unsettled += len(commit.members)
        if self._preparation.applies_to(commit.members):
            task = asyncio.ensure_future(self._prepare(opened))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._enqueue(opened)

    def _enqueue(self, opened: _OpenCommit) -> None:
        members = opened.undecided
        for start in range(0, len(members), self._batch):
            self._lines.append((opened, members[start : start + self._batch]))
        self._work.set()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            await run_workers(self._workers, self._worker)
        finally:
            for task in self._tasks:
                task.cancel()

    # -- preparations -------------------------------------------------------------------------------------------

    async def _prepare(self, opened: _OpenCommit) -> None:
        """Make all members ready, then let them be bound; or none of them."""
        self.preparing += (members := len(opened.commit.members))
        try:
            await self._prepare_members(opened)
        except Exception as error:
            for order in opened.undecided:
                self._settle(opened, order, Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}"))
        finally:
            self.preparing -= members
        self._enqueue(opened)

    async def _prepare_members(self, opened: _OpenCommit) -> None:
        await self._judge(opened)
        orders = opened.undecided
        ready = asyncio.ensure_future(self._preparation.prepare_pod(orders, len(orders) - opened.commit.needed))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((ready, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (ready, stopping):
                if not each.done():
                    each.cancel()
        if not ready.done() or ready.cancelled():
            return  # nothing is begun any more, and what was prepared is for whoever comes next
        await self._fail_members(opened, {uid: result.problem for uid, result in ready.result().items()})
        opened.is_checked = False  # time has passed

    async def _worker(self) -> None:
        while True:
            while not self._lines:
                self._work.clear()
                await self._work.wait()
            opened, orders = self._lines.popleft()
            if not opened.is_checked:
                await self._judge(opened)
            for order in orders:
                if order.uid not in opened.results and order.uid not in opened.failing:
                    await self._conclude(opened, order, await self._carry_out(opened, order))

    async def _judge(self, opened: _OpenCommit) -> None:
        """Settle members that have become impossible; and all of them, when too few are left for the gang."""
        opened.is_checked = True
        precondition_errors = {order.uid: self._ledger.obstacle(order) for order in opened.undecided}
        await self._fail_members(opened, {uid: text for uid, text in precondition_errors.items() if text})

    async def _fail_members(self, opened: _OpenCommit, problems: dict[str, str]) -> None:
        """These members cannot be bound. Who else is doomed by that is said before anything is awaited: other workers
        must not begin with them.
        """
        if not problems:
            return
        left = opened.undecided
        if len(left) - len(problems) < opened.commit.needed:
            reason = f"another member of the gang cannot be bound: {next(iter(problems.values()))}"
            problems = {order.uid: problems.get(order.uid, reason) for order in left}
        opened.failing |= problems.keys()
        for order in left:
            if order.uid in problems:
                await self._conclude(opened, order, Result(Outcome.IMPOSSIBLE, problems[order.uid]))

    async def _conclude(self, opened: _OpenCommit, order: BindOrder, result: Result) -> None:
        """Take back what was prepared for a member that is not bound, before its place is given up."""
        if result.outcome is Outcome.IMPOSSIBLE:
            result = Result(result.outcome, "; ".join((result.problem, *await self._preparation.undo(order))))
        else:
            self._preparation.done(order)
        self._settle(opened, order, result)

    async def _carry_out(self, opened: _OpenCommit, order: BindOrder) -> Result:
        """A gang of which a member may have a node already gets the others, even when we are stopping."""
        if (self._stopping.is_set() and not opened.has_begun) or not self._ledger.is_leader():
            return Result(Outcome.DROPPED, "the scheduler is stopping")
        if obstacle := self._ledger.obstacle(order):
            return Result(Outcome.IMPOSSIBLE, obstacle)
        opened.has_begun = True
        try:
            return await self._binding.bind(order)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")

    def _settle(self, opened: _OpenCommit, order: BindOrder, result: Result) -> None:
        opened.results[order.uid] = result
        self._unsettled -= 1
        self._ledger.settled(opened.commit, order, result)
        if opened.is_settled:
            self._ledger.finished(opened.commit, opened.results)

    async def drain(self, timeout: float) -> int:
        """Finish the commits that have begun and drop the others, within the time; answers how many members are still
        not settled.
        """
        self._stopping.set()
        return await drained(lambda: self._unsettled, timeout)
