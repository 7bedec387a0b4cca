"""A scheduler that runs for long keeps no trace of gangs that have ended.

`SOAK_GANGS=100000 pytest tests/properties/cluster/test_soak.py` runs as many gangs through it.
"""

from __future__ import annotations

import gc
import os
from collections import Counter

from tests.testing.soak import FULL, SIZE, Soak

GANGS = int(os.environ.get("SOAK_GANGS", "3000"))
#: Until caches that are bounded in time have reached their size.
WARM_UP = 1500
#: Live objects may differ by this: samples, and what the last cycles left to the next clean-up.
TOLERANCE = 2000


def _live_objects() -> Counter[str]:
    gc.collect()
    return Counter(type(each).__qualname__ for each in gc.get_objects())


async def test_arrivals_and_ends_of_gangs_leave_no_objects_behind() -> None:
    soak = Soak()
    await soak.run(WARM_UP)
    before = _live_objects()
    await soak.run(GANGS)
    grown = _live_objects() - before
    assert soak.started == SIZE * soak.gangs, "every gang was bound and has run"
    assert soak.ended == soak.gangs - FULL, "all but the last gangs have ended"
    assert grown.total() < TOLERANCE, grown.most_common(10)
