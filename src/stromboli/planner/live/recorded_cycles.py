"""Recorded cycles of a scheduler, for consoles: cycles are recorded only while a console asks for them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping

import msgspec

from stromboli.core.session.session import Session
from stromboli.planner.cycle_records import CycleRecord, CycleRecords

#: Seconds after a request for which cycles are recorded.
_WANTED_SECONDS = 60.0
#: Records of one answer.
_MAX_RECORDS = 20
_AFTER = "after"
#: Processes whose records a console follows.
_MAX_PROCESSES = 32


class CycleAnswer(msgspec.Struct, rename="camel"):
    """Records after those that were asked for, the earliest first; there may be more."""

    #: The process that recorded them: numbers start again with another one.
    instance: str
    cycles: list[CycleRecord]

    @property
    def is_full(self) -> bool:
        """Report whether there may be more."""
        return len(self.cycles) >= _MAX_RECORDS


class CycleCursors:
    """The latest record that a console has of each process: several schedulers, or one after another, answer it."""

    def __init__(self, numbers: Mapping[str, int] | None = None) -> None:
        self._numbers = dict(numbers or {})

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> CycleCursors:
        """Raises ValueError."""
        numbers: dict[str, int] = {}
        for each in filter(None, query.get(_AFTER, "").split(",")[:_MAX_PROCESSES]):
            instance, _, number = each.partition(":")
            if not (number.isascii() and number.isdigit() and len(number) < 19):
                raise ValueError(f"{_AFTER}={query[_AFTER]!r} is not INSTANCE:NUMBER, or several separated by commas")
            numbers[instance] = int(number)
        return cls(numbers)

    def number(self, instance: str) -> int:
        """Return the number of the latest record of a process; 0 for none."""
        return self._numbers.get(instance, 0)

    def advance(self, instance: str, number: int) -> None:
        """Keep the number of the latest record of a process. Those that answered longest ago are forgotten."""
        self._numbers.pop(instance, None)
        self._numbers[instance] = number
        while len(self._numbers) > _MAX_PROCESSES:
            del self._numbers[next(iter(self._numbers))]

    def query(self) -> dict[str, str]:
        numbers = ",".join(f"{instance}:{number}" for instance, number in self._numbers.items())
        return {_AFTER: numbers} if numbers else {}


class RequestedCycles:
    """One thread offers cycles, another one answers."""

    def __init__(self, scheduler: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`scheduler` is the name that people see."""
        self.instance = secrets.token_hex(8)
        self._records, self._clock = CycleRecords(scheduler), clock
        self._until = -1.0

    def observe(self, session: Session, seconds: float) -> None:
        """Record a cycle that has ended, if a console asked a short time ago."""
        if self._clock() < self._until:
            self._records.add(session, session.now, seconds)

    def answer(self, query: Mapping[str, str]) -> bytes:
        """Return a CycleAnswer to the query of cursors, and record further cycles. Raises ValueError."""
        known = CycleCursors.parse(query).number(self.instance)
        self._until = self._clock() + _WANTED_SECONDS
        return msgspec.json.encode(CycleAnswer(self.instance, self._records.after(known, _MAX_RECORDS)))
