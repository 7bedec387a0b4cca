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


class CycleAnswer(msgspec.Struct, rename="camel"):
    """Records after those that were asked for, the earliest first; there may be more."""

    #: The process that recorded them: numbers start again with another one.
    instance: str
    cycles: list[CycleRecord]

    @property
    def is_full(self) -> bool:
        """Report whether there may be more."""
        return len(self.cycles) >= _MAX_RECORDS


class CycleCursor(msgspec.Struct, frozen=True):
    """The latest record that a console has, of one process."""

    instance: str = ""
    number: int = 0

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> CycleCursor:
        """Raises ValueError."""
        instance, _, number = query.get(_AFTER, "").partition(":")
        if number and not (number.isascii() and number.isdigit() and len(number) < 19):
            raise ValueError(f"{_AFTER}={query[_AFTER]!r} is not INSTANCE:NUMBER")
        return cls(instance, int(number or 0))

    def query(self) -> dict[str, str]:
        return {_AFTER: f"{self.instance}:{self.number}"} if self.instance else {}


class RequestedCycles:
    """One thread offers cycles, another one answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.instance = secrets.token_hex(8)
        self._records, self._clock = CycleRecords(), clock
        self._until = -1.0

    def observe(self, session: Session, seconds: float) -> None:
        """Record a cycle that has ended, if a console asked a short time ago."""
        if self._clock() < self._until:
            self._records.add(session, session.now, seconds)

    def answer(self, query: Mapping[str, str]) -> bytes:
        """Return a CycleAnswer to the query of a cursor, and record further cycles. Raises ValueError."""
        cursor = CycleCursor.parse(query)
        self._until = self._clock() + _WANTED_SECONDS
        known = cursor.number if cursor.instance == self.instance else 0
        return msgspec.json.encode(CycleAnswer(self.instance, self._records.after(known, _MAX_RECORDS)))
