"""A server in a thread of its own, with its own event loop: it answers while the thread of the process works."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future

_SECONDS_TO_START = 10.0
_SECONDS_TO_STOP = 5.0


class ServerThread:
    """A derived class defines what is served."""

    #: The name of the thread.
    name = "server"

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        """Start to serve. What the stack contains ends with the thread. Raises ListenError."""
        raise NotImplementedError

    def start(self) -> None:
        """Start to serve; returns when the addresses respond. Raises ListenError."""
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name=self.name, daemon=True)
        self._thread.start()
        try:
            started.result(_SECONDS_TO_START)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop serving; returns when the addresses are free. May be called twice, or without a start."""
        loop, stopping, thread = self._loop, self._stopping, self._thread
        if thread is None:
            return
        if loop is not None and stopping is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
        thread.join(_SECONDS_TO_STOP)
        self._thread = None

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            try:
                await self.serve(stack)
            except Exception as error:
                started.set_exception(error)
            else:
                started.set_result(None)
                await self._stopping.wait()
