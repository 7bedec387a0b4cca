"""Shrinks a failing schedule: events are dropped, first many at once, as long as something is still violated."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.schedule import Schedule


def shrunk(schedule: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """Return a schedule that fails too, and none of whose events can be dropped."""
    size = max(len(schedule.events) // 2, 1)
    while True:
        smaller = _without_some(schedule, size, fails)
        if smaller is not None:
            schedule = smaller
        elif size == 1:
            return schedule
        else:
            size //= 2


def _without_some(schedule: Schedule, size: int, fails: Callable[[Schedule], bool]) -> Schedule | None:
    for start in range(0, len(schedule.events), size):
        candidate = schedule.without(schedule.events[start : start + size])
        if fails(candidate):
            return candidate
    return None
