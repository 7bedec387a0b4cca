"""Random days in virtual time: evictions end, and do not fall on the same jobs."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.contended_days import LEAST_LOSS, MAX_EVICTIONS, VOLCANO, Day, simulated_day

_DAYS_PER_TEST = 10
#: The first days are those that are simulated under both policies.
_COMPARED = 60


@pytest.mark.parametrize("first", range(_COMPARED, 100, _DAYS_PER_TEST))
def test_evictions_of_random_days(first: int) -> None:
    """Longer runs: `python -m benchmarks contended-days --days 10000 --nodes 2`."""
    days = [_checked_day(seed) for seed in range(first, first + _DAYS_PER_TEST)]
    assert sum(len(day.preemptions) for day in days) > 0


def test_least_work_is_lost_on_random_days() -> None:
    """The same days under Volcano's order of victims lose nearly twice as much."""
    lost = sum(_checked_day(seed).lost_gpu_hours for seed in range(_COMPARED))
    lost_by_volcano = sum(simulated_day(seed, VOLCANO, nodes=2).lost_gpu_hours for seed in range(_COMPARED))
    assert lost <= 0.6 * lost_by_volcano


def _checked_day(seed: int) -> Day:
    day = simulated_day(seed, LEAST_LOSS, nodes=2)
    assert day.mutual() == [], seed
    assert day.unfair(MAX_EVICTIONS) == [], seed
    most = max(Counter(each.past.victim for each in day.preemptions).values(), default=0)
    assert most <= 2 * MAX_EVICTIONS, seed
    return day
