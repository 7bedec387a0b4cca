"""Lending what stays idle, and reclaiming up to the deserved share."""

import pytest

from stromboli.install.recommended import RECOMMENDED
from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import gang, node, nodes, queue, running

PLUGINS = ("priority", "gang", "drf", "predicates")


def policy(plugin: str, *arguments: str, actions: str = "enqueue, allocate, backfill, reclaim") -> str:
    entry = {"name": plugin, "arguments": dict.fromkeys(arguments, True)}
    return configuration(*PLUGINS, entry, actions=actions)


LENDING, MEMBERS = policy("proportion", "lendIdle"), policy("proportion", "reclaimBeyondMinimum")
QUEUES = [queue("left"), queue("right")]
#: The example of the paper on dominant resource fairness: tasks of 1 cpu and 4 GiB, and of 3 cpu and 1 GiB.
DOMINANT = [
    node("a", 9, memory="18Gi"), *QUEUES,
    gang(9, 1, memory="4Gi", name="memory", minimum=1, queue="left"),
    gang(9, 3, memory="1Gi", name="cpu", minimum=1, queue="right"),
]  # fmt: skip
ELASTIC = [nodes(10, 1), QUEUES, running("aaaaaaaaaa", name="old", queue="left", minimum=1)]

CASES = [
    Case("resources are divided one by one", DOMINANT, conf=policy("proportion"), binds="aa------- a--------"),
    Case("what would stay idle is lent", DOMINANT, conf=LENDING, binds="aaa------ aa-------"),
    Case("the recommended configuration lends", DOMINANT, conf=RECOMMENDED, binds="aaa------ aa-------"),
    Case(
        "a queue within its share comes first, whatever the priority of the borrower",
        nodes(4, 1), queue("left", priority=9), queue("right"),
        gang(4, name="many", minimum=1, queue="left"), gang(2, name="own", queue="right"), conf=LENDING,
        binds="aa-- aa",
    ),
    Case(
        "a limit is a limit",
        nodes(8, 1), queue("left", capability={"cpu": 3}), queue("right"),
        gang(8, name="many", minimum=1, queue="left"), gang(1, name="large", queue="right", cpu=9), conf=LENDING,
        binds="aaa----- -",
    ),
    Case(
        "unused guarantees are not lent",
        nodes(8, 1), *QUEUES, queue("kept", guarantee={"cpu": 3}), gang(8, name="many", minimum=1, queue="left"),
        gang(1, name="large", queue="right", cpu=9), conf=LENDING, binds="aaaaa--- -",
    ),
    Case(
        "reclaim takes back what was lent",
        nodes(4, 1), QUEUES, running("aaaa", name="old", queue="left"), gang(2, name="own", queue="right"),
        conf=LENDING, binds="AA", evicts=["old-task-2", "old-task-3"],
    ),
    Case(
        "an elastic job reclaims its minimum only",
        ELASTIC, gang(10, name="new", minimum=1, queue="right"), conf=policy("proportion"), binds="A---------",
        evicts=["old-task-9"],
    ),
    Case(
        "members above the minimum up to the share of the queue",
        ELASTIC, gang(10, name="new", minimum=1, queue="right"), conf=MEMBERS, cycles=3,
        binds="aaaaa-----",
        evicts=[f"old-task-{n}" for n in range(5, 10)],
    ),
    Case(
        "the recommended configuration reclaims up to the share of the queue",
        ELASTIC, gang(10, name="new", minimum=1, queue="right"), conf=RECOMMENDED, cycles=6, binds="aaaaa-----",
        evicts=[f"old-task-{n}" for n in range(5, 10)],
    ),
    Case(
        "capacity: members above the minimum up to the deserved amount",
        nodes(10, 1), queue("left", deserved={"cpu": 6}), queue("right", deserved={"cpu": 4}),
        running("aaaaaaaaaa", name="old", queue="left", minimum=1), gang(10, name="new", minimum=1, queue="right"),
        conf=policy("capacity", "reclaimBeyondMinimum"), cycles=3, binds="aaaa------",
        evicts=[f"old-task-{n}" for n in range(6, 10)],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lending(case: Case) -> None:
    case.check()
