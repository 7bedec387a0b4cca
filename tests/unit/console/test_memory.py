"""Cyclic objects are freed after frames, but not more often than their cost permits."""

from __future__ import annotations

import gc
import weakref

from stromboli.console.cache.memory import MemoryRelease


class Cyclic:
    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_freed_at_most_every_two_seconds() -> None:
    moments = iter([0.0, 0.01, 1.0, 2.5, 2.6])
    release = MemoryRelease(lambda: next(moments))
    gc.disable()
    try:
        release()
        lost = weakref.ref(Cyclic())
        release()  # at 1.0
        assert lost() is not None
        release()  # at 2.5
        assert lost() is None
    finally:
        gc.enable()
        gc.unfreeze()
