"""Ranges of 80 % contain about 80 % of the later starts. `python -m benchmarks forecast` measures more clusters."""

from __future__ import annotations

from benchmarks.forecast import coverage, forecast_world


def test_ranges_cover_the_starts_of_small_clusters() -> None:
    found = coverage(forecast_world(seed, nodes=2, waiting=4) for seed in range(10))
    assert found.unknown == 0
    assert found.within + found.before + found.after >= 25
    assert 0.7 <= found.part <= 0.9
