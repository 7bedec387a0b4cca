"""Signal handlers of a process, for the time of a context."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping


@contextlib.contextmanager
def signal_handlers(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call these handlers on the running loop; outside of the main thread nothing is called."""
    loop = asyncio.get_running_loop()
    installed = []
    for number, handler in handlers.items():
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, handler)
            installed.append(number)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def stopped_by_signal(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT."""
    with signal_handlers({signal.SIGTERM: stop, signal.SIGINT: stop}):
        yield
