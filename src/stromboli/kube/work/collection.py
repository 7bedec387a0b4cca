"""The cyclic garbage collector: paused for work that creates many objects, and run when an idle process would not."""

import asyncio
import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds between two collections of young objects.
YOUNG_SECONDS = 60.0


async def collect_young_objects(seconds: float = YOUNG_SECONDS) -> None:
    """Collect garbage among young objects once a minute, until cancelled, and return free memory to the system.

    The collector runs after very many new objects. A process with little to do takes minutes to create them and keeps
    the garbage of its finished requests until then. Old objects are not searched: a large cluster has millions.
    The allocator of glibc keeps the pages of freed responses and tables between others; with steady arrivals of jobs
    these gaps grow for hours.
    """
    while True:
        await asyncio.sleep(seconds)
        gc.collect(1)
        await asyncio.to_thread(return_free_memory)


def return_free_memory() -> None:
    """Return what the C library has freed to the system, where it is glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector. Parsing manifests and running a cycle create up to millions of objects, which stay until the
    end: searching them for garbage only takes time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
