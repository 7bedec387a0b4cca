"""Every action that places or evicts pods respects the domains of the network, and of sub-groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, pod, priority_class, queue, running
from tests.testing.manifests.hypernodes import HARD_BLOCK, HARD_RACK, SOFT, TREE, block, network

NETWORK = "network-topology-aware"
NOON, RUN_TIME = "2026-01-01T12:00:00Z", "scheduling.stromboli.dev/run-time"
TWO = network(2, "ab", "cd")
KEEPS_GANGS = plugin("gang", enablePreemptable=False, enableReclaimable=False)
CLASSES = [priority_class("high", 100), priority_class("low", 10)]
QUEUES = [queue("rich"), queue("poor")]
PAIRS = [
    {"name": "p", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["part"], "networkTopology": HARD_RACK},
]  # fmt: skip
EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")


# -- pods that ask for nothing ----------------------------------------------------------------------------------------


def filling(name: str, *world: Any, binds: str, **more: Any) -> Case:
    more.setdefault("conf", configuration("gang", "predicates", NETWORK))
    return Case(name, *world, binds=binds, **more)


def idle(part: str = "", **facts: Any) -> Manifest:
    """A pod without a request."""
    return pod(None, labels={"part": part} if part else None, **facts)


#: The first rack has a taint.
FIRST_CLOSED = [node("a", 2, taints=["x=y:NoSchedule"]), node("b", 2, taints=["x=y:NoSchedule"]), *TWO[2:]]
NO_NODE = "no domain that the job may use has a node for it"

BACKFILL = [
    filling("a pod without a request is placed in the rack of the others", TWO,
            gang_of(pod(2), pod(2), idle(), topology=HARD_RACK), running("a", 1), binds="cdc"),
    filling("also when they run already", TWO,
            gang_of(pod(2, nodeName="d"), idle(), minimum=1, topology=HARD_RACK, phase="Running"), binds="c"),
    filling("where no node of the rack takes it, it waits", FIRST_CLOSED, gang_of(
            pod(2, nodeName="a"), idle(), minimum=1, topology=HARD_RACK, phase="Running"), binds="-",
            codes={"gang": ["NoDomainFits"]}, reasons={"gang": [NO_NODE]}),
    filling("in the block, if that is allowed", FIRST_CLOSED, block("block", 2, "rack-0", "rack-1"), gang_of(
            pod(2, nodeName="a"), idle(), minimum=1, topology=HARD_BLOCK, phase="Running"), binds="c"),
    filling("a soft constraint finally allows any node", FIRST_CLOSED, gang_of(
            pod(2, nodeName="a"), idle(), minimum=1, topology=SOFT, phase="Running"), binds="c"),
    filling("a job without any request stays in one rack", TWO, gang_of(*(idle() for _ in range(3)),
            topology=HARD_RACK), binds="aaa"),
    filling("where it was", TWO, gang_of(*(idle() for _ in range(2)), topology=HARD_RACK,
            notes={"scheduling.stromboli.dev/allocated-hypernode": "rack-1"}), binds="cc"),
    filling("each sub-group in its own rack", TWO, gang_of(
            *(pod(2, nodeName=place, labels={"part": part}) for place, part in ("ax", "cy")), idle("y"), idle("x"),
            minimum=2, policies=[{**PAIRS[0], "subGroupSize": 1}], phase="Running"), binds="ca"),
    filling("a sub-group inside the block of the job", TREE, gang_of(
            pod(2, nodeName="e", labels={"part": "x"}), idle("y"), minimum=1, topology=HARD_BLOCK,
            policies=[{**PAIRS[0], "subGroupSize": 1, "minSubGroups": 1}], phase="Running"), binds="e"),
    filling("without a constraint any node is allowed", FIRST_CLOSED,
            gang_of(pod(2, nodeName="a"), idle(), minimum=1, phase="Running"), binds="c"),
]  # fmt: skip


# -- holes before reservations ----------------------------------------------------------------------------------------


def reserving(name: str, *world: Any, binds: str, strategy: str) -> Case:
    arguments = {"backfill": {"strategy": strategy}}
    conf = configuration("gang", "predicates", NETWORK, actions="allocate, backfill", arguments=arguments)
    return Case(f"{strategy}: {name}", *world, binds=binds, conf=conf)


def busy(place: str, left: str) -> list[Manifest]:
    """Runs since noon, which is now, and ends after this time."""
    return running(place, 2, name=f"on-{place}", placed=NOON, annotations={RUN_TIME: left})


#: One node of each rack is taken; that of the first rack will be free sooner.
HALF = [*TWO, *busy("a", "1h"), *busy("c", "2h")]
HEAD = gang(2, 2, name="a-head", created=NOON, topology=HARD_RACK)

RESERVATIONS = [
    case
    for strategy in ("easy", "conservative")
    for case in (
        reserving("a gang has a reservation in one rack, and others use the next", HALF, HEAD,
                  gang(1, 2, name="b", created=NOON), binds="-- d", strategy=strategy),
        reserving("a pod that ends before the reservation may backfill its rack", HALF, HEAD,
                  gang(1, 2, name="b", created=NOON, annotations={RUN_TIME: "30m"}), binds="-- b", strategy=strategy),
        reserving("no other pod gets the reserved capacity of the rack", HALF, HEAD,
                  gang(2, 2, name="b", minimum=1, created=NOON), binds="-- d-", strategy=strategy),
    )
]  # fmt: skip


# -- preemption -------------------------------------------------------------------------------------------------------


def taking(name: str, *world: Any, of: str, binds: str, **more: Any) -> Case:
    plugins = ("priority", KEEPS_GANGS, "conformance", "proportion", "predicates", NETWORK)
    conf = configuration(*plugins, actions=f"enqueue, allocate, {of}")
    return Case(f"{of}: {name}", CLASSES, QUEUES, *world, binds=binds, conf=conf, **more)


def low(places: str) -> list[Manifest]:
    """A job of one pod on each of these nodes, named after it."""
    jobs = [running(place, 2, name=f"on-{place}", priority="low", minimum=1, queue="rich") for place in places]
    return [each for job in jobs for each in job]


def stays(place: str) -> list[Manifest]:
    """A running group that is protected from eviction."""
    labels = {"volcano.sh/preemptable": "false"}
    return running(place, 2, name=f"stays-{place}", priority="high", queue="rich", minimum=1, labels=labels)


def preemptor(of: str, values: str, **facts: Any) -> list[Manifest]:
    """A gang in pairs that preempts: by a higher priority, or in a queue below its deserved share."""
    own = {"queue": "rich", "priority": "high"} if "preempt" in of else {"queue": "poor", "priority": "low"}
    members = [pod(2, labels={"part": part}) for part in values]
    return gang_of(*members, policies=PAIRS, **{**own, **facts})


def gone(places: str) -> list[str]:
    return [f"on-{place}-task-0" for place in places]


TAKING = [
    case
    for of in EVICTING
    for case in (
        taking("half of each rack is no rack", TREE, low("aceg"), running("bdfh", 2, name="more", queue="rich",
               minimum=4, labels={"volcano.sh/preemptable": "false"}), preemptor(of, "xxyy"), of=of, binds="----"),
        taking("nothing is evicted when one of the sub-groups finds no rack", TWO, low("abc"), stays("d"),
               preemptor(of, "xxyy"), of=of, binds="----"),
        taking("racks of one block, where the job wants a block", TREE, low("abcefgh"), stays("d"),
               preemptor(of, "xxyy", topology=HARD_BLOCK), of=of, binds="EFGH", evicts=gone("efgh")),
        taking("a rack that is large enough only without a protected pod is skipped", TWO, low("acd"), stays("b"),
               gang(2, 2, topology=HARD_RACK, queue="rich" if "preempt" in of else "poor",
                    priority="high" if "preempt" in of else "low"), of=of, binds="CD", evicts=gone("cd")),
    )
]  # fmt: skip

TAKING += [
    taking("a rack that is free and one that is made free", TWO, low("cd"), preemptor(of, "xxyy"), of=of, binds="ABCD",
           evicts=gone("cd"))
    for of in ("preempt", "gangpreempt")
]  # fmt: skip

CASES = BACKFILL + RESERVATIONS + TAKING


@pytest.mark.parametrize("case", CASES, ids=str)
def test_actions_in_domains(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
