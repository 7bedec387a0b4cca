"""Guarantees beyond the cluster are cut in proportion, reported, and starve no other queue."""

from __future__ import annotations

import pytest

from stromboli.core.model.queues.guarantees import affordable
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import ResourceAxis
from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import gang, nodes, queue, running

ACTIONS = "enqueue, allocate, reclaim"


TOO_MUCH = "all queues together are guaranteed more cpu than the cluster has (12)"
KEPT = (("large", "9600m"), ("small", "2400m"))
WARNINGS = [f"Queue {name}: spec.guarantee.resource: {TOO_MUCH}; {kept} counts" for name, kept in KEPT]
CASES = [
    Case(
        f"a queue with a smaller guarantee gets its part back ({name})",
        nodes(12, 1), queue("large", guarantee={"cpu": "1000000"}), queue("small", guarantee={"cpu": "3"}),
        running("a" * 12, queue="large", name="old"), gang(2, name="new", queue="small"),
        conf=configuration("gang", name, "predicates", actions=ACTIONS), binds="AA",
        evicts=["old-task-10", "old-task-11"], warnings=WARNINGS,
    )
    for name in ("proportion", "capacity")
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_guarantees_beyond_the_cluster(case: Case) -> None:
    case.check()


@pytest.mark.parametrize(
    ("guarantees", "expected"),
    [
        ([4, 6], [4, 6]),
        ([10**6, 2], [8, 1]),
        ([10, 10], [5, 5]),
        ([0, 11], [0, 10]),
    ],
)  # fmt: skip
def test_affordable_guarantees_of_ten_cpu(guarantees: list[int], expected: list[int]) -> None:
    queues = {str(n): Queue(str(n), str(n), guarantee=((0, 1000 * each),)) for n, each in enumerate(guarantees)}
    found, messages = affordable(queues, [10_000, 0, 0], ResourceAxis())
    assert [dict(each.guarantee).get(0, 0) // 1000 for each in found.values()] == expected
    assert bool(messages) == (expected != guarantees)
