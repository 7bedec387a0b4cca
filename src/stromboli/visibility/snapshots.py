"""Dumps of the cache for answers. All questions of some seconds share one, so that many of them cost the scheduler no
more than one does.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from stromboli.cluster.dump.dump import Dump, write_dump

#: Seconds for which a dump is used, and the part of the time that dumps may take.
_FRESH_SECONDS = 2.0
_MAX_PART = 0.05


class SnapshotFile:
    """A dump in a file, which is deleted when it is neither current nor used."""

    def __init__(self, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._folder = folder
        self.path = Path(folder.name) / "snapshot.json.gz"
        self.until = 0.0
        self._users = 0
        self._is_current = True

    @contextlib.contextmanager
    def used(self) -> Iterator[Path]:
        """Keep the file within the context."""
        self._users += 1
        try:
            yield self.path
        finally:
            self._users -= 1
            self._delete_if_unused()

    def retire(self) -> None:
        """Note that a newer dump exists."""
        self._is_current = False
        self._delete_if_unused()

    def _delete_if_unused(self) -> None:
        if not self._is_current and not self._users:
            self._folder.cleanup()


class Snapshots:
    """`take` returns the contents of the cache; the file is written in a thread."""

    def __init__(
        self, take: Callable[[], Awaitable[Dump]], folder: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._take = take
        self._folder = folder or None
        self._clock = clock
        self._current: SnapshotFile | None = None
        self._taking = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def latest(self) -> AsyncIterator[Path]:
        """Return the path of a recent dump, which exists within the context. Raises DumpError."""
        async with self._taking:
            if self._current is None or self._clock() >= self._current.until:
                self._replace(await self._new())
            assert self._current is not None, "it was taken"  # noqa: S101
            stack = contextlib.ExitStack()
            path = stack.enter_context(self._current.used())
        with stack:
            yield path

    def close(self) -> None:
        """Delete the current dump, once it is not used."""
        self._replace(None)

    def _replace(self, new: SnapshotFile | None) -> None:
        old, self._current = self._current, new
        if old is not None:
            old.retire()

    async def _new(self) -> SnapshotFile:
        began = self._clock()
        snapshot = SnapshotFile(tempfile.TemporaryDirectory(prefix="stromboli-answers-", dir=self._folder))
        try:
            await asyncio.to_thread(write_dump, snapshot.path, await self._take())
        except BaseException:
            snapshot.retire()
            raise
        taken = self._clock() - began
        snapshot.until = began + max(_FRESH_SECONDS, taken / _MAX_PART)
        return snapshot
