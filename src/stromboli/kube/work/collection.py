"""Pausing the cyclic garbage collector for work that creates many objects and no garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
