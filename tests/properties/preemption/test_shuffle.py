"""shuffle and rescheduling in random clusters: no pod is evicted against a budget, a gang, or without benefit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import budget, nodes, running
from tests.testing.manifests.node_usage import measured
from tests.testing.random_clusters.effort import examples

LETTERS, APPS = "abcd", ("web", "database", "none")
TARGET = 50


def conf() -> str:
    params = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": TARGET}}
    own = plugin("rescheduling", {"strategies": [{"name": "lowNodeUtilization", "params": params}]})
    return configuration("gang", "predicates", own, actions="allocate, shuffle")


jobs = st.lists(
    st.fixed_dictionaries(
        {
            "places": st.text(LETTERS, min_size=1, max_size=5),
            "minimum": st.integers(0, 5),
            "app": st.sampled_from(APPS),
            "cpu": st.sampled_from([1, 2, 3]),
        }
    ),
    min_size=1,
    max_size=5,
)
#: Little, some, a little too much, and far too much.
loads = st.lists(st.sampled_from([0, 10, 30, 51, 52, 54, 60, 90]), min_size=4, max_size=4)


@examples(80)
@given(jobs=jobs, loads=loads, web=st.integers(0, 4), database=st.integers(0, 4))
def test_every_eviction_is_allowed_and_useful(
    jobs: list[dict[str, Any]], loads: list[int], web: int, database: int
) -> None:
    allowed = {"web": web, "database": database}
    world = [
        nodes(100, 4),
        [measured(name, load) for name, load in zip(LETTERS, loads, strict=True)],
        [budget(app, number, {"app": app}) for app, number in allowed.items()],
        [
            running(job["places"], job["cpu"], name=f"job{number}", minimum=job["minimum"], labels={"app": job["app"]})
            for number, job in enumerate(jobs)
        ],
    ]
    plan = Case("", world, binds="").plan(conf())
    gone = {key.partition("/")[2] for key in plan.evictions}
    moved = [(number, int(name.rpartition("-")[2])) for name in gone
             for number in [int(name.partition("-")[0].removeprefix("job"))]]  # fmt: skip
    spent = Counter(jobs[number]["app"] for number, _ in moved)
    assert all(spent[app] <= number for app, number in allowed.items())
    lost = Counter(number for number, _ in moved)
    for number, count in lost.items():
        left = len(jobs[number]["places"]) - count
        assert left >= jobs[number]["minimum"] or len(jobs[number]["places"]) == 1
    load = dict(zip(LETTERS, loads, strict=True))
    assert not moved or min(loads) < 20, "there is a node with little to do"
    for number, place in moved:
        assert load[jobs[number]["places"][place]] > TARGET, "a victim leaves a busy node"
    for name in LETTERS:
        sizes = [jobs[number]["cpu"] for number, place in moved if jobs[number]["places"][place] == name]
        assert not sizes or load[name] - sum(sizes) + max(sizes) > TARGET, "without the last one it was busy yet"
