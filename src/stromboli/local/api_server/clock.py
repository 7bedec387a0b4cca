"""Timestamps of objects: seconds, in UTC."""

from __future__ import annotations

import datetime
import time
from functools import lru_cache


def now() -> str:
    return _stamp(int(time.time()))


def seconds_from_now(seconds: int) -> str:
    return _stamp(int(time.time()) + seconds)


@lru_cache(maxsize=128)
def _stamp(second: int) -> str:
    """Cached: thousands of objects are written within one second."""
    return datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
