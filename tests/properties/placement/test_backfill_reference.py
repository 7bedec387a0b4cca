"""Backfilling on identical nodes starts every job in the same minute as on a pool of processors."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.testing.manifests.builders import nodes
from tests.testing.queueing_reference import Request, conservative, easy
from tests.testing.random_clusters.effort import examples
from tests.testing.simulations import job, simulate, starts, strategy

NODES = 6


@st.composite
def logs(draw: st.DrawFn) -> list[Request]:
    """Up to twelve jobs; each arrives some minutes after the one before."""
    arrival, jobs = 0, []
    for gap, run_time, size in draw(
        st.lists(
            st.tuples(st.integers(1, 4), st.integers(1, 30), st.integers(1, NODES)), min_size=3, max_size=12
        )
    ):  # fmt: skip
        jobs.append((arrival, run_time, size))
        arrival += gap
    return jobs


@pytest.mark.parametrize("reference", [easy, conservative], ids=["easy", "conservative"])
@examples(30)
@given(log=logs())
def test_jobs_start_with_the_reference(
    reference: Callable[[Sequence[Request], int], list[int]], log: list[Request]
) -> None:
    manifests = [job(f"job-{n:02}", size, 1, run, after=at) for n, (at, run, size) in enumerate(log)]
    began = starts(simulate(nodes(1, NODES), manifests, conf=strategy(reference.__name__)))
    assert [began[f"job-{n:02}"] for n in range(len(log))] == reference(log, NODES)
