"""sla in random clusters: jobs that bind have no later deadline than those that wait."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import gang, node
from tests.testing.random_clusters.effort import examples

#: The minute of the day at which a job arrived, and the minutes it may wait; 0 for no deadline.
jobs = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 90)), min_size=1, max_size=8)


@examples(100)
@given(jobs=jobs, capacity=st.integers(0, 8), usual=st.integers(0, 90))
def test_jobs_bind_in_deadline_order(jobs: list[tuple[int, int]], capacity: int, usual: int) -> None:
    gangs = [
        gang(
            1, name=f"job{place}", created=f"2026-03-01T10:{minute:02}:00Z",
            notes={"volcano.sh/sla-waiting-time": f"{agreed}m"} if agreed else None,
        )
        for place, (minute, agreed) in enumerate(jobs)
    ]  # fmt: skip
    conf = configuration("gang", plugin("sla", {"sla-waiting-time": f"{usual}m" if usual else ""}))
    plan = Case("", node("a", capacity), gangs, binds="").plan(conf)
    keys = [(minute + (agreed or usual or math.inf), minute) for minute, agreed in jobs]
    bound = [f"default/job{place}-task-0" in plan.binds for place in range(len(jobs))]
    assert sum(bound) == min(capacity, len(jobs))
    served = [key for key, is_bound in zip(keys, bound, strict=True) if is_bound]
    left = [key for key, is_bound in zip(keys, bound, strict=True) if not is_bound]
    assert not served or not left or max(served) <= min(left)
