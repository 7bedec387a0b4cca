"""The condition of a PodGroup with its expected start.

The message names two moments to the minute, so that it stays the same while the expectation does.
"""

from __future__ import annotations

import re

from stromboli import kube
from stromboli.core.model.values.times import date_of
from stromboli.kube.objects.timestamps import seconds_of

EXPECTED_START = "ExpectedStart"
ESTIMATED, OPEN_END = "Estimated", "UnknownRunTimes"
"""Reasons: both ends of the range are known, or only the first."""

_RANGE = re.compile(r"between (\S+) and (\S+)")
_OPEN = re.compile(r"not before (\S+)")


def describe_start(earliest: float, latest: float | None) -> str:
    if latest is None:
        return f"expected to start not before {_minute(earliest)}; the run times of other jobs are unknown"
    return f"expected to start between {_minute(earliest)} and {_minute(latest)}"


def _minute(moment: float) -> str:
    return date_of(moment).strftime("%Y-%m-%dT%H:%MZ")


def expected_start_of(group: kube.PodGroup) -> tuple[float, float | None] | None:
    """Return the reported range of the start of a waiting group; None if there is none. The end may be unknown."""
    conditions = group.status.conditions or ()
    found = next((c for c in conditions if c.type == EXPECTED_START and c.status == "True"), None)
    if found is None:
        return None
    message = found.message or ""
    if parts := _RANGE.search(message):
        earliest, latest = seconds_of(parts[1]), seconds_of(parts[2])
        return None if earliest is None or latest is None else (earliest, latest)
    moment = seconds_of(parts[1].rstrip(";")) if (parts := _OPEN.search(message)) else None
    return None if moment is None else (moment, None)
