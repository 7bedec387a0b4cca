"""Synthetic traces: reproducible, in order, and with the properties of their models."""

from __future__ import annotations

import numpy as np
import pytest

from stromboli.traces.generators.lublin import lublin
from stromboli.traces.generators.poisson import JobSize, PoissonWorkload, equal_nodes, poisson
from stromboli.traces.statistics import as_plain, summary_of
from stromboli.traces.trace import Trace

NODES = equal_nodes(16, 8, 4)
TRACES = {
    "lublin": lambda seed: lublin(2000, 128, seed),
    "poisson": lambda seed: poisson(PoissonWorkload(2000, 0.7, NODES, (JobSize(1, 1), JobSize(8, 1))), seed),
}


@pytest.mark.parametrize("name", TRACES)
def test_seed_decides_the_jobs(name: str) -> None:
    one, same, other = (list(TRACES[name](seed).jobs()) for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize("name", TRACES)
def test_jobs_are_in_order_and_can_run(name: str) -> None:
    trace = TRACES[name](3)
    jobs = list(trace.jobs())
    assert len(jobs) == 2000
    assert [job.submitted for job in jobs] == sorted(job.submitted for job in jobs)
    assert all(job.run_time and job.run_time > 0 and 1 <= job.pods <= 128 for job in jobs)


@pytest.mark.parametrize(("load", "gpu"), [(0.5, 0), (0.9, 0), (0.9, 500)])
def test_poisson_offers_the_declared_load(load: float, gpu: int) -> None:
    trace = poisson(PoissonWorkload(20_000, load, NODES, gpu=gpu), 1)
    found = as_plain(trace, summary_of(trace))
    assert found["load"]["gpu" if gpu else "cpu"] == pytest.approx(load, rel=0.05)


def test_lublin_matches_the_published_distributions() -> None:
    """A quarter of the jobs is serial, most others are powers of two, and arrivals follow the hours of a day."""
    jobs = list(lublin(20_000, 128, 1).jobs())
    sizes = np.array([job.pods for job in jobs])
    assert np.mean(sizes == 1) == pytest.approx(0.244, abs=0.05)
    assert 0.6 < np.mean([bin(size).count("1") == 1 for size in sizes]) < 0.9
    hours = np.bincount([int(job.submitted // 3600 % 24) for job in jobs], minlength=24)
    assert hours[9:18].mean() > 2 * hours[0:6].mean()


def test_machine_of_one_processor_gets_serial_jobs() -> None:
    trace: Trace = lublin(10, 1, 0)
    assert {job.pods for job in trace.jobs()} == {1}
