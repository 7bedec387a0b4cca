"""Of several queues above their share, the one that is last in the order of queues loses first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, node, nodes, queue, running

BROAD = plugin("gang", enablePreemptable=False, enableReclaimable=False)
#: Without further reasons, the youngest pod is evicted.
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
SHARES: dict[str, str | Manifest] = {
    "proportion": "proportion", "flat capacity": "capacity", "capacity": plugin("capacity", enableHierarchy=True),
}  # fmt: skip
#: A job that starts with one of its pods.
MORE = gang(3, name="more", queue="own", minimum=1)


def conf_of(shares: str | Manifest, action: str) -> str:
    return configuration(BROAD, shares, "predicates", actions=f"allocate, {action}")


def runs(places: str, name: str, created: str, **facts: Any) -> list[Manifest]:
    """Running pods of a queue, in jobs of one pod each."""
    manifests = running(places, name=name, queue=name, minimum=0, **facts)
    for each in manifests:
        each["metadata"]["creationTimestamp"] = created
    return manifests


def loses(name: str, *world: Any, left: int = 0, right: int = 0, **more: Any) -> list[Case]:
    """A case for each plugin and action. Queue left has 4 of 8 cpus, and right has 3; a third queue has one."""
    queues = [queue("left", deserved={"cpu": 1}, priority=left), queue("right", deserved={"cpu": 1}, priority=right)]
    own = [queue("own", 2, deserved={"cpu": 4}), running("a", name="own", queue="own")]
    return [
        Case(f"{title}, {action}: {name}", queues, own, world, conf=conf_of(shares, action), **more)
        for title, shares in SHARES.items()
        for action in ("reclaim", "gangreclaim")
    ]


ORDER = [
    *loses(
        "the queue with the larger share, though its pods are older",
        nodes(8, 1), runs("aaaa", "left", OLD), runs("aaa", "right", YOUNG), MORE, binds="A--", evicts=["left-task-3"],
    ),
    *loses(
        "on whatever node",
        node("a", 5), node("b", 3), runs("aaaa", "left", OLD), runs("bbb", "right", YOUNG),
        MORE, binds="A--", evicts=["left-task-3"],
    ),
    *loses(
        "the queue of lower priority, though its share is smaller",
        nodes(8, 1), runs("aaaa", "left", YOUNG), runs("aaa", "right", OLD), MORE,
        left=1, binds="A--", evicts=["right-task-2"],
    ),
    *loses(
        "whatever the priorities of jobs in different queues",
        nodes(8, 1), runs("aaaa", "left", OLD, priorityClassName="high"), runs("aaa", "right", YOUNG),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100},
        MORE, binds="A--", evicts=["left-task-3"],
    ),
    *loses(
        "the order follows the shares from job to job",
        nodes(8, 1), runs("aaaa", "left", OLD), runs("aaa", "right", YOUNG),
        gang(1, name="one", queue="own"), gang(1, name="two", queue="own"), gang(1, name="three", queue="own"),
        binds="AAA", evicts=["left-task-2", "left-task-3", "right-task-2"],
    ),
]  # fmt: skip


def inside_and_outside(name: str, size: int, evicts: list[str], **mates: Any) -> Case:
    """The parent of the preemptor's queue has one of two cpus that are needed, and queue mate inside can lose one."""
    return Case(
        name, nodes(size, 1), queue("dept", deserved={"cpu": 4}, capability={"cpu": 4}),
        queue("wants", parent="dept", deserved={"cpu": 3}), queue("mate", parent="dept", deserved={"cpu": 1}),
        queue("outside", deserved={"cpu": 4}), running("a", name="own", queue="wants"),
        running("aa", name="mate", queue="mate", **mates), running("aaaaa", name="outside", queue="outside"),
        gang(1, 2, name="wants", queue="wants"), conf=conf_of(SHARES["capacity"], "reclaim"), evicts=evicts,
        binds="A" if evicts else "-",
    )  # fmt: skip


FULL_PARENT = [
    inside_and_outside(
        "victims inside and outside of a full parent together make the capacity",
        8, ["mate-task-1", "outside-task-4"],
    ),
    inside_and_outside("nothing is evicted outside where the node has enough without it", 9, ["mate-task-1"]),
    inside_and_outside(
        "nothing is evicted outside when nothing can be taken inside",
        8, [], labels={"volcano.sh/preemptable": "false"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*ORDER, *FULL_PARENT], ids=str)
def test_victims_by_queue_order(case: Case) -> None:
    case.check()
