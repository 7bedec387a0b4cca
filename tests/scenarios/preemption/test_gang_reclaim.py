"""Queues reclaim what they deserve, whole gangs at once: from which queues, how much, and when not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stromboli.core.config.plugin import Plugin
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_plugins import HalvesPlugin, RacksForJobs, probe
from tests.testing.manifests.builders import Manifest, budget, gang, gang_of, nodes, pod, priority_class, queue, running

CLASSES = [priority_class("high", 100), priority_class("low", 10)]
QUEUES = [queue("rich"), queue("poor")]
ACTIONS = "enqueue, allocate, gangreclaim"
PLUGINS = ("priority", "gang", "conformance", "proportion", "predicates")
HARD = {"mode": "hard", "highestTierAllowed": 1}


def conf_of(*more: str | Manifest, arguments: Mapping[str, object] | None = None) -> str:
    return configuration(*PLUGINS, *more, actions=ACTIONS, arguments={"gangreclaim": arguments} if arguments else None)


#: A common configuration: shares in the second tier.
TIERS = configuration(["priority", "gang", "conformance"], ["proportion", "predicates"], actions=ACTIONS)
PROMISES = configuration(["priority", "gang", "conformance"], ["capacity", "predicates"], actions=ACTIONS)


def reclaims(
    name: str,
    *world: object,
    binds: str,
    evicts: Sequence[str] = (),
    conf: str | None = None,
    queues: Sequence[Manifest] = QUEUES,
    **more: Any,
) -> Case:
    return Case(
        name, CLASSES, queues, world, conf=conf or conf_of(), binds=binds, evicts=evicts, **more,
    )  # fmt: skip


def within(name: str, *world: object, domains: type[Plugin] = HalvesPlugin, **more: Any) -> Case:
    """Nodes a and b are close together, and so are c and d."""
    conf = conf_of("probe", arguments=more.pop("arguments", None))
    return reclaims(
        name, nodes(2, 4), *world, conf=conf, extensions=[domains], **more,
    )  # fmt: skip


def rich(places: str, name: str = "rich", minimum: int | None = None, cpu: object = 1, **facts: Any) -> list[Manifest]:
    minimum = len(places) if minimum is None else minimum
    return running(places, cpu, name=name, minimum=minimum, **{"queue": "rich", **facts})


def poor(count: int = 2, cpu: object = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, **{"name": "poor", "queue": "poor", **facts})


def members(name: str, count: int) -> list[str]:
    return [f"{name}-task-{number}" for number in range(count)]


def promised(name: str, cpu: int) -> Manifest:
    manifest = queue(name)
    manifest["spec"]["deserved"] = {"cpu": cpu}
    return manifest


def unreclaimable(name: str) -> Manifest:
    manifest = queue(name)
    manifest["spec"]["reclaimable"] = False
    return manifest


SHARES = [
    reclaims("a queue gets back what it deserves", nodes(4, 1), [rich("aa", each) for each in ("one", "two")], poor(),
             binds="AA", evicts=members("two", 2)),
    reclaims("a queue gets no more than it deserves", nodes(4, 1), [rich("aa", each) for each in ("one", "two")],
             poor(3), binds="---"),
    reclaims("a queue at its deserved share loses nothing", nodes(4, 1), rich("aa", "one"),
             rich("aa", "two", queue="poor"), poor(1, name="more"), binds="-"),
    reclaims("shares count in every tier", nodes(4, 1),
             rich("aa", "one"), rich("aa", "two", queue="poor"), poor(1, name="more"), binds="-", conf=TIERS),
    reclaims("and lose what is above it", nodes(4, 1), [rich("aa", each) for each in ("one", "two")], poor(),
             binds="AA", evicts=members("two", 2), conf=TIERS),
    reclaims("shares by weight", nodes(4, 1), [rich("a", f"rich-{n}") for n in range(4)], poor(3), binds="AAA",
             evicts=[f"rich-{n}-task-0" for n in (1, 2, 3)], queues=[queue("rich", 1), queue("poor", 3)]),
    reclaims("a gang is evicted whole though its queue then falls below its deserved share", nodes(4, 1), rich("aaaa"),
             poor(),
             binds="AA", evicts=members("rich", 4)),
    reclaims("the second gang stays once the queue has no more than it deserves", nodes(6, 1),
             [rich("aaa", each) for each in ("one", "two")], poor(3), binds="AAA", evicts=members("two", 3)),
    reclaims("from several queues", nodes(6, 1), rich("aaa", "one", 0), rich("aaa", "two", 0, queue="third"), poor(),
             binds="AA", evicts=["one-task-2", "two-task-2"], queues=[*QUEUES, queue("third")]),
    reclaims("a queue with a guarantee", nodes(4, 1), [rich("a", f"rich-{n}") for n in range(4)], poor(), binds="AA",
             evicts=["rich-2-task-0", "rich-3-task-0"], conf=PROMISES,
             queues=[promised("rich", 2), promised("poor", 2)]),
    reclaims("reclaims no more than its guarantee", nodes(4, 1), [rich("a", f"rich-{n}") for n in range(4)], poor(3),
             binds="---", conf=PROMISES, queues=[promised("rich", 2), promised("poor", 2)]),
    reclaims("without deserved shares every queue may reclaim", nodes(2, 1), rich("aa"), poor(1),
             binds="A", evicts=members("rich", 2),
             conf=configuration("priority", "gang", "predicates", actions=ACTIONS)),
]  # fmt: skip

UNITS = [
    reclaims("spare members of a gang are evicted", nodes(4, 1), rich("aaaa", minimum=1), poor(), binds="AA",
             evicts=["rich-task-2", "rich-task-3"]),
    reclaims("they are evicted before any whole gang", nodes(4, 1), rich("aa", "whole"), rich("aa", "elastic", 1),
             poor(1),
             binds="A", evicts=["elastic-task-1"]),
    reclaims("even before one that is less important", nodes(4, 1), rich("aa", "low", priority="low"),
             rich("aa", "high", 1, priority="high"), poor(1), binds="A", evicts=["high-task-1"]),
    reclaims("a gang without spare members is evicted whole", nodes(6, 1), rich("aa", "whole"),
             rich("aaaa", "elastic", 3), poor(3), binds="AAA", evicts=["elastic-task-3", *members("whole", 2)]),
    reclaims("of two gangs one is enough", nodes(1, 4), rich("ab", "one"), rich("cd", "two"), poor(), binds="AB",
             evicts=members("one", 2)),
    reclaims("the less important gang is evicted", nodes(1, 4), rich("ab", "one", priority="high"),
             rich("cd", "two", priority="low"), poor(), binds="CD", evicts=members("two", 2)),
    reclaims("what is not needed is protected", nodes(1, 6), [rich(each, each) for each in "abcdef"], poor(),
             binds="AB",
             evicts=["a-task-0", "b-task-0"]),
    reclaims("nothing is evicted unless the whole gang fits", nodes(1, 4), rich("ab", "one"),
             rich("cd", "two", labels={"volcano.sh/preemptable": "false"}), poor(3), binds="---",
             queues=[queue("rich", 1), queue("poor", 3)]),
    reclaims("no gang is left broken, wherever its members are", nodes(1, 4), rich("abcd"), poor(1), binds="A",
             evicts=members("rich", 4)),
    reclaims("the broken sub-group is evicted first", nodes(1, 4), rich("ab", "whole"), rich("cd", "torn", 3),
             poor(), binds="CD", evicts=members("torn", 2)),
]  # fmt: skip

RULES = [
    reclaims("whole gangs stay if the action may not evict them", nodes(4, 1),
             [rich("aa", each) for each in ("one", "two")], poor(), binds="--",
             conf=conf_of(arguments={"allowWholeBundle": False})),
    reclaims("spare members are evicted nevertheless", nodes(4, 1), rich("aaaa", minimum=1), poor(), binds="AA",
             evicts=["rich-task-2", "rich-task-3"], conf=conf_of(arguments={"allowWholeBundle": False})),
    reclaims("a queue that is not reclaimable keeps what it has", nodes(4, 1), rich("aaaa"), poor(), binds="--",
             queues=[unreclaimable("rich"), queue("poor")]),
    reclaims("pods that are bound and do not run yet stay", nodes(4, 1), gang_of(
                 *[pod(nodeName="a", phase="Pending") for _ in range(4)], name="rich", queue="rich", phase="Inqueue"),
             poor(), binds="--"),
    reclaims("a PodGroup that its owner protects stays", nodes(4, 1),
             rich("aaaa", notes={"volcano.sh/preemptable": "false"}), poor(), binds="--"),
    reclaims("critical pods stay", nodes(4, 1),
             rich("aaaa", priorityClassName="system-cluster-critical"), poor(), binds="--", conf=TIERS),
    reclaims("a budget protects a whole gang", nodes(4, 1), budget("three", 3, {"app": "x"}),
             rich("aaaa", labels={"app": "x"}), poor(), binds="--"),
    reclaims("nothing is evicted in the preemptor's own queue", nodes(2, 1), rich("aa", queue="poor", priority="low"),
             poor(1, priority="high"), binds="-"),
    reclaims("plugins receive the kind of preemption", nodes(4, 1), rich("aaaa"), poor(), binds="--",
             conf=conf_of("probe"),
             extensions=[probe(
                 evictable=lambda self, context, candidates: [] if context.kind == "reclaim" else candidates)]),
    reclaims("a share in a tree", nodes(5, 1), [rich("a", f"rich-{n}") for n in range(5)], poor(3, minimum=2),
             binds="AA-", evicts=["rich-3-task-0", "rich-4-task-0"],
             conf=configuration("priority", "gang", plugin("drf", enableHierarchy=True), "predicates", actions=ACTIONS),
             queues=[queue(name, annotations={"volcano.sh/hierarchy": f"root/{name}",
                                              "volcano.sh/hierarchy-weights": "1/1"}) for name in ("rich", "poor")]),
    reclaims("and no more than that", nodes(5, 1), [rich("a", f"rich-{n}") for n in range(5)], poor(3), binds="---",
             conf=configuration("priority", "gang", plugin("drf", enableHierarchy=True), "predicates", actions=ACTIONS),
             queues=[queue(name, annotations={"volcano.sh/hierarchy": f"root/{name}",
                                              "volcano.sh/hierarchy-weights": "1/1"}) for name in ("rich", "poor")]),
    reclaims("in the next cycle it starts", nodes(4, 1), [rich("aa", each) for each in ("one", "two")], poor(),
             binds="aa", evicts=members("two", 2), cycles=2),
]  # fmt: skip

DOMAINS = [
    within("victims are selected in one domain", rich("ab", "left", cpu=2), rich("cd", "right", cpu=2),
           poor(2, 2, topology=HARD), binds="AB", evicts=members("left", 2)),
    within("in the one that costs least", rich("ab", "left", cpu=2, priority="high"), rich("cd", "right", cpu=2),
           poor(2, 2, topology=HARD), binds="CD", evicts=members("right", 2)),
    within("only some domains are tried, the widest first", [rich(each, f"on-{each}", cpu=2) for each in "abcd"],
           poor(1, 2, topology=HARD), binds="A", evicts=["on-a-task-0"], domains=RacksForJobs,
           arguments={"maxDomains": 1}),
    within("all queues are reclaimable by default", [rich(each, f"on-{each}", cpu=2) for each in "abcd"],
           poor(1, 2, topology=HARD), binds="D", evicts=["on-d-task-0"], domains=RacksForJobs),
    within("nothing is evicted where no domain is large enough", rich("ac", "one", cpu=2),
           rich("bd", "kept", cpu=2, labels={"volcano.sh/preemptable": "false"}), poor(2, 2, topology=HARD),
           binds="--"),
    within("without a topology the same gang preempts", rich("ac", "one", cpu=2),
           rich("bd", "kept", cpu=2, labels={"volcano.sh/preemptable": "false"}), poor(2, 2), binds="AC",
           evicts=members("one", 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", [*SHARES, *UNITS, *RULES, *DOMAINS], ids=str)
def test_gang_reclaim(case: Case) -> None:
    case.check()
