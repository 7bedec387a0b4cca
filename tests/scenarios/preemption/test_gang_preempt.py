"""Whole gangs preempt less important jobs of their queue: all at once, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stromboli.core.config.plugin import Plugin
from tests.testing.cases.case import Case, configuration
from tests.testing.cases.probe_plugins import HalvesPlugin, NoDomainPlugin, RacksForJobs, SubJobHalvesPlugin, probe
from tests.testing.manifests.builders import (
    Manifest,
    budget,
    gang,
    gang_of,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 10)]
PLUGINS = ("priority", "gang", "conformance", "predicates")
ACTIONS = "enqueue, allocate, gangpreempt"
HARD = {"mode": "hard", "highestTierAllowed": 1}
SOFT = {"mode": "soft"}
ROLES = ("driver", "worker", "worker")
NO_DOMAIN = "no allowed domain has enough capacity, even without all preemptable pods"
NOT_OFFERED = "no domain fits the 1 pod it needs: no node is in any domain"
NO_GANGS = {"allowWholeBundle": False}


def conf_of(*more: str | Manifest, arguments: Mapping[str, object] | None = None) -> str:
    return configuration(*PLUGINS, *more, actions=ACTIONS, arguments={"gangpreempt": arguments} if arguments else None)


def preempts(
    name: str, *world: object, binds: str, evicts: Sequence[str] = (), conf: str | None = None, **more: Any
) -> Case:
    return Case(name, CLASSES, world, conf=conf or conf_of(), binds=binds, evicts=evicts, **more)


def within(name: str, *world: object, domains: type[Plugin] = HalvesPlugin, **more: Any) -> Case:
    """Nodes a and b are close together, and so are c and d."""
    arguments = more.pop("arguments", None)
    conf = conf_of("probe", arguments=arguments)
    return preempts(name, nodes(2, 4), *world, conf=conf, extensions=[domains], **more)


def job(places: str, name: str, minimum: int | None = None, cpu: object = 1, **facts: Any) -> list[Manifest]:
    """A running gang; by default it needs all its members."""
    minimum = len(places) if minimum is None else minimum
    return running(places, cpu, name=name, minimum=minimum, **{"priority": "low", **facts})


def urgent(count: int = 2, cpu: object = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="urgent", priority="high", **facts)


def members(name: str, count: int) -> list[str]:
    return [f"{name}-task-{number}" for number in range(count)]


AT_ONCE = [
    preempts("a gang preempts another", nodes(1, 2), job("ab", "pair"), urgent(), binds="AB",
             evicts=members("pair", 2)),
    preempts("an equally important gang stays", nodes(1, 2), job("ab", "pair", priority="high"), urgent(), binds="--",
             codes={"urgent": ["InsufficientResource", "NoPreemptablePods"]}),
    preempts("a free node is used beside", nodes(1, 3), job("ab", "pair"), urgent(3), binds="CAB",
             evicts=members("pair", 2)),
    preempts("a small gang stays if a large one suffices", nodes(4, 3), job("aa", "pair"), job("aabbcc", "six"),
             job("bbcc", "equal", priority="high"), urgent(4), binds="AABB", evicts=members("six", 6)),
    preempts("nothing is evicted where there is free capacity", nodes(1, 4), job("ab", "pair"), urgent(), binds="cd"),
    preempts("nothing is evicted when the whole gang does not fit", nodes(1, 2), job("ab", "pair"), urgent(3),
             binds="---", codes={"urgent": ["ExceedsCluster"]}),
    preempts("nothing is evicted when no single node fits, though the sum of all suffices", nodes(2, 2),
             job("aabb", "four"),
             urgent(1, cpu=4), binds="-", codes={"urgent": ["ExceedsEveryNode"]}),
    preempts("nothing is evicted in another queue", nodes(1, 2), queue("other"), job("ab", "pair", queue="other"),
             urgent(),
             binds="--"),
    preempts("a gang waits whose members never preempt", nodes(1, 2), job("ab", "pair"),
             gang_of(pod(preemptionPolicy="Never"), pod(), name="urgent", priority="high"), binds="--",
             codes={"urgent": ["InsufficientResource", "PreemptionPolicyNever"]}),
    preempts("of two waiting gangs the more important is served first", nodes(1, 2), job("ab", "pair"),
             gang(2, name="soon", priority="middle"), urgent(), binds="-- AB", evicts=members("pair", 2)),
    preempts("the minimum is enough", nodes(1, 3), job("ab", "pair"), job("c", "equal", priority="high"),
             urgent(3, minimum=2), binds="AB-", evicts=members("pair", 2)),
    preempts("members of different shapes", node("a", 4), node("b", 1), job("a", "large", cpu=4), job("b", "small"),
             gang_of(pod(3), pod(1), name="urgent", priority="high"), binds="AA", evicts=members("large", 1)),
    preempts("two resources", node("a", 2, "8Gi", 2), node("b", 2, "8Gi"),
             job("a", "with-gpu", cpu=1, gpu=2), job("b", "without", cpu=2),
             gang_of(pod(1, gpu=1), pod(2), name="urgent", priority="high"), binds="AB",
             evicts=["with-gpu-task-0", "without-task-0"]),
    preempts("a job that is not admitted does not preempt", nodes(1, 2), job("ab", "pair"),
             urgent(resources={"cpu": 100}), binds="--",
             conf=configuration(*PLUGINS, "overcommit", actions=ACTIONS)),
    preempts("in the next cycle it starts", nodes(1, 3), job("ab", "pair"), urgent(3), binds="cab",
             evicts=members("pair", 2), cycles=2),
]  # fmt: skip

UNITS = [
    preempts("spare members of a gang are evicted", nodes(1, 4), job("abcd", "elastic", 2), urgent(), binds="DC",
             evicts=["elastic-task-2", "elastic-task-3"]),
    preempts("they are evicted before any whole gang", nodes(1, 4), job("ab", "pair"), job("cd", "elastic", 0),
             urgent(),
             binds="DC", evicts=members("elastic", 2)),
    preempts("even before one that is less important", nodes(1, 3), job("a", "alone"),
             job("bc", "elastic", 1, priority="middle"), urgent(1), binds="C", evicts=["elastic-task-1"]),
    preempts("a gang without spare members is evicted whole", nodes(1, 4), job("ab", "pair"), job("cd", "elastic", 1),
             urgent(3), binds="ABD", evicts=["elastic-task-1", *members("pair", 2)]),
    preempts("no gang is left broken, wherever its members are", nodes(1, 4), job("acd", "three"),
             job("b", "equal", priority="high"), urgent(1), binds="A", evicts=members("three", 3)),
    preempts("of two gangs the smaller one is evicted", nodes(1, 5), job("abc", "three"), job("de", "pair"), urgent(),
             binds="DE", evicts=members("pair", 2)),
    preempts("two small gangs are evicted if none suffices alone", nodes(1, 4), job("ab", "one"), job("cd", "two"),
             urgent(3),
             binds="ABC", evicts=[*members("one", 2), *members("two", 2)]),
    preempts("the less important gang is evicted", nodes(1, 4), job("ab", "middle", priority="middle"),
             job("cd", "low"),
             urgent(), binds="CD", evicts=members("low", 2)),
    preempts("a less important gang is evicted even if it is larger", nodes(1, 5),
             job("ab", "middle", priority="middle"),
             job("cde", "low"), urgent(), binds="CD", evicts=members("low", 3)),
    preempts("what is not needed is protected", nodes(1, 6), [job(each, each) for each in "abcdef"], urgent(),
             binds="AB",
             evicts=["a-task-0", "b-task-0"]),
    preempts("the node counts where least is missing", nodes(4, 2), job("a", "one", cpu=2), job("a", "two", cpu=2),
             job("b", "three", cpu=2), urgent(1, 4), binds="B", evicts=members("three", 1)),
    preempts("one large job rather than four small ones", nodes(4, 2), [job("a", f"small-{n}") for n in range(4)],
             job("b", "large", cpu=4), urgent(1, 4), binds="B", evicts=members("large", 1)),
    preempts("pods of one node are evicted together", nodes(2, 3), [job("a", f"a{n}") for n in range(2)],
             [job("b", f"b{n}") for n in range(2)], [job("c", f"c{n}") for n in range(2)], urgent(1, 2), binds="A",
             evicts=["a0-task-0", "a1-task-0"]),
    preempts("a broken gang is evicted before a whole one", nodes(1, 4), job("ab", "whole"), job("cd", "torn", 3),
             urgent(), binds="CD", evicts=members("torn", 2)),
    preempts("roles keep their minimum", nodes(1, 3),
             gang_of(*[pod(nodeName=place, role=role) for place, role in zip("abc", ROLES, strict=True)],
                     name="roles", priority="low", minimum=2, minimums={"driver": 1, "worker": 1}, phase="Running"),
             urgent(1), binds="C", evicts=["roles-worker-2"]),
]  # fmt: skip

RULES = [
    preempts("whole gangs stay if the action may not evict them", nodes(1, 2), job("ab", "pair"), urgent(), binds="--",
             conf=conf_of(arguments=NO_GANGS)),
    preempts("spare members are evicted nevertheless", nodes(1, 4), job("abcd", "elastic", 2), urgent(), binds="DC",
             evicts=["elastic-task-2", "elastic-task-3"], conf=conf_of(arguments=NO_GANGS)),
    preempts("and so do gangs that are broken anyway", nodes(1, 2), job("ab", "torn", 3), urgent(), binds="AB",
             evicts=members("torn", 2), conf=conf_of(arguments=NO_GANGS)),
    preempts("a pod with preemptable false protects its gang", nodes(1, 2),
             gang_of(pod(nodeName="a", labels={"volcano.sh/preemptable": "false"}), pod(nodeName="b"), name="pair",
                     priority="low", phase="Running"), urgent(1), binds="-"),
    preempts("a PodGroup that its owner protects stays", nodes(1, 2),
             job("ab", "pair", notes={"volcano.sh/preemptable": "false"}), urgent(), binds="--"),
    preempts("a PodGroup with preemptable true changes nothing", nodes(1, 2),
             job("ab", "pair", notes={"volcano.sh/preemptable": "true"}), urgent(), binds="AB",
             evicts=members("pair", 2)),
    preempts("critical pods stay", nodes(1, 2),
             job("ab", "vital", priorityClassName="system-node-critical"), urgent(), binds="--"),
    preempts("a member of equal priority protects its gang", nodes(1, 2),
             gang_of(pod(nodeName="a", priorityClassName="high"), pod(nodeName="b"), name="pair", priority="low",
                     phase="Running"), urgent(1), binds="-"),
    preempts("a budget protects a whole gang", nodes(1, 2), budget("one", 1, {"app": "x"}),
             job("ab", "pair", labels={"app": "x"}), urgent(), binds="--"),
    preempts("a budget is spent once", nodes(1, 4), budget("two", 2, {"app": "x"}),
             job("ab", "one", labels={"app": "x"}), job("cd", "two", labels={"app": "x"}), urgent(4), binds="----"),
    preempts("as far as possible", nodes(1, 4), budget("two", 2, {"app": "x"}),
             job("ab", "one", labels={"app": "x"}), job("cd", "two", labels={"app": "x"}), urgent(), binds="AB",
             evicts=members("one", 2)),
    preempts("plugins of every tier must agree", nodes(1, 2), job("ab", "pair"), urgent(), binds="--",
             conf=configuration(list(PLUGINS), ["probe"], actions=ACTIONS),
             extensions=[probe(evictable=lambda self, context, candidates: [])]),
    preempts("a plugin that abstains does not count", nodes(1, 2), job("ab", "pair"), urgent(), binds="AB",
             evicts=members("pair", 2), conf=configuration(list(PLUGINS), ["probe"], actions=ACTIONS),
             extensions=[probe(evictable=lambda self, context, candidates: None)]),
    preempts("plugins receive the kind of preemption, the preemptor, and the domain", nodes(1, 2), job("ab", "pair"),
             urgent(),
             binds="AB", evicts=members("pair", 2), conf=conf_of("probe"), extensions=[probe(
                 evictable=lambda self, context, candidates:
                 candidates if (context.kind, context.job.key, context.domain.name)
                 == ("preempt", "default/urgent", "<cluster-top-hypernode>") else [])]),
    preempts("filters are evaluated without the victims", node("a", 1, taints=["gpu:NoSchedule"]), node("b", 1),
             node("c", 1), job("ab", "one"), job("c", "two", priority="middle"), urgent(1), binds="B",
             evicts=members("one", 2)),
    preempts("nodes that a filter rejects are not used", node("a", 1, taints=["gpu:NoSchedule"]),
             node("b", 1, taints=["gpu:NoSchedule"]), node("c", 1), job("ab", "one"),
             job("c", "two", priority="middle"), urgent(1), binds="C", evicts=members("two", 1)),
    preempts("a queue at its limit gets more only for what leaves it", nodes(2, 1),
             queue("full", capability={"cpu": 2}), job("aa", "pair", queue="full"),
             urgent(2, queue="full"), binds="AA", evicts=members("pair", 2),
             conf=configuration(*PLUGINS, "capacity", actions=ACTIONS)),
    preempts("no preemption without a need", nodes(1, 1), job("a", "one"), urgent(1, None), binds="a",
             conf=configuration(*PLUGINS, actions=f"{ACTIONS}, backfill")),
]  # fmt: skip

READY = [
    preempts(
        "a running gang preempts for the rest of its members at once",
        nodes(1, 3), job("ab", "pair"),
        gang_of(pod(nodeName="c"), pod(), pod(), name="urgent", priority="high", minimum=1), binds="AB",
        evicts=members("pair", 2), conf=configuration("priority", "predicates", actions=ACTIONS),
    ),
    preempts(
        "or it does not",
        nodes(1, 2), job("a", "one"),
        gang_of(pod(nodeName="b"), pod(), pod(), name="urgent", priority="high", minimum=1), binds="--",
        conf=configuration("priority", "predicates", actions=ACTIONS),
    ),
    preempts(
        "by gang it has enough, and claims nothing",
        nodes(1, 3), job("ab", "pair"),
        gang_of(pod(nodeName="c"), pod(), pod(), name="urgent", priority="high", minimum=1), binds="--",
    ),
]  # fmt: skip

DOMAINS = [
    within("victims are selected in one domain", job("ab", "left", cpu=2), job("cd", "right", cpu=2),
           urgent(2, 2, topology=HARD),
           binds="AB", evicts=members("left", 2)),
    within("in the one that costs least", job("ab", "left", cpu=2, priority="middle"), job("cd", "right", cpu=2),
           urgent(2, 2, topology=HARD), binds="CD", evicts=members("right", 2)),
    within("a gang in both domains is not evicted", job("ac", "across", cpu=2), job("b", "one", cpu=2),
           job("d", "two", cpu=2), urgent(1, 2, topology=HARD), binds="B", evicts=members("one", 1)),
    within("unless nothing else suffices", job("ac", "across", cpu=2), job("b", "one", cpu=2),
           job("d", "equal", cpu=2, priority="high"), urgent(2, 2, topology=HARD), binds="AB",
           evicts=[*members("across", 2), *members("one", 1)]),
    within("nothing is evicted when no domain is large enough", job("ab", "left", cpu=2), job("cd", "right", cpu=2),
           urgent(3, 2, topology=HARD), binds="---"),
    within("the same gang without a topology preempts", job("ab", "left", cpu=2), job("cd", "right", cpu=2),
           urgent(3, 2), binds="ABC", evicts=[*members("left", 2), *members("right", 2)]),
    within("with a soft constraint the whole cluster suffices", job("ab", "left", cpu=2),
           job("cd", "right", cpu=2), urgent(3, 2, topology=SOFT), binds="ABC",
           evicts=[*members("left", 2), *members("right", 2)]),
    within("among those that cost the same the closest is preferred",
           [job(each, f"on-{each}", cpu=2) for each in "abcd"], urgent(2, 2, topology=SOFT), binds="AB",
           evicts=["on-a-task-0", "on-b-task-0"]),
    within("each rack alone is too small", job("ab", "left", cpu=2), urgent(3, 2, topology=HARD), binds="---",
           domains=RacksForJobs),
    within("the best rack is the last", [job(each, f"on-{each}", cpu=2) for each in "abcd"],
           urgent(1, 2, topology=HARD), binds="D", evicts=["on-d-task-0"], domains=RacksForJobs),
    within("only some domains are tried, the widest first", [job(each, f"on-{each}", cpu=2) for each in "abcd"],
           urgent(1, 2, topology=HARD), binds="A", evicts=["on-a-task-0"], domains=RacksForJobs,
           arguments={"maxDomains": 1}),
    within("none or less is the usual number", [job(each, f"on-{each}", cpu=2) for each in "abcd"],
           urgent(1, 2, topology=HARD), binds="D", evicts=["on-d-task-0"], domains=RacksForJobs,
           arguments={"maxDomains": 0}),
    within("nothing is evicted where no domain is allowed", job("ab", "left", cpu=2), job("cd", "right", cpu=2),
           urgent(1, 2, topology=HARD), binds="-", domains=NoDomainPlugin,
           reasons={"urgent": [NOT_OFFERED, f"gangpreempt: {NO_DOMAIN}"]}),
    within("each sub-group preempts in a domain of its own", job("ab", "left", cpu=2), job("cd", "right", cpu=2),
           gang_of(*[pod(2, labels={"part": part}) for part in ("one", "one", "two", "two")], name="urgent",
                   priority="high",
                   policies=[{"name": "pair", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["part"]}]),
           binds="ABCD", evicts=[*members("left", 2), *members("right", 2)], domains=SubJobHalvesPlugin),
    within("nothing is evicted for a sub-group when the other does not fit", job("ab", "left", cpu=2),
           job("c", "one", cpu=2),
           job("d", "equal", cpu=2, priority="high"),
           gang_of(*[pod(2, labels={"part": part}) for part in ("one", "one", "two", "two")], name="urgent",
                   priority="high",
                   policies=[{"name": "pair", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["part"]}]),
           binds="----", domains=SubJobHalvesPlugin),
]  # fmt: skip


@pytest.mark.parametrize("case", [*AT_ONCE, *UNITS, *RULES, *READY, *DOMAINS], ids=str)
def test_gang_preempt(case: Case) -> None:
    case.check()
