"""`starvationTime` in small random workloads: large jobs start although smaller ones arrive all the time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import Manifest, node, queue
from tests.testing.random_clusters.effort import examples
from tests.testing.simulations import job, simulate, starts

TIME = 5
LONGEST = 6


def after(minutes: int | None, **more: Any) -> str:
    arguments = {"allocate": {**({"starvationTime": f"{minutes}m"} if minutes else {}), **more}}
    return configuration("gang", "predicates", "nodeorder", actions="allocate", arguments=arguments)


#: A job: number of pods, cpu of each, minutes of run time and of arrival.
Shape = tuple[int, int, int, int]
#: As many as one in each minute, so that nodes are rarely free.
stream = st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(2, LONGEST)), min_size=30, max_size=30)


def gangs(name: str, shapes: list[Shape], queues: list[str] | None = None) -> list[Manifest]:
    own = queues or ["default"] * len(shapes)
    return [
        each
        for n, (count, cpu, run, at) in enumerate(shapes)
        for each in job(f"{name}-{n}", count, cpu, run, at, queue=own[n])
    ]


@examples(40)
@given(
    runs=st.lists(st.integers(2, LONGEST), min_size=2, max_size=6).filter(lambda runs: len(runs) % 2 == 0),
    arrivals=stream,
    data=st.data(),
)
def test_job_starts_when_the_pods_have_ended_that_ran_when_it_had_waited_too_long(
    runs: list[int], arrivals: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Whatever arrives after it, on nodes that are full at the beginning: it is the first in the order of its queue."""
    nodes = len(runs) // 2
    head = (data.draw(st.integers(1, nodes)), data.draw(st.integers(3, 4)), 1, 1)
    later = [(*shape, minute) for minute, shape in enumerate(arrivals, start=1)]
    fillers = [(1, 2, run, 0) for run in runs]
    cluster = [node(letter, 4) for letter in "abc"[:nodes]]
    found = starts(simulate(cluster, gangs("a", fillers), gangs("head", [head]), gangs("z", later), conf=after(TIME)))
    assert found["head-0"] is not None
    assert found["head-0"] <= 1 + TIME + LONGEST


@examples(40)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, LONGEST), st.integers(0, 9)),
        min_size=2, max_size=10,
    ),
    nodes=st.integers(1, 4),
    most=st.integers(1, 3),
    data=st.data(),
)  # fmt: skip
def test_every_job_that_fits_starts(shapes: list[Shape], nodes: int, most: int, data: st.DataObject) -> None:
    """Reservations of several jobs and queues never wait for each other."""
    shapes = sorted(shapes, key=lambda shape: shape[3])
    queues = [data.draw(st.sampled_from(["red", "blue"])) for _ in shapes]
    cluster = [*(node(letter, 4) for letter in "abcd"[:nodes]), queue("red"), queue("blue")]
    found = starts(simulate(cluster, gangs("job", shapes, queues), conf=after(2, maxStarvingJobs=most)))
    for n, (count, cpu, _, _) in enumerate(shapes):
        assert (found[f"job-{n}"] is not None) == (nodes * (4 // cpu) >= count)


#: The first two of four cpus are used in turn, so that they are never free together.
STREAM = [(1, 2, 4, at) for at in range(0, 60, 2)]


@pytest.mark.parametrize(("time", "start"), [(None, 62), (10, 14), (30, 34)])
def test_stream_of_small_jobs_delays_a_large_one_until_the_time(time: int | None, start: int) -> None:
    cluster = [node("a", 4)]
    assert starts(simulate(cluster, gangs("z", STREAM), job("head", 1, 4, 1, 1), conf=after(time)))["head"] == start


def test_pods_that_never_end_on_the_first_nodes_do_not_keep_it_waiting() -> None:
    """The job gets further nodes after the time has passed again."""
    cluster = [node("a", 4), node("b", 4)]
    stream = gangs("z", [(1, 2, 4, at) for at in range(0, 60, 2) for _ in range(2)])
    found = starts(simulate(cluster, job("a", 1, 1, None), stream, job("head", 1, 4, 1, 1), conf=after(10)))
    assert found["head"] is not None
    assert 1 + 2 * 10 <= found["head"] <= 1 + 2 * 10 + 4
