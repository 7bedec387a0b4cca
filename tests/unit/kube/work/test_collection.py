"""Garbage and free memory of a process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

from stromboli.kube.work.collection import collect_young_objects


class Cyclic:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.own = self


async def test_young_garbage_is_collected_although_few_objects_are_created() -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(1_000_000)
    try:
        async with _collecting():
            garbage = weakref.ref(Cyclic())
            assert garbage() is not None
            for _ in range(3):
                await asyncio.sleep(0)
            assert garbage() is None
    finally:
        gc.set_threshold(*threshold)


async def test_free_memory_between_objects_that_stay_is_returned() -> None:
    documents = [os.urandom(4096) for _ in range(20_000)]
    kept = documents[::100]
    del documents
    before = _resident_size()
    async with asyncio.timeout(10), _collecting():
        while _resident_size() > before - (40 << 20):
            await asyncio.sleep(0)
    assert len(kept) == 200


@contextlib.asynccontextmanager
async def _collecting() -> AsyncIterator[None]:
    collecting = asyncio.ensure_future(collect_young_objects(0.0))
    try:
        yield
    finally:
        collecting.cancel()


def _resident_size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
