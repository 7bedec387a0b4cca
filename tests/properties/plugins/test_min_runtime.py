"""minruntime in random clusters: a job keeps its minimum until its time is over, for every action."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import gang, namespace, nodes, queue, running
from tests.testing.random_clusters.effort import examples

#: For each job: pods, minimum, and the minute before the hour at which it started.
jobs = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 59)), min_size=1, max_size=4)
actions = st.sampled_from(["evict-preemptable", "evict-reclaimable", "evict-for-preemption", "evict-for-reclaim"])


@examples(40)
@given(jobs=jobs, action=actions, runtime=st.integers(1, 60), above=st.booleans())
def test_victim_was_above_minimum_or_past_its_minimum_runtime(
    jobs: list[tuple[int, int, int]], action: str, runtime: int, above: bool
) -> None:
    clock = {**namespace("clock"), "metadata": {"name": "clock", "creationTimestamp": "2026-03-01T11:00:00Z"}}
    standing = [
        running(
            "a" * size, name=f"job{place}", minimum=minimum, placed=f"2026-03-01T10:{minute:02}:00Z", queue="theirs"
        )
        for place, (size, minimum, minute) in enumerate(jobs)
    ]
    given_time = {"defaultPreemptMinRuntime": f"{runtime}m", "defaultReclaimMinRuntime": f"{runtime}m"}
    guard = [plugin("minruntime", given_time)]
    conf = configuration(*((["conformance"], guard) if above else (guard, ["conformance"])), actions=action)
    preemptor = gang(1, cpu=99, name="late")
    world = (clock, queue("theirs"), nodes(20, 1), standing, preemptor)
    evicted = Case("", *world, binds="", extensions=PROBE_ACTIONS).plan(conf).evictions
    for place, (size, minimum, minute) in enumerate(jobs):
        gone = sum(1 for pod in evicted if pod.startswith(f"default/job{place}-"))
        needed = max(minimum, 1) if minute + runtime > 60 else 0
        assert gone == max(size - needed, 0)
