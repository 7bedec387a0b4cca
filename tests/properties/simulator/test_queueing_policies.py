"""The shipped policies for queueing start every job of a trace in the same second as their references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.traces.generators.lublin import lublin
from tests.testing.queueing_reference import Request, conservative, easy, fcfs
from tests.testing.random_clusters.effort import examples
from tests.testing.traces.runs import job, simulated

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
PROCESSORS = 16
FACTOR, LIMIT = 2, 8 * 3600

#: Jobs, and the run times that users request.
Log = tuple[list[Request], list[int]]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Up to 25 jobs; each arrives some time after the one before, and requests at least its run time."""
    arrival, jobs, requested = 0, list[Request](), list[int]()
    each = st.tuples(
        st.sampled_from([1, 7, 60, 600, 3600]),
        st.integers(1, 20_000),
        st.integers(1, PROCESSORS),
        st.integers(0, 9_000),
    )
    for gap, run_time, size, excess in draw(st.lists(each, min_size=3, max_size=25)):
        jobs.append((arrival, run_time, size))
        requested.append(run_time + excess)
        arrival += gap
    return jobs, requested


def started(name: str, jobs: Sequence[Request], requested: Sequence[int], processors: int = PROCESSORS) -> list[float]:
    trace = [
        job(str(n), at, run, size, requested=requested[n]) for n, (at, run, size) in enumerate(jobs)
    ]  # fmt: skip
    conf = (POLICIES / f"{name}.conf").read_text(encoding="utf-8")
    return [row.started for row in simulated(trace, conf, processors, layout="pool").jobs.rows()]


def short_first(jobs: Sequence[Request], processors: int, estimates: Sequence[int]) -> list[int]:
    dates = [at + min(FACTOR * estimate, LIMIT) for (at, _, _), estimate in zip(jobs, estimates, strict=True)]
    return easy(jobs, processors, estimates, dates.__getitem__)


@pytest.mark.parametrize("reference", [fcfs, conservative], ids=["fcfs", "conservative"])
@examples(30)
@given(log=logs())
def test_policies_with_exact_run_times_agree(
    reference: Callable[[Sequence[Request], int], list[int]], log: Log
) -> None:
    jobs = log[0]
    assert started(reference.__name__, jobs, [run for _, run, _ in jobs]) == reference(jobs, PROCESSORS)


@pytest.mark.parametrize("name", ["easy", "short-first"])
@examples(30)
@given(log=logs())
def test_policies_with_requested_run_times_agree(name: str, log: Log) -> None:
    reference = {"easy": easy, "short-first": short_first}[name]
    assert started(name, *log) == reference(log[0], PROCESSORS, log[1])


def test_short_jobs_first_slow_jobs_down_less_than_easy_and_none_waits_much_longer() -> None:
    drawn = list(lublin(300, 64, 1).jobs())
    jobs = [(int(each.submitted), int(each.run_time or 0), each.pods) for each in drawn]
    easy_slowdown, easy_wait = figures("easy", jobs)
    slowdown, wait = figures("short-first", jobs)
    assert slowdown < easy_slowdown
    assert wait <= 1.2 * easy_wait


def figures(name: str, jobs: Sequence[Request]) -> tuple[float, float]:
    """Return the mean bounded slowdown and the longest wait."""
    starts = started(name, jobs, [run for _, run, _ in jobs], 64)
    waits = [start - arrival for start, (arrival, _, _) in zip(starts, jobs, strict=True)]
    slowdowns = [max(1.0, (wait + run) / max(run, 10)) for wait, (_, run, _) in zip(waits, jobs, strict=True)]
    return sum(slowdowns) / len(slowdowns), max(waits)
