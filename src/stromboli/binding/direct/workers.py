"""Bounded workers that bind the members of commits in the scheduler's own process.

A commit is checked as a whole before anything is written: when so many members cannot be bound that the gang would stay
below its minimum, none is bound. Otherwise its members are bound in parallel with those of other commits, by a limited
number of workers. Where plugins have to prepare members, the commit waits aside until all of them are prepared.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stromboli.binding.gangs import failing_members
from stromboli.binding.orders import Commit, Outcome, Result
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.plugins.preparations import Preparations
from stromboli.binding.pod_binding import PodBinder
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.work.work_queue import drained, run_workers


class BindObserver(Protocol):
    """Receives the results of binds, and reports whether a placement is still valid."""

    def precondition_error(self, placement: Placement) -> str:
        """Return what has made the bind impossible since it was decided; empty if nothing."""

    def is_leader(self) -> bool:
        """Report whether this process may write."""

    def settled(self, commit: Commit, placement: Placement, result: Result) -> None:
        """Handle the result of one member."""

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        """Handle a commit of which all members are settled; results by uid."""


@dataclass(slots=True)
class _OpenCommit:
    """A commit in progress, checked as a whole when a worker takes its first member."""

    commit: Commit
    results: dict[str, Result] = field(default_factory=dict)
    is_checked: bool = False
    #: Whether a member was written, or is being written.
    has_begun: bool = False
    #: Members that will not be bound, while their preparations are rolled back.
    failing: set[str] = field(default_factory=set)

    @property
    def undecided(self) -> list[Placement]:
        return [each for each in self.commit.members if each.uid not in self.results]

    @property
    def is_settled(self) -> bool:
        return len(self.results) == len(self.commit.members)


class BindWorkers:
    """Binds `workers` members at a time; a worker takes up to `batch` members of one commit before the next commit."""

    def __init__(
        self,
        binder: PodBinder,
        observer: BindObserver,
        *,
        workers: int = 32,
        batch: int = 1,
        plugins: Sequence[BinderPlugin] = (),
    ) -> None:
        self._binder = binder
        self._observer = observer
        self._preparations = Preparations(plugins)
        #: Members that plugins prepare just now.
        self.preparing = 0
        #: The uids of unsettled members for which plugins may have prepared something.
        self._prepared: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = max(workers, 1)
        self._batch = max(batch, 1)
        self._queue: deque[tuple[_OpenCommit, Sequence[Placement]]] = deque()
        self._work = asyncio.Event()
        self._unsettled = 0
        self._stopping = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Members that are not settled yet."""
        return self._unsettled

    def submit(self, commit: Commit) -> None:
        opened = _OpenCommit(commit)
        self._unsettled += len(commit.members)
        if any(self._preparations.applies_to(each) for each in commit.members):
            task = asyncio.ensure_future(self._prepare(opened))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._enqueue(opened)

    def _enqueue(self, opened: _OpenCommit) -> None:
        members = opened.undecided
        for start in range(0, len(members), self._batch):
            self._queue.append((opened, members[start : start + self._batch]))
        self._work.set()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            await run_workers(self._workers, self._worker)
        finally:
            for task in self._tasks:
                task.cancel()

    async def drain(self, timeout: float) -> int:
        """Finish commits that have begun and drop the others. Returns how many members are unsettled at the timeout."""
        self._stopping.set()
        return await drained(lambda: self._unsettled, timeout)

    # -- preparations -------------------------------------------------------------------------------------------

    async def _prepare(self, opened: _OpenCommit) -> None:
        """Prepare all members and enqueue them; or fail all of them."""
        self.preparing += (members := len(opened.commit.members))
        try:
            await self._prepare_members(opened)
        except Exception as error:
            for placement in opened.undecided:
                self._settle(opened, placement, Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}"))
        finally:
            self.preparing -= members
        self._enqueue(opened)

    async def _prepare_members(self, opened: _OpenCommit) -> None:
        await self._check(opened)
        members = opened.undecided
        applicable = [each for each in members if self._preparations.applies_to(each)]
        self._prepared.update(each.uid for each in applicable)
        tolerated = len(members) - opened.commit.needed
        ready = asyncio.ensure_future(self._preparations.prepare(applicable, tolerated=tolerated))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((ready, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (ready, stopping):
                if not each.done():
                    each.cancel()
        if not ready.done() or ready.cancelled():
            return  # no bind starts any more; the next leader finds the preparations in the cluster
        problems = ready.result()
        self._prepared.difference_update(problems)  # already rolled back
        await self._fail_members(opened, {uid: problem.message for uid, problem in problems.items()})
        opened.is_checked = False  # conditions may have changed since the last check

    # -- binds --------------------------------------------------------------------------------------------------

    async def _worker(self) -> None:
        while True:
            while not self._queue:
                self._work.clear()
                await self._work.wait()
            opened, members = self._queue.popleft()
            if not opened.is_checked:
                await self._check(opened)
            for placement in members:
                if placement.uid not in opened.results and placement.uid not in opened.failing:
                    await self._conclude(opened, placement, await self._bind(opened, placement))

    async def _check(self, opened: _OpenCommit) -> None:
        """Fail members that cannot be bound any more; and all of them, when too few are left for the gang."""
        opened.is_checked = True
        errors = {each.uid: self._observer.precondition_error(each) for each in opened.undecided}
        await self._fail_members(opened, {uid: error for uid, error in errors.items() if error})

    async def _fail_members(self, opened: _OpenCommit, problems: dict[str, str]) -> None:
        """Fail these members, and the others if too few are left. Marks all of them before the first await, so that no
        other worker starts to bind one.
        """
        members = opened.undecided
        failing = failing_members([each.uid for each in members], problems, opened.commit.needed)
        opened.failing |= failing.keys()
        for placement in members:
            if placement.uid in failing:
                await self._conclude(opened, placement, Result(Outcome.IMPOSSIBLE, failing[placement.uid]))

    async def _conclude(self, opened: _OpenCommit, placement: Placement, result: Result) -> None:
        """Finish the preparations of a member before its capacity is released."""
        if placement.uid in self._prepared:
            self._prepared.discard(placement.uid)
            if result.outcome is Outcome.DONE:
                await self._preparations.after_bind(placement)
            elif result.outcome is Outcome.IMPOSSIBLE:
                errors = await self._preparations.roll_back(placement)
                result = Result(result.outcome, "; ".join((result.problem, *errors)))
            else:
                self._preparations.forget(placement)
        self._settle(opened, placement, result)

    async def _bind(self, opened: _OpenCommit, placement: Placement) -> Result:
        """Bind one member. A gang with a bound member gets the others even when the process is stopping."""
        if (self._stopping.is_set() and not opened.has_begun) or not self._observer.is_leader():
            return Result(Outcome.DROPPED, "the scheduler is stopping")
        if problem := self._observer.precondition_error(placement):
            return Result(Outcome.IMPOSSIBLE, problem)
        opened.has_begun = True
        try:
            return await self._binder.bind(placement)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")

    def _settle(self, opened: _OpenCommit, placement: Placement, result: Result) -> None:
        opened.results[placement.uid] = result
        self._unsettled -= 1
        self._observer.settled(opened.commit, placement, result)
        if opened.is_settled:
            self._observer.finished(opened.commit, opened.results)
