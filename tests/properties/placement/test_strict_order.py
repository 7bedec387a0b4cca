"""Strict queues in small random workloads: jobs that compete for the same nodes start in the order of their queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import node, queue
from tests.testing.random_clusters.effort import examples
from tests.testing.simulations import job, simulate

#: A job: pods, cpu of each, minutes of run time and of arrival, its queue, and the label of the nodes that it selects.
Shape = tuple[int, int, int, int, str, str]
shapes = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.integers(1, 5),
        st.integers(1, 12),
        st.integers(0, 9),
        st.sampled_from(["red", "blue"]),
        st.sampled_from(["x", "y"]),
    ),
    min_size=2,
    max_size=9,
)
CPUS = 4
PLUGINS = ("gang", "predicates", "nodeorder")


def started(jobs: list[Shape], sizes: dict[str, int], conf: str, strategy: str | None = None) -> list[float | None]:
    """Return when each job starts, on as many nodes with each label as `sizes` has."""
    nodes = [node(f"{label}{n}", CPUS, labels={"pool": label}) for label, count in sizes.items() for n in range(count)]
    queues = [queue(name, strategy=strategy) for name in ("red", "blue")]
    gangs = [
        job(f"job-{n}", count, cpu, run, after, queue=own, nodeSelector={"pool": pool})
        for n, (count, cpu, run, after, own, pool) in enumerate(jobs)
    ]
    records = simulate(nodes, queues, gangs, conf=conf).jobs
    return [records[f"default/job-{n}"].started for n in range(len(jobs))]


@examples(60)
@given(jobs=shapes, x=st.integers(1, 3), y=st.integers(0, 2), field=st.booleans())
def test_jobs_that_compete_start_in_the_order_of_their_queue(jobs: list[Shape], x: int, y: int, field: bool) -> None:
    """By the field of the queue or by the argument of the action; and every job that fits its nodes starts."""
    jobs, sizes = sorted(jobs, key=lambda shape: shape[3]), {"x": x, "y": y}
    conf = configuration(*PLUGINS, actions="allocate", arguments={"allocate": {"strict": not field}})
    starts = started(jobs, sizes, conf, "fifo" if field else None)
    last: dict[tuple[str, str], float] = {}
    for (count, cpu, _, _, own, pool), start in zip(jobs, starts, strict=True):
        assert (start is not None) == (sizes[pool] * (CPUS // cpu) >= count)
        if start is not None:
            assert start >= last.get((own, pool), 0.0)
            last[own, pool] = start


@examples(40)
@given(jobs=shapes, x=st.integers(1, 3))
def test_jobs_of_other_pools_start_as_if_they_were_alone(jobs: list[Shape], x: int) -> None:
    """Removing all jobs that select other nodes changes nothing for those of a pool, with a queue of their own."""
    jobs = [(*shape[:4], "red", shape[5]) for shape in sorted(jobs, key=lambda shape: shape[3])]
    sizes = {"x": x, "y": 2}
    conf = configuration(*PLUGINS, actions="allocate", arguments={"allocate": {"strict": True}})
    alone = [shape for shape in jobs if shape[5] == "x"]
    together = [start for shape, start in zip(jobs, started(jobs, sizes, conf), strict=True) if shape[5] == "x"]
    assert together == started(alone, sizes, conf)
