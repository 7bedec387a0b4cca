"""When to run the next cycle: soon after something that matters, and regularly otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class CycleTrigger:
    """Rings when something that matters has happened and nothing has followed for a moment, or when time is up.

    Many events in a row are one reason for a cycle, but they cannot put it off for longer than `patience`. After a rest
    was asked for, it is silent until that is over: nobody should spend all of the time deciding.
    """

    def __init__(self, clock: Callable[[], float], *, debounce: float, max_wait: float = 0.25) -> None:
        self._clock = clock
        self._debounce = debounce
        self._max_wait = max(max_wait, debounce)
        self._rung = asyncio.Event()
        self._first = 0.0
        self._last = 0.0
        self._silent_until = 0.0

    def rest(self, seconds: float) -> None:
        """Stay silent for so long from now, but never longer than anybody has patience."""
        self._silent_until = self._clock() + min(seconds, self._max_wait)

    def ring(self) -> None:
        now = self._clock()
        if not self._rung.is_set():
            self._first = now
            self._rung.set()
        self._last = now

    async def wait(self, longest: float) -> bool:
        """Wait for a ring; False when none came within the time."""
        try:
            async with asyncio.timeout(longest):
                await self._rung.wait()
        except TimeoutError:
            return False
        while (pause := self._pause()) > 0:
            await asyncio.sleep(pause)
        self._rung.clear()
        return True

    def _pause(self) -> float:
        due = min(self._last + self._debounce, self._first + self._max_wait)
        return max(due, self._silent_until) - self._clock()
