"""Bounded workers that carry out commits.

A commit is looked at as a whole before anything is written: when so many of its members have become impossible that
the gang could not reach its minimum, none is bound. Otherwise its members are bound side by side with those of other
commits, by at most so many workers at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stromboli.binder.binding import Binding
from stromboli.binder.draining import drained
from stromboli.binder.orders import BindOrder, Commit, Outcome, Result


class Ledger(Protocol):
    """Who wants to know what became of orders, and knows whether they still make sense."""

    def obstacle(self, order: BindOrder) -> str:
        """What has come in the way since the decision, in words; empty if nothing."""

    def is_in_charge(self) -> bool:
        """Whether we may write at all."""

    def settled(self, commit: Commit, order: BindOrder, result: Result) -> None:
        """One member is done, impossible, unknown or dropped."""

    def finished(self, commit: Commit, results: dict[str, Result]) -> None:
        """All members of a commit are settled; results by uid."""


@dataclass(slots=True)
class _Open:
    """A commit that is being carried out. It is judged as a whole when its first member is taken up."""

    commit: Commit
    results: dict[str, Result] = field(default_factory=dict)
    is_judged: bool = False
    #: Whether a member was written, or is being written.
    has_begun: bool = False

    @property
    def is_settled(self) -> bool:
        return len(self.results) == len(self.commit.members)


class BindWorkers:
    """`workers` members are bound at a time; a worker takes up to `batch` members of one commit, one after the other,
    before it turns to the next commit.
    """

    def __init__(self, binding: Binding, ledger: Ledger, *, workers: int = 32, batch: int = 1) -> None:
        self._binding = binding
        self._ledger = ledger
        self._workers = max(workers, 1)
        self._batch = max(batch, 1)
        self._lines: deque[tuple[_Open, Sequence[BindOrder]]] = deque()
        self._work = asyncio.Event()
        self._unsettled = 0
        self._is_stopping = False

    @property
    def waiting(self) -> int:
        """Members that are not settled yet."""
        return self._unsettled

    def submit(self, commit: Commit) -> None:
        """Take a commit on."""
        opened = _Open(commit)
        self._unsettled += len(commit.members)
        for start in range(0, len(commit.members), self._batch):
            self._lines.append((opened, commit.members[start : start + self._batch]))
        self._work.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._worker())

    async def _worker(self) -> None:
        while True:
            while not self._lines:
                self._work.clear()
                await self._work.wait()
            opened, orders = self._lines.popleft()
            if not opened.is_judged:
                self._judge(opened)
            for order in orders:
                if order.uid not in opened.results:
                    self._settle(opened, order, await self._carry_out(opened, order))

    def _judge(self, opened: _Open) -> None:
        """Settle members that have become impossible; and all of them, when too few are left for the gang."""
        opened.is_judged = True
        members = opened.commit.members
        obstacles = {order.uid: self._ledger.obstacle(order) for order in members}
        found = [text for text in obstacles.values() if text]
        if not found:
            return
        if len(members) - len(found) < opened.commit.needed:
            reason = f"another member of the gang cannot be bound: {found[0]}"
            obstacles = {uid: text or reason for uid, text in obstacles.items()}
        for order in members:
            if obstacles[order.uid]:
                self._settle(opened, order, Result(Outcome.IMPOSSIBLE, obstacles[order.uid]))

    async def _carry_out(self, opened: _Open, order: BindOrder) -> Result:
        """A gang of which a member may have a node already gets the others, even when we are stopping."""
        if (self._is_stopping and not opened.has_begun) or not self._ledger.is_in_charge():
            return Result(Outcome.DROPPED, "the scheduler is stopping")
        if obstacle := self._ledger.obstacle(order):
            return Result(Outcome.IMPOSSIBLE, obstacle)
        opened.has_begun = True
        try:
            return await self._binding.bind(order)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")

    def _settle(self, opened: _Open, order: BindOrder, result: Result) -> None:
        opened.results[order.uid] = result
        self._unsettled -= 1
        self._ledger.settled(opened.commit, order, result)
        if opened.is_settled:
            self._ledger.finished(opened.commit, opened.results)

    async def drain(self, timeout: float) -> int:
        """Finish the commits that have begun and drop the others, within the time; answers how many members are still
        not settled.
        """
        self._is_stopping = True
        return await drained(lambda: self._unsettled, timeout)
