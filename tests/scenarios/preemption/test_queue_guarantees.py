"""Sets of victims are judged together: guarantees of queues and their ancestors, shares, and gangs as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, nodes, priority_class, queue, running

CLASSES = [priority_class("high", 100), priority_class("low", 10)]
BROAD = plugin("gang", enablePreemptable=False, enableReclaimable=False)
UNRECLAIMABLE = {**queue("other"), "spec": {"weight": 1, "deserved": {"cpu": 4}, "reclaimable": False}}
TREE = plugin("capacity", enableHierarchy=True)


def conf_of(shares: str | Manifest, action: str) -> str:
    return configuration("priority", BROAD, shares, "predicates", actions=f"enqueue, allocate, {action}")


def kept(places: str, minimum: int, name: str = "kept", **facts: Any) -> list[Manifest]:
    return running(places, name=name, minimum=minimum, **{"queue": "kept", **facts})


def wants(count: int, **facts: Any) -> list[Manifest]:
    return gang(count, **{"name": "wants", "queue": "wants", **facts})


def protects(name: str, *world: Any, binds: str, conf: str, kept: Any = 2, **more: Any) -> Case:
    """A case with queues of which one has a guarantee, and does not deserve more."""
    guarantee = {"cpu": kept}
    queues = [queue("kept", guarantee=guarantee, deserved=guarantee), queue("wants", 8, deserved={"cpu": 4})]
    return Case(name, CLASSES, queues, world, binds=binds, conf=conf, **more)


EACH = [(shares, action) for shares in ("proportion", "capacity", TREE) for action in ("reclaim", "gangreclaim")]


def named(shares: str | Manifest, action: str, text: str) -> str:
    tree = "" if isinstance(shares, str) else " with a hierarchy"
    return f"{shares if isinstance(shares, str) else shares['name']}{tree}, {action}: {text}"


def whole_gangs(shares: str | Manifest, action: str) -> list[Case]:
    conf = conf_of(shares, action)
    return [
        protects(
            named(shares, action, "an elastic gang shrinks to the guarantee"),
            nodes(1, 4), kept("abcd", 2), wants(2), conf=conf, binds="DC", evicts=["kept-task-2", "kept-task-3"],
        ),
        protects(
            named(shares, action, "it is not evicted whole when the guarantee would be lost"),
            nodes(4, 2), UNRECLAIMABLE, running("b", 4, name="other", queue="other"),
            kept("aaaa", 2), wants(1, cpu=3), conf=conf, binds="-",
        ),
        protects(
            named(shares, action, "neither is a gang that cannot shrink"),
            nodes(1, 4), kept("abcd", 4), wants(2), conf=conf, binds="--",
        ),
        protects(
            named(shares, action, "of two gangs one leaves, and the other covers the guarantee"),
            nodes(1, 4), kept("ab", 2, "one"), kept("cd", 2, "two"), wants(2), conf=conf,
            binds="BA" if action == "reclaim" else "AB", evicts=["one-task-0", "one-task-1"],
        ),
        protects(
            named(shares, action, "one large pod does not leave either"),
            nodes(4, 1), kept("a", 1, cpu=4), wants(1), conf=conf, binds="-",
        ),
    ]  # fmt: skip


WHOLE_GANGS = [case for shares, action in EACH for case in whole_gangs(shares, action)]

ANCESTORS = [
    Case(
        f"{action}: the guarantee of an ancestor and the loss of {text}",
        CLASSES, queue("dept", guarantee={"cpu": 4}, deserved={"cpu": 4}), queue("left", parent="dept"),
        queue("right", parent="dept"), queue("wants", deserved={"cpu": 4}), nodes(1, 6),
        [running(places, name=name, queue=name.split("-")[0], minimum=2) for name, places in (
            ("left-1", "ab"), ("left-2", "cd"), ("right-1", "ef"))],
        wants(count), conf=conf_of(TREE, action), binds=binds, evicts=evicts,
    )
    for action, binds_of_two in (("reclaim", "BA"), ("gangreclaim", "AB"))
    for text, count, binds, evicts in [
        ("a gang", 2, binds_of_two, ["left-1-task-0", "left-1-task-1"]), ("two of them", 4, "----", []),
    ]
]  # fmt: skip

OWN_QUEUE = [
    protects(
        f"{action}: a guarantee does not protect from more important jobs of the same queue",
        nodes(1, 4), kept("abcd", 4, priority="low"), wants(1, queue="kept", priority="high"), kept=4,
        conf=conf_of("capacity", action), binds=binds, evicts=[f"kept-task-{n}" for n in range(4)],
    )
    for action, binds in (("preempt", "D"), ("gangpreempt", "A"))
]  # fmt: skip

SHARES = [
    Case(
        f"{action}: a gang of 4 with minimum {minimum} in a queue that deserves 2",
        CLASSES, queue("rich", deserved={"cpu": 2}), queue("poor", deserved={"cpu": 4}), nodes(1, 4),
        running("abcd", name="rich", queue="rich", minimum=minimum), gang(3, name="poor", queue="poor"),
        conf=conf_of("capacity", action), binds=binds, evicts=[f"rich-task-{n}" for n in range(4)] if evicts else [],
    )
    for action, binds_of_all in (("reclaim", "DCA"), ("gangreclaim", "ABC"))
    for minimum, binds, evicts in [(2, "---", False), (3, binds_of_all, True)]
]  # fmt: skip


@pytest.mark.parametrize("case", [*WHOLE_GANGS, *ANCESTORS, *OWN_QUEUE, *SHARES], ids=str)
def test_sets_of_victims(case: Case) -> None:
    case.check()
