"""An event loop with a virtual clock, which jumps to the next timer when nothing else is ready."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")


class _InstantSelector(selectors.DefaultSelector):
    """Advances the clock instead of waiting, if nothing is ready within `grace` real seconds."""

    now = 0.0
    grace = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(self.grace if timeout is None else min(timeout, self.grace))
        if ready:
            return ready
        assert timeout is not None, "deadlock: no timer is set and nothing is ready"
        self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, grace: float = 0.0) -> None:
        self.selector = _InstantSelector()
        self.selector.grace = grace
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def run_virtually(work: Coroutine[Any, Any, T], grace: float = 0.0) -> T:
    """Run a coroutine to completion in virtual time. Sockets and threads need a grace of some real milliseconds."""
    loop = VirtualLoop(grace)
    try:
        asyncio.set_event_loop(loop)
        began = time.time()

        def wall_clock() -> float:
            return began + loop.time()

        with mock.patch.object(time, "time", wall_clock), mock.patch.object(time, "monotonic", loop.time):
            return loop.run_until_complete(work)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        asyncio.set_event_loop(None)
        loop.close()
