"""Timestamps of objects: seconds, in UTC."""

from __future__ import annotations

import time

from stromboli.kube.objects.timestamps import stamp


def now() -> str:
    return stamp(time.time())


def seconds_from_now(seconds: int) -> str:
    return stamp(time.time() + seconds)
