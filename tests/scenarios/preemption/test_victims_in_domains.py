"""Jobs that want their nodes close together preempt there, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stromboli.core.config.plugin import Plugin
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_plugins import HalvesPlugin, NoDomainPlugin, RacksForJobs, SubJobHalvesPlugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, nodes, pod, priority_class, queue, running
from tests.testing.manifests.hypernodes import HARD_RACK, network

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 10)]
KEEPS_GANGS = plugin("gang", enablePreemptable=False, enableReclaimable=False)
PREEMPT = configuration(
    "priority", KEEPS_GANGS, "conformance", "predicates", "probe", actions="enqueue, allocate, preempt"
)
RECLAIM = configuration(
    "priority", KEEPS_GANGS, "conformance", "proportion", "predicates", "probe", actions="enqueue, allocate, reclaim"
)
HARD = {"mode": "hard", "highestTierAllowed": 1}
SOFT = {"mode": "soft"}
#: Two sub-groups of two, of which both must start.
PAIRS = [
    {"name": "pair", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["part"], "networkTopology": HARD},
]  # fmt: skip


def within(
    name: str,
    *world: object,
    binds: str,
    evicts: Sequence[str],
    conf: str = PREEMPT,
    domains: type[Plugin] = HalvesPlugin,
    **more: Any,
) -> Case:
    """Nodes a and b are close together, and so are c and d."""
    return Case(
        name, nodes(2, 4), CLASSES, world, conf=conf, binds=binds, evicts=evicts, extensions=[domains], **more,
    )  # fmt: skip


def job(place: str, name: str, priority: str = "low", cpu: object = 2, **facts: Any) -> list[Manifest]:
    return running(place, cpu, name=name, priority=priority, minimum=1, **facts)


def low(*places: str, **facts: Any) -> list[Manifest]:
    """A job of one pod on each of these nodes, named after it."""
    return [each for place in places for each in job(place, f"on-{place}", **facts)]


def urgent(count: int = 2, topology: Manifest | None = None, **facts: Any) -> list[Manifest]:
    topology = HARD if topology is None else topology
    return gang(count, 2, name="urgent", priority="high", topology=topology, **facts)


def pairs(first: int = 2, second: int = 2, **facts: Any) -> list[Manifest]:
    members = [pod(2, labels={"part": "one"})] * first + [pod(2, labels={"part": "two"})] * second
    return gang_of(*members, name="urgent", priority="high", policies=PAIRS, **facts)


BETWEEN_JOBS = [
    within(
        "victims are selected in one domain",
        low("a", "b", "c", "d"), urgent(), binds="AB", evicts=["on-a-task-0", "on-b-task-0"],
    ),
    within(
        "without a topology the cheapest nodes are taken, wherever they are",
        low("a", "c"), job("b", "more", "middle"), job("d", "other", "middle"),
        gang(2, 2, name="urgent", priority="high"), binds="AC", evicts=["on-a-task-0", "on-c-task-0"],
    ),
    within(
        "with one it is the cheapest domain",
        low("a"), job("b", "more", "middle"), low("c", "d"), urgent(), binds="CD",
        evicts=["on-c-task-0", "on-d-task-0"],
    ),
    within(
        "a domain with a protected pod is skipped",
        low("a"), job("b", "equal", "high"), low("c"), job("d", "more", "middle"), urgent(), binds="CD",
        evicts=["more-task-0", "on-c-task-0"],
    ),
    within(
        "a free node of the domain is used",
        low("a", "c", "d"), urgent(), binds="BA", evicts=["on-a-task-0"],
    ),
    within(
        "nothing is evicted when no domain is large enough",
        low("a", "b", "c", "d"), urgent(3), binds="---", evicts=[],
        codes={"urgent": ["InsufficientResource", "PreemptionInsufficient"]},
    ),
    within(
        "the same gang without a topology preempts",
        low("a", "b", "c", "d"), gang(3, 2, name="urgent", priority="high"), binds="ABC",
        evicts=["on-a-task-0", "on-b-task-0", "on-c-task-0"],
    ),
    within(
        "where it need not be close, the cluster is a domain, too",
        low("a", "b", "c", "d"), urgent(3, SOFT), binds="ABC",
        evicts=["on-a-task-0", "on-b-task-0", "on-c-task-0"],
    ),
    within(
        "among those that cost the same the closest is preferred",
        low("a", "b", "c", "d"), urgent(2, SOFT), binds="AB", evicts=["on-a-task-0", "on-b-task-0"],
    ),
    within(
        "less important victims count more than a soft constraint",
        low("a", "c"), job("b", "more", "middle"), job("d", "other", "middle"), urgent(2, SOFT), binds="AC",
        evicts=["on-a-task-0", "on-c-task-0"],
    ),
    within(
        "a gang with members elsewhere is evicted whole",
        running("ac", 2, name="pair", priority="low", minimum=2), job("b", "equal", "high"), low("d"), urgent(),
        binds="DC", evicts=["on-d-task-0", "pair-task-0", "pair-task-1"],
    ),
    within(
        "each rack alone is too small",
        low("a", "b", "c", "d"), urgent(2), binds="--", evicts=[], domains=RacksForJobs,
    ),
    within(
        "one pod fits into a rack, and the last rack is the best",
        low("a", "b", "c", "d"), urgent(1), binds="D", evicts=["on-d-task-0"], domains=RacksForJobs,
    ),
    within(
        "nothing is evicted where no domain is allowed",
        low("a", "b", "c", "d"), urgent(1), binds="-", evicts=[], domains=NoDomainPlugin,
        codes={"urgent": ["NoDomainFits", "PreemptionInsufficient"]},
        reasons={"urgent": ["no domain fits the 1 pod it needs: no node is in any domain",
                            "preempt: no allowed domain has enough capacity, even without all preemptable pods"]},
    ),
    within(
        "a member is evicted for a more important one only inside its domains",
        gang_of(pod(2, nodeName="a"), pod(2, priorityClassName="high"), name="own", minimum=1, topology=HARD),
        job("b", "equal", "high"), job("c", "more", "high"), job("d", "other", "high"), binds="A",
        evicts=["own-task-0"],
        conf=configuration("priority", "predicates", "probe", actions="enqueue, allocate, preempt"),
    ),
    within(
        "and not where there is none",
        gang_of(pod(2, nodeName="a"), pod(2, priorityClassName="high"), name="own", minimum=1, topology=HARD),
        job("b", "equal", "high"), job("c", "more", "high"), job("d", "other", "high"), binds="-", evicts=[],
        conf=configuration("priority", "predicates", "probe", actions="enqueue, allocate, preempt"),
        domains=NoDomainPlugin,
    ),
]  # fmt: skip

SUB_JOBS = [
    within(
        "each sub-group preempts in a domain of its own",
        low("a", "b", "c", "d"), pairs(), binds="ABCD", domains=SubJobHalvesPlugin,
        evicts=["on-a-task-0", "on-b-task-0", "on-c-task-0", "on-d-task-0"],
    ),
    within(
        "a sub-group is not torn apart",
        low("a", "c", "d"), job("b", "equal", "high"), gang_of(
            pod(2, labels={"part": "one"}), pod(2, labels={"part": "one"}), name="urgent", priority="high",
            policies=[{**PAIRS[0], "minSubGroups": 1}],
        ), binds="CD", domains=SubJobHalvesPlugin, evicts=["on-c-task-0", "on-d-task-0"],
    ),
    within(
        "nothing is evicted for a sub-group when the other does not fit",
        low("a", "b", "c"), job("d", "equal", "high"), pairs(), binds="----", domains=SubJobHalvesPlugin, evicts=[],
    ),
    within(
        "nothing is evicted for a sub-group that is not needed",
        low("a", "b", "c", "d"), gang_of(
            *[pod(2, labels={"part": part}) for part in ("one", "one", "two", "two")], name="urgent",
            priority="high", minimum=2, policies=[{**PAIRS[0], "minSubGroups": 1}],
        ), binds="AB--", domains=SubJobHalvesPlugin, evicts=["on-a-task-0", "on-b-task-0"],
    ),
]  # fmt: skip

QUEUES = [queue("rich"), queue("poor")]
RICH = low("a", "b", "c", "d", queue="rich")


def poor(count: int, topology: Manifest | None = HARD, **facts: Any) -> list[Manifest]:
    return gang(count, 2, name="poor", queue="poor", topology=topology, **facts)


BETWEEN_QUEUES = [
    within(
        "a queue gets back what it deserves in one domain",
        QUEUES, RICH, poor(2), binds="AB", evicts=["on-a-task-0", "on-b-task-0"], conf=RECLAIM,
    ),
    within(
        "the domain with the least important victims",
        QUEUES, low("a", "c", "d", queue="rich"), job("b", "more", "middle", queue="rich"), poor(2), binds="CD",
        evicts=["on-c-task-0", "on-d-task-0"], conf=RECLAIM,
    ),
    within(
        "a pod that stays makes its domain too small",
        QUEUES, low("a", "c", "d", queue="rich"),
        job("b", "stays", queue="rich", labels={"volcano.sh/preemptable": "false"}), poor(2), binds="CD",
        evicts=["on-c-task-0", "on-d-task-0"], conf=RECLAIM,
    ),
    within(
        "two domains that are too small are no large one",
        QUEUES, low("a", "c", queue="rich"),
        job("b", "stays", queue="rich", labels={"volcano.sh/preemptable": "false"}),
        job("d", "keeps", queue="rich", labels={"volcano.sh/preemptable": "false"}), poor(2), binds="--", evicts=[],
        conf=RECLAIM,
    ),
]  # fmt: skip


def networked(action: str) -> str:
    plugins = ("priority", KEEPS_GANGS, "conformance", "proportion", "predicates", "network-topology-aware")
    return configuration(*plugins, actions=f"enqueue, allocate, {action}")


def racked(name: str, *world: object, binds: str, evicts: Sequence[str], of: str = "preempt", **more: Any) -> Case:
    """Racks as HyperNodes describe them."""
    return Case(name, CLASSES, QUEUES, world, conf=networked(of), binds=binds, evicts=evicts, **more)


FULL = {"cpu": 4}
#: Nine racks of one node each, of which only the last has an evictable pod.
NINE = [network(2, *"abcdefghi"), [job(place, f"on-{place}", "high") for place in "abcdefgh"], low("i")]

RACKS = [
    racked("preempt stays in one rack", network(2, "ab", "cd"), low("a", "c", "d"), job("b", "equal", "high"),
           urgent(topology=HARD_RACK), binds="CD", evicts=["on-c-task-0", "on-d-task-0"]),
    racked("it does not matter that the racks are full", network(2, "ab", "cd"), low("a", "b", "c", "d"),
           urgent(topology=HARD_RACK, resources=FULL), binds="AB", evicts=["on-a-task-0", "on-b-task-0"]),
    racked("nothing is evicted for a gang that is too large for a rack", network(2, "ab", "cd"),
           low("a", "b", "c", "d"),
           urgent(3, HARD_RACK), binds="---", evicts=[]),
    racked("racks without evictable pods do not count", NINE, urgent(1, HARD_RACK), binds="I",
           evicts=["on-i-task-0"]),
    racked("nor are they for whole gangs", NINE, urgent(1, HARD_RACK), binds="I", evicts=["on-i-task-0"],
           of="gangpreempt"),
    racked("gangpreempt stays in one rack", network(2, "ab", "cd"), low("a", "c", "d"), job("b", "equal", "high"),
           urgent(topology=HARD_RACK, resources=FULL), binds="CD", evicts=["on-c-task-0", "on-d-task-0"],
           of="gangpreempt"),
    racked("reclaim stays in one rack", network(2, "ab", "cd"), RICH, poor(2, HARD_RACK, resources=FULL), binds="AB",
           evicts=["on-a-task-0", "on-b-task-0"], of="reclaim"),
    racked("gangreclaim stays in one rack", network(2, "ab", "cd"), RICH, poor(2, HARD_RACK), binds="AB",
           evicts=["on-a-task-0", "on-b-task-0"], of="gangreclaim"),
    racked("a job that runs in a rack gets the rest there", network(2, "ab", "cd"), low("b", "c"),
           gang_of(pod(2, nodeName="a"), pod(2), name="urgent", priority="high", topology=HARD_RACK), binds="B",
           evicts=["on-b-task-0"]),
]  # fmt: skip


CASES = [*BETWEEN_JOBS, *SUB_JOBS, *BETWEEN_QUEUES, *RACKS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_victims_in_domains(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned, plan = case.backwards().plan(), case.plan()
    assert (turned.binds, turned.pipelined) == (plan.binds, plan.pipelined)
    assert sorted(turned.evictions) == sorted(plan.evictions)
