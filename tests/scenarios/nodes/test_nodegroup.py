"""Queues run on their node groups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, foreign, gang, node, priority_class, queue, running

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LIMITS = "volcano.sh/nodegroup-resource-limits"

CONF = configuration("gang", "predicates", "nodegroup")
LENIENT = configuration("gang", "predicates", plugin("nodegroup", {"strict": False}))
IN_ORDER = configuration("gang", "predicates", plugin("nodegroup", {"enablePreferredOrder": True}))
TREE = configuration("gang", "predicates", plugin("nodegroup", enableHierarchy=True))


def grouped(places: str, cpu: object = 4) -> list[Manifest]:
    """`a:red b` are two nodes, one of them in a group."""
    words = [word.partition(":") for word in places.split()]
    return [node(name, cpu, labels={"volcano.sh/nodegroup-name": group} if group else {}) for name, _, group in words]


def using(
    *, required: str = "", preferred: str = "", forbidden: str = "", disliked: str = "", **facts: Any
) -> Manifest:
    """The queue `team`; groups are separated by spaces."""
    near = {REQUIRED: required.split(), PREFERRED: preferred.split()}
    away = {REQUIRED: forbidden.split(), PREFERRED: disliked.split()}
    affinity = {"nodeGroupAffinity": near, "nodeGroupAntiAffinity": away}
    return queue(facts.pop("name", "team"), affinity=affinity, **facts)


TEAM = gang(1, queue="team")
COLOURS = grouped("a:red b:blue c:green d")
ELSEWHERE = "node does not satisfy the node group affinity"
NO_LABEL = "node group label not found"
NO_AFFINITY = "node group affinity not specified"

BELONGING = [
    Case("a queue runs where it must", COLOURS, using(required="blue"), TEAM, conf=CONF, binds="b"),
    Case("or where it prefers", COLOURS, using(preferred="green"), TEAM, conf=CONF, binds="c"),
    Case("or where it would rather not", COLOURS, using(disliked="green"), TEAM, conf=CONF, binds="c"),
    Case("never where it must not", grouped("a:red"), using(forbidden="red"), TEAM, conf=CONF, binds="-"),
    Case(
        "nowhere else", grouped("a:red b:red c"), using(required="blue"), TEAM, conf=CONF, binds="-",
        reasons={"gang": [f"0/3 nodes are available: 2 {ELSEWHERE}, 1 {NO_LABEL}."]},
        codes={"gang": ["NodeGroupMismatch"]},
    ),
    Case(
        "groups to avoid do not name groups to use", grouped("a:red b:blue"), using(forbidden="red"), TEAM, conf=CONF,
        binds="-", reasons={"gang": [f"0/2 nodes are available: 2 {ELSEWHERE}."]},
    ),
    Case(
        "a group to use counts more than the same to avoid", grouped("a:red"), using(required="red", forbidden="red"),
        TEAM, conf=CONF, binds="a",
    ),
    Case(
        "must not counts more than would rather not", grouped("a:red"), using(forbidden="red", disliked="red"), TEAM,
        conf=CONF, binds="-",
    ),
    Case(
        "a queue that names no group runs nowhere", COLOURS, queue("team"), TEAM, conf=CONF, binds="-",
        reasons={"gang": [f"0/4 nodes are available: 3 {NO_AFFINITY}, 1 {NO_LABEL}."]},
    ),
    Case("unless nodes without a group are open", COLOURS, queue("team"), TEAM, conf=LENIENT, binds="d"),
    Case("which they are not for a queue with groups", COLOURS, using(required="no"), TEAM, conf=LENIENT, binds="-"),
    Case("an affinity without any group is none", COLOURS, using(), TEAM, conf=LENIENT, binds="d"),
    Case(
        "queues side by side", COLOURS, using(required="blue"), using(name="other", required="green"),
        gang(2, queue="team", name="one"), gang(2, queue="other", name="two"), conf=CONF, binds="bb cc",
    ),
    Case(
        "equal pods of two queues", grouped("a:red b:blue"), using(required="red"),
        using(name="other", required="blue"), gang(1, name="one", queue="other"), gang(1, name="two", queue="team"),
        gang(1, name="three", queue="other"), conf=CONF, binds="bab",
    ),
    Case(
        "a gang that its groups cannot hold waits whole", grouped("a:red b:blue", cpu=2), using(required="red"),
        gang(3, queue="team"), conf=CONF, binds="---",
    ),
    Case(
        "pods without a request stay in the groups, too", COLOURS, using(required="blue"),
        gang(1, cpu=None, queue="team"), conf=CONF, binds="b",
    ),
]  # fmt: skip

PREFERENCE = [
    Case("required before preferred", COLOURS, using(preferred="red", required="blue"), TEAM, conf=CONF, binds="b"),
    Case("preferred before avoided", COLOURS, using(disliked="red", preferred="green"), TEAM, conf=CONF,
         binds="c"),
    Case("both is best of all", COLOURS, using(required="red blue", preferred="blue"), TEAM, conf=CONF, binds="b"),
    Case("all preferred groups are equal", COLOURS, using(preferred="green red"), TEAM, conf=CONF, binds="a"),
    Case("unless their order counts", COLOURS, using(preferred="green red"), TEAM, conf=IN_ORDER, binds="c"),
    Case(
        "the next best when the best is full", COLOURS, foreign("c", 4), using(preferred="green red blue"), TEAM,
        conf=IN_ORDER, binds="a",
    ),
]  # fmt: skip

BELOW = queue("team", parent="division")

HIERARCHY = [
    Case("what is above a queue counts for it", COLOURS, using(name="division", required="blue"), BELOW, TEAM,
         conf=TREE, binds="b"),
    Case(
        "far above, too", COLOURS, using(name="top", required="green"), queue("division", parent="top"), BELOW, TEAM,
        conf=TREE, binds="c",
    ),
    Case("the root is above all queues", COLOURS, using(name="root", required="red"), BELOW, queue("division"), TEAM,
         conf=TREE, binds="a"),
    Case(
        "its own word counts first", COLOURS, using(name="division", required="blue"),
        using(required="red", parent="division"), TEAM, conf=TREE, binds="a",
    ),
    Case("nothing is inherited unless it is switched on", COLOURS, using(name="division", required="blue"), BELOW,
         TEAM, conf=CONF, binds="-"),
    Case(
        "queues in a circle name no group", COLOURS, queue("division", parent="team"), BELOW, TEAM, conf=TREE,
        binds="-", warnings=[
            "Queue division: spec.parent: the queue is its own ancestor; the queue hangs below the root",
            "Queue team: spec.parent: the queue is its own ancestor; the queue hangs below the root",
        ],
    ),
]  # fmt: skip


def limited(limits: object, required: str = "red blue") -> Manifest:
    text = limits if isinstance(limits, str) else json.dumps(limits)
    return using(required=required, annotations={LIMITS: text})


REDS = grouped("a:red b:red c:blue")
EXCEEDED = "node group resource limit exceeded"

LIMITED = [
    Case("no more than the limit of a group", REDS, limited({"red": {"cpu": 3}}), gang(5, queue="team"), conf=CONF,
         binds="aaacc"),
    Case(
        "the limit is over all nodes of the group", REDS, limited({"red": {"cpu": "5"}}, "red"),
        gang(6, minimum=0, queue="team"), conf=CONF, binds="aaaab-",
    ),
    Case(
        "why it waits", grouped("a:red"), limited({"red": {"cpu": 1}}), gang(1, cpu=2, queue="team"), conf=CONF,
        binds="-", reasons={"gang": [f"0/1 nodes are available: 1 {EXCEEDED}."]},
        codes={"gang": ["NodeGroupLimitExceeded"]},
    ),
    Case("what runs there counts", REDS, limited({"red": {"cpu": 3}}, "red"), running("ab", queue="team"),
         gang(2, minimum=0, queue="team"), conf=CONF, binds="a-"),
    Case("what others run there does not", REDS, limited({"red": {"cpu": 1}}, "red"), foreign("a"), running("b"),
         TEAM, conf=CONF, binds="a"),
    Case("what leaves is no longer counted", REDS, limited({"red": {"cpu": 1}}, "red"),
         running("a", queue="team", releasing=True), TEAM, conf=CONF, binds="a"),
    Case("a resource that is not named is not limited", REDS, limited({"red": {"memory": "1Gi"}}, "red"),
         gang(2, queue="team"), conf=CONF, binds="aa"),
    Case("a group that is not named is not limited", REDS, limited({"red": {"cpu": 1}}, "blue"), gang(2, queue="team"),
         conf=CONF, binds="cc"),
    Case("a pod without the resource is not limited by it", REDS, limited({"red": {"memory": 0}}, "red"), TEAM,
         conf=CONF, binds="a"),
    Case("a resource that no node has limits no queue", REDS, limited({"red": {"rdma/hca": 1}}, "red"), TEAM, conf=CONF,
         binds="a"),
    Case(
        "a gang that was rolled back releases what it took", REDS, limited({"red": {"cpu": 4}}, "red"),
        gang(5, queue="team", name="big"), gang(4, queue="team", name="fits"), conf=CONF, binds="----- aaaa",
    ),
    *(
        Case(
            f"limits that make no sense: {text}", REDS, limited(text), TEAM, conf=CONF, binds="-",
            reasons={"gang": ["0/3 nodes are available: 3 node group resource limit annotation invalid."]},
            codes={"gang": ["InvalidObject"]},
            warnings=[f"Queue team: annotation {LIMITS}: {why}; its pods are not placed"],
        )
        for text, why in (
            ("red=1", """write limits like {"group": {"cpu": "8"}}, not 'red=1'"""),
            ('{"red": 1}', """write limits like {"group": {"cpu": "8"}}, not '{"red": 1}'"""),
            ('{"red": {"cpu": true}}', "red.cpu: expected a quantity, got True"),
        )
    ),
]  # fmt: skip


PREEMPTING = configuration(["priority", "gang"], ["nodegroup", "predicates"], actions="enqueue, allocate, preempt")
HIGH = priority_class("high", 9)
URGENT = gang(1, name="urgent", priority="high", queue="team")

PREEMPTION = [
    Case("an evicted pod returns its use of a limit", HIGH, REDS, limited({"red": {"cpu": 1}}, "red"),
         running("a", queue="team"), URGENT, conf=PREEMPTING, evicts=["old-task-0"], binds="A"),
    Case("a limit applies to an urgent job, too", HIGH, REDS, limited({"red": {"cpu": 1}}, "red"),
         running("a", queue="team", priority="high"), URGENT, conf=PREEMPTING, binds="-"),
    Case("victims are selected where the queue may run", HIGH, grouped("a:red b:blue", cpu=1), using(required="blue"),
         using(name="other", required="red"), running("a", name="one", queue="other"),
         running("b", name="two", queue="team"), URGENT, conf=PREEMPTING, evicts=["two-task-0"], binds="B"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*BELONGING, *PREFERENCE, *HIERARCHY, *LIMITED, *PREEMPTION], ids=str)
def test_nodegroup(case: Case) -> None:
    case.check()
