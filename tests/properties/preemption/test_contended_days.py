"""Random days in virtual time: evictions end, and do not fall on the same jobs."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.contended_days import LEAST_LOSS, MAX_EVICTIONS, VOLCANO, simulated_day

_DAYS_PER_TEST = 10
POLICIES = (LEAST_LOSS, VOLCANO)


@pytest.mark.parametrize("first", range(0, 100, _DAYS_PER_TEST))
def test_evictions_of_random_days(first: int) -> None:
    """Longer runs: `python -m benchmarks contended-days --days 10000 --nodes 2`."""
    evictions = 0
    for seed in range(first, first + _DAYS_PER_TEST):
        day = simulated_day(seed, LEAST_LOSS, nodes=2)
        evictions += len(day.preemptions)
        assert day.mutual() == [], seed
        assert day.unfair(MAX_EVICTIONS) == [], seed
        most = max(Counter(each.past.victim for each in day.preemptions).values(), default=0)
        assert most <= 2 * MAX_EVICTIONS, seed
    assert evictions > 0


def test_least_work_is_lost_on_random_days() -> None:
    """The same days under Volcano's order of victims lose nearly twice as much."""
    lost = [sum(simulated_day(seed, text, nodes=2).lost_gpu_hours for seed in range(60)) for text in POLICIES]
    assert lost[0] <= 0.6 * lost[1]
