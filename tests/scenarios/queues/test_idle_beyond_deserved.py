"""A queue reclaims what it deserves for pods that use idle resources beyond it, and takes nothing beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import GPU, Manifest, gang, node, queue, running

BROAD = plugin("gang", enablePreemptable=False, enableReclaimable=False)
TREE = plugin("capacity", enableHierarchy=True)


def conf_of(shares: str | Manifest, action: str) -> str:
    return configuration(BROAD, shares, "predicates", actions=f"allocate, {action}")


def rich(places: str, cpu: object = 1, name: str = "rich", **facts: Any) -> list[Manifest]:
    return running(places, cpu, name=name, queue="rich", gpu=1, minimum=0, **facts)


def poor(count: int, cpu: object, gpu: int = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="poor", queue="poor", gpu=gpu, **facts)


def reclaims(name: str, *world: Any, **more: Any) -> list[Case]:
    """A case for each kind of queues and each action."""
    queues = [queue("poor", deserved={"cpu": 2, GPU: 2}), queue("rich", deserved={"cpu": 4, GPU: 2})]
    return [
        Case(f"{title}, {action}: {name}", queues, world, conf=conf_of(shares, action), **more)
        for title, shares in (("flat", "capacity"), ("tree", TREE))
        for action in ("reclaim", "gangreclaim")
    ]


CASES = [
    *reclaims(
        "the pod gets the GPU that its queue deserves, and idle cpu beyond it",
        node("a", 16, gpu=4), rich("aaaa"), poor(1, 4), binds="A", evicts=["rich-task-3"],
    ),
    *reclaims(
        "cpu beyond it is not taken",
        node("a", 16, gpu=4), rich("aaaa", 4), poor(1, 4), binds="-",
        codes={"poor": ["InsufficientResource", "QueueShareExhausted"]},
    ),
    *reclaims(
        "where some of it is idle, it must be enough",
        node("a", 7, gpu=4), rich("aaaa"), poor(1, 4), binds="-",
    ),
    *reclaims(
        "victims are on nodes with idle cpu, though others are younger",
        node("a", 16, gpu=2), node("b", 8, gpu=2), rich("aa", 1, "one"), rich("bb", 4, "two"), poor(1, 4),
        binds="A", evicts=["one-task-1"],
    ),
    *reclaims(
        "the idle cpu serves as many pods as it can",
        node("a", 12, gpu=4), rich("aaaa"), poor(2, 4), binds="AA", evicts=["rich-task-2", "rich-task-3"],
    ),
    *reclaims(
        "and no more",
        node("a", 11, gpu=4), rich("aaaa"), poor(2, 4), binds="--",
    ),
    *reclaims(
        "the GPU itself must be deserved",
        node("a", 16, gpu=4), running("a", name="own", queue="poor", gpu=2), rich("aa"), poor(1, 1), binds="-",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_idle_resources_beyond_deserved(case: Case) -> None:
    case.check()
