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
#: When the last job arrives, a node is free at every moment of its run or soon after, but not always the same one.
AT_ONCE: list[Request] = [
    (0, 5, 1), (2, 6, 3), (3, 3, 3), (4, 9, 2), (5, 10, 2), (8, 4, 1), (9, 2, 3), (11, 5, 1), (11, 1, 3), (15, 3, 1),
]  # fmt: skip
LATER: list[Request] = [
    (0, 11, 2), (1, 3, 3), (2, 15, 3), (3, 7, 3), (4, 18, 2), (5, 11, 2), (7, 7, 3), (8, 7, 1), (9, 17, 3),
    (11, 6, 1), (11, 4, 2), (11, 2, 3), (11, 1, 1), (13, 12, 3), (13, 13, 2), (15, 3, 1),
]  # fmt: skip


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
    assert starts_of(log, reference.__name__) == reference(log, NODES)


def starts_of(log: Sequence[Request], name: str) -> list[float | None]:
    manifests = [job(f"job-{n:02}", size, 1, run, after=at) for n, (at, run, size) in enumerate(log)]
    began = starts(simulate(nodes(1, NODES), manifests, conf=strategy(name)))
    return [began[f"job-{n:02}"] for n in range(len(log))]


@pytest.mark.parametrize("log", [AT_ONCE, LATER], ids=["at once", "later"])
def test_reservations_of_others_move_to_other_nodes(log: list[Request]) -> None:
    assert starts_of(log, "conservative") == conservative(log, NODES)
