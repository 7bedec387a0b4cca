"""Garbage of a process that has little to do."""

from __future__ import annotations

import asyncio
import gc
import weakref

from stromboli.kube.work.collection import collect_young_objects


class Cyclic:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.own = self


async def test_young_garbage_is_collected_although_few_objects_are_created() -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(1_000_000)
    collecting = asyncio.ensure_future(collect_young_objects(0.0))
    try:
        garbage = weakref.ref(Cyclic())
        assert garbage() is not None
        for _ in range(3):
            await asyncio.sleep(0)
        assert garbage() is None
    finally:
        collecting.cancel()
        gc.set_threshold(*threshold)
