"""preempt in its topology-aware mode: nodes are compared as kube-scheduler compares them, and not all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.configuration_errors import ConfigurationError
from tests.testing.cases.case import BUILT_IN, Case, configuration, plugin
from tests.testing.manifests.builders import Facts, Manifest, gang, gang_of, node, nodes, pod, priority_class, running

CLASSES = [
    priority_class("high", 1000),
    priority_class("middle", 500),
    priority_class("low", 10),
    priority_class("lowest", 1),
]
ACTIONS = "enqueue, allocate, preempt"
PLUGINS = ("priority", plugin("gang", enablePreemptable=False), "conformance", "predicates")
#: Every node is compared.
ALL: Facts = {"minCandidateNodesPercentage": 100}


def aware(**arguments: object) -> str:
    mode: dict[str, object] = {"enableTopologyAwarePreemption": True, **arguments}
    return configuration(*PLUGINS, actions=ACTIONS, arguments={"preempt": mode})


NORMAL = configuration(*PLUGINS, actions=ACTIONS)


def compares(
    name: str, *world: object, binds: str, evicts: Sequence[str], conf: str | None = None, **more: Any
) -> Case:
    return Case(name, CLASSES, world, conf=conf or aware(**ALL), binds=binds, evicts=evicts, **more)


def job(place: str, name: str, day: int = 1, priority: str = "low", cpu: object = 1) -> list[Manifest]:
    """A job of one pod that started on this day."""
    manifests = running(place, cpu, name=name, priority=priority, minimum=1)
    manifests[1]["metadata"]["creationTimestamp"] = f"2026-01-{day:02}T00:00:00Z"
    return manifests


def urgent(count: int = 1, cpu: object = 1, **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name="urgent", priority="high", **facts)


#: The pods on a are younger in sum; the oldest pod on b is younger than the oldest on a.
AGES = [nodes(2, 2), job("a", "old", 1), job("a", "new", 9), job("b", "one", 3), job("b", "two", 4), urgent(cpu=2)]
ON_A, ON_B = ["new-task-0", "old-task-0"], ["one-task-0", "two-task-0"]

CHOICES = [
    compares("by cost the youngest work in sum is lost", AGES, binds="A", evicts=ON_A, conf=NORMAL),
    compares("the node with the latest earliest start is taken", AGES, binds="B", evicts=ON_B),
    compares(
        "only the oldest among the most important counts",
        nodes(2, 2), job("a", "aged", 1, "lowest"), job("a", "fresh", 8), job("b", "late", 9, "lowest"),
        job("b", "early", 7), urgent(cpu=2), binds="A", evicts=["aged-task-0", "fresh-task-0"],
    ),
    compares(
        "where the most important victim is least important",
        nodes(2, 2), job("a", "middle", 9, "middle", cpu=2), job("b", "one"), job("b", "two"), urgent(cpu=2),
        binds="B", evicts=ON_B,
    ),
    compares(
        "then the fewest victims, as each counts more than its priority",
        nodes(2, 2), job("a", "one"), job("a", "two", priority="lowest"), job("b", "large", cpu=2), urgent(cpu=2),
        binds="B", evicts=["large-task-0"],
    ),
    compares(
        "then where the sum of priorities is smallest",
        nodes(2, 2), job("a", "one"), job("a", "two"), job("b", "three"), job("b", "four", priority="lowest"),
        urgent(cpu=2), binds="B", evicts=["four-task-0", "three-task-0"],
    ),
    compares(
        "among equals the first node",
        nodes(1, 3), job("a", "one"), job("b", "two"), job("c", "three"), urgent(), binds="A", evicts=["one-task-0"],
    ),
    compares(
        "the priority of a pod counts where it is higher than that of its job",
        nodes(1, 2), running("a", name="one", priority="lowest", minimum=1, priorityClassName="middle"),
        job("b", "two"), urgent(), binds="B", evicts=["two-task-0"],
    ),
]  # fmt: skip

NUMBERS = [
    compares("a tenth of the nodes, and one at least", AGES, binds="A", evicts=ON_A, conf=aware()),
    compares(
        "two at least", AGES, binds="B", evicts=ON_B, conf=aware(minCandidateNodesAbsolute=2),
    ),
    compares(
        "half of two is one",
        AGES, binds="A", evicts=ON_A, conf=aware(minCandidateNodesPercentage=50),
    ),
    compares(
        "one at most, whatever the other arguments are",
        AGES, binds="A", evicts=ON_A,
        conf=aware(minCandidateNodesPercentage=100, minCandidateNodesAbsolute=2, maxCandidateNodesAbsolute=1),
    ),
    compares(
        "no per cent and none at least is still one",
        AGES, binds="A", evicts=ON_A, conf=aware(minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0),
    ),
    compares(
        "nodes without possible victims do not count",
        AGES[:-1], [node(name, 2, taints=["gpu:NoSchedule"]) for name in "cdefghijklmnopqrstuv"], AGES[-1],
        binds="A", evicts=ON_A, conf=aware(),
    ),
    compares(
        "without the mode the numbers mean nothing",
        AGES, binds="A", evicts=ON_A,
        conf=configuration(*PLUGINS, actions=ACTIONS, arguments={"preempt": {"minCandidateNodesAbsolute": 2}}),
    ),
]  # fmt: skip

RULES = [
    compares("a free node is taken, and nothing is evicted", nodes(1, 2), job("a", "one"), urgent(), binds="b",
             evicts=[]),
    compares(
        "a gang gets all its capacity, or nothing is evicted",
        nodes(1, 2), job("a", "one"), job("b", "equal", priority="high"), urgent(2), binds="--", evicts=[],
    ),
    compares(
        "a gang preempts several",
        nodes(1, 3), job("a", "one"), job("b", "two"), job("c", "middle", priority="middle"), urgent(2),
        binds="AB", evicts=ON_B,
    ),
    compares(
        "no gang is left broken",
        nodes(1, 2), running("ab", name="pair", priority="low", minimum=2), urgent(),
        binds="B", evicts=["pair-task-0", "pair-task-1"],
    ),
    compares(
        "one single pod is cheaper than a pair",
        nodes(1, 3), running("ab", name="pair", priority="low", minimum=2), job("c", "one"), urgent(),
        binds="C", evicts=["one-task-0"],
    ),
    compares(
        "no more are evicted than needed",
        nodes(4, 1), running("aaaa", name="many", priority="low"), urgent(cpu=2),
        binds="A", evicts=["many-task-2", "many-task-3"],
    ),
    compares(
        "a pod that never preempts waits",
        nodes(1, 1), job("a", "one"), gang_of(pod(preemptionPolicy="Never"), name="urgent", priority="high"),
        binds="-", evicts=[], codes={"urgent": ["InsufficientResource", "PreemptionPolicyNever"]},
    ),
    compares(
        "filters are evaluated again without the victims",
        node("a", 1, taints=["gpu:NoSchedule"]), node("b", 1), job("a", "one", priority="lowest"), job("b", "two"),
        urgent(), binds="B", evicts=["two-task-0"],
    ),
    compares(
        "a member is evicted for a more important one of its own job",
        nodes(1, 1), gang_of(pod(nodeName="a"), pod(priorityClassName="high"), name="own", minimum=1),
        binds="A", evicts=["own-task-0"],
        conf=configuration("priority", "predicates", actions=ACTIONS,
                           arguments={"preempt": {"enableTopologyAwarePreemption": True}}),
    ),
    compares(
        "workers are accepted and mean nothing",
        AGES, binds="B", evicts=ON_B, conf=aware(topologyAwarePreemptWorkerNum=4, **ALL),
        warnings=["configuration:13: argument 'topologyAwarePreemptWorkerNum' of action 'preempt' has no effect: "
                  "nodes are compared without threads, and the result does not depend on their number"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CHOICES, *NUMBERS, *RULES], ids=str)
def test_topology_aware_preemption(case: Case) -> None:
    case.check()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("minCandidateNodesPercentage", -1, "expected at least 0, got -1"),
        ("minCandidateNodesAbsolute", -5, "expected at least 0, got -5"),
        ("maxCandidateNodesAbsolute", 0, "expected at least 1, got 0"),
        ("enableTopologyAwarePreemption", "perhaps", "expected true or false, got 'perhaps'"),
    ],
)
def test_invalid_numbers_are_rejected(key: str, value: object, words: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{key}.*{words}"):
        parse_configuration(aware(**{key: value}), BUILT_IN)
