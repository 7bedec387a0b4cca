"""Memory that frames leave behind: sessions are cyclic, so that only the collector frees them.

The objects of the cluster at the start are exempted from collection, which then costs what is new.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from stromboli.kube.work.collection import return_free_memory

#: Seconds between two collections, at least, and the part of the time that they may take.
_MIN_SECONDS, _MAX_PART = 2.0, 0.05


class MemoryRelease:
    """Called before the first frame and after each, in a process that does nothing else."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._is_first, self._next = True, 0.0

    def __call__(self) -> None:
        began = self._clock()
        if began < self._next:
            return
        gc.collect()
        if self._is_first:
            self._is_first = False
            gc.freeze()
        return_free_memory()
        ended = self._clock()
        self._next = ended + max(_MIN_SECONDS, (ended - began) / _MAX_PART)
