"""Pods without a request: placed at the end, wherever no filter rejects them."""

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import foreign, gang, gang_of, node, nodes, pod, pods, priority_class, queue

SHARES = configuration("gang", "proportion", "predicates")

CASES = [
    Case("a full node takes a pod without a request", nodes(1, 1), foreign("a"), gang(1, cpu=0), binds="a"),
    Case("a request of no amounts is a request of nothing", nodes(1, 1), gang(1, cpu=None), binds="a"),
    Case(
        "not without the action",
        nodes(1, 1), gang(1, cpu=0), conf=configuration("gang", actions="enqueue, allocate"), binds="-",
    ),
    Case(
        "filters apply to it, too",
        nodes(1, 1), gang(1, cpu=0, nodeSelector={"disk": "ssd"}), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."]},
        codes={"gang": ["NodeSelectorMismatch"]},
    ),
    Case(
        "a node that has all the pods it may",
        nodes(4, 1, pods=1), foreign("a"), gang(1, cpu=0), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 Too many pods."]}, codes={"gang": ["TooManyPods"]},
    ),
    Case("it uses the pod slots of a node", nodes(4, 2, pods=1), gang(3, cpu=0, minimum=0), binds="ab-"),
    Case(
        "it counts for its gang from the start",
        nodes(1, 1), gang_of(pod(), pod(0)), binds="aa", phases={"gang": "Running"},
    ),
    Case(
        "and does not hold the others back",
        nodes(1, 1), gang_of(pod(), pod(0, nodeSelector={"disk": "ssd"})), binds="a-",
    ),
    Case("but cannot replace them", nodes(1, 1), gang_of(pod(2), pod(0)), binds="--"),
    Case(
        "a gang that was not admitted waits as a whole",
        nodes(1, 1), gang(2, cpu=0, resources={"cpu": 2}), conf=configuration("gang", "overcommit", "predicates"),
        binds="--",
    ),
    Case(
        "no quota applies",
        nodes(4, 1), queue("left", capability={"cpu": 1}), gang_of(pod(), *pods(3, 0), queue="left"), conf=SHARES,
        binds="aaaa",
    ),
    Case(
        "by priority",
        nodes(4, 1, pods=1), priority_class("high", 9), gang(1, cpu=0, name="first"),
        gang(1, cpu=0, name="second", priority="high"), conf=configuration("gang", "priority", "predicates"),
        binds="- a",
    ),
    Case(
        "a pod that requests only a gpu has a request",
        nodes(4, 1), gang(1, cpu=None, gpu=1), binds="-",
        reasons={"gang": ["no node has nvidia.com/gpu"]},
    ),
    Case(
        "the better node by its score",
        node("a", 4), node("b", 8), foreign("a"), gang(1, cpu=0), conf=configuration("gang", "nodeorder"), binds="b",
    ),
    Case(
        "a slot that is being released is not free yet",
        nodes(4, 1, pods=1), foreign("a", releasing=True), gang(1, cpu=0), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 Too many pods."]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_backfill(case: Case) -> None:
    case.check()
