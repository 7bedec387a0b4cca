"""Exclusive CPUs of containers are aligned by the NUMA policies of the kubelets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stromboli.planner.plan import SchedulingPlan
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import foreign, gang_of, node, pod, priority_class, running
from tests.testing.manifests.numa_nodes import (
    BEST,
    POLICY,
    RESTRICTED,
    SINGLE,
    container,
    crew,
    exact,
    machine,
    topology,
)

DECISION = "volcano.sh/topology-decision"
PROCESSORS = "stromboli.dev/processors"

CONF = configuration("gang", "predicates", "numa-aware")
PREEMPTING = configuration("gang", "predicates", "priority", "numa-aware", actions="enqueue, allocate, preempt")
EMPTY, NOT_STATIC, NO_TOPOLOGY = "numa info is empty", "cpu manager policy isn't static", "no topo information"
UNASSIGNED = "container main cannot be assigned by numa"


def none_of(number: int, *counted: str) -> dict[str, list[str]]:
    return {"gang": [f"0/{number} nodes are available: {', '.join(counted)}."]}


def broken(complaint: str) -> str:
    return f"Numatopology a: {complaint}; the node takes no pods that have a NUMA policy"


def differs(policy: str, other: str) -> str:
    return f"task topology policy[{policy}] is different with node[{other}]"


POLICIES = [
    Case("a node with the policy of the pod", machine("a", RESTRICTED), machine("b"), crew(1), conf=CONF, binds="b"),
    Case("only where the plugin is configured", machine("a", RESTRICTED), machine("b"), crew(1), binds="a"),
    Case(
        "nodes without NUMA data", node("a", 8), crew(1), conf=CONF, binds="-", reasons=none_of(1, f"1 {EMPTY}"),
        codes={"gang": ["NumaPolicyMismatch"]},
    ),
    Case(
        "a kubelet without processors of one's own", machine("a", manager="none"), crew(1), conf=CONF, binds="-",
        reasons=none_of(1, f"1 {NOT_STATIC}"),
    ),
    Case(
        "every reason is counted", machine("a", BEST), machine("b", RESTRICTED), machine("c", "none"), node("d", 8),
        crew(1), conf=CONF, binds="-",
        reasons=none_of(
            4, f"1 {EMPTY}", f"1 {differs(SINGLE, BEST)}", f"1 {differs(SINGLE, 'none')}",
            f"1 {differs(SINGLE, RESTRICTED)}",
        ),
    ),
    Case(
        "a node that gives no processors", machine("a", numares={}), crew(1), conf=CONF, binds="-",
        reasons=none_of(1, f"1 {NO_TOPOLOGY}"),
    ),
    Case("the policy none requires nothing", node("a", 8), crew(1, policy="none"), conf=CONF, binds="a"),
    Case(
        "an unknown policy", machine("a"), crew(1, policy="strict"), conf=CONF, binds="-",
        codes={"gang": ["InvalidObject"]},
        reasons={"gang": [
            f"annotation {POLICY}: 'strict' is not known; write none or best-effort or restricted or single-numa-node"
        ]},
    ),
    Case(
        "only guaranteed pods are meant", node("a", 8), gang_of(pod(2, annotations={POLICY: SINGLE})), conf=CONF,
        binds="a",
    ),
    Case(
        "a guaranteed pod that shares processors", machine("a", RESTRICTED), machine("b", free=""),
        crew(1, cpu="1500m"), conf=CONF, binds="b",
    ),
    Case(
        "a policy of a kubelet holds for every pod", machine("a", free="0-1,4-5"), machine("b"), crew(1, 4, ""),
        conf=CONF,
        binds="b",
    ),
    Case(
        "not for pods that share processors", machine("a", free="0-1,4-5"), gang_of(pod(4)), conf=CONF, binds="a",
    ),
]  # fmt: skip

FREE_CAPACITY = [
    Case("one NUMA node has capacity", machine("a", free="0-5"), crew(1, 4), conf=CONF, binds="a"),
    Case(
        "no NUMA node has capacity", machine("a", free="0-1,4-5"), crew(1, 4), conf=CONF, binds="-",
        reasons=none_of(1, f"1 {UNASSIGNED}"), codes={"gang": ["NumaAlignmentImpossible"]},
    ),
    Case(
        "all CPUs are assigned", machine("a", free=""), crew(1), conf=CONF, binds="-",
        reasons=none_of(1, "1 cpu allocatable map is empty"),
    ),
    Case("more than a NUMA node holds", machine("a"), crew(1, 6), conf=CONF, binds="-"),
    Case("restricted: two NUMA nodes if necessary", machine("a", RESTRICTED), crew(1, 6, RESTRICTED), conf=CONF,
         binds="a"),
    Case(
        "but not if one could hold it", machine("a", RESTRICTED, free="0-1,4-5"), crew(1, 4, RESTRICTED), conf=CONF,
        binds="-",
    ),
    Case("best effort: whatever there is", machine("a", BEST, free="0-1,4-5"), crew(1, 4, BEST), conf=CONF, binds="a"),
    Case("even what is not there", machine("a", BEST, free="0"), crew(1, 4, BEST), conf=CONF, binds="a"),
    Case(
        "reserved CPUs are not assigned", machine("a", resReserved={"cpu": "500m"}), crew(2, 4), conf=CONF,
        binds="--",
    ),
    Case("all of the others are", machine("a", resReserved={"cpu": "500m"}), crew(2, 3), conf=CONF, binds="aa"),
    Case(
        "the containers of a pod one after the other", machine("a"), machine("b", free="0-3,4-5"),
        gang_of(exact(4, SINGLE, container(3, "side"))), conf=CONF, binds="a",
    ),
    Case(
        "the container that finds nothing is named", machine("a", free="0-3,4-5"),
        gang_of(exact(4, SINGLE, container(3, "side"))), conf=CONF, binds="-",
        reasons=none_of(1, "1 container side cannot be assigned by numa"),
    ),
    Case(
        "sidecars keep their CPUs", machine("a"), gang_of(
            exact(4, SINGLE, initContainers=[container(3, "proxy", restartPolicy="Always")])
        ), conf=CONF, binds="a",
    ),
    Case(
        "CPUs of other pods", node("a", 8), topology("a", given={"stranger": "0-1"}), foreign("a", 2),
        gang_of(exact(4, SINGLE), exact(3, SINGLE)), conf=CONF, binds="--",
    ),
    Case("NUMA nodes of different sizes", machine("a", sizes="2 6"), crew(1, 6), conf=CONF, binds="a"),
]  # fmt: skip

TOGETHER = [
    Case("a gang shares the NUMA nodes of a node", machine("a"), crew(2, 4), conf=CONF, binds="aa"),
    Case("no more than they have", machine("a", cpu=99), crew(3, 4), conf=CONF, binds="---"),
    Case("each NUMA node has capacity for one", machine("a"), machine("b"), crew(4, 3), conf=CONF, binds="aabb"),
    Case("the rest is placed elsewhere", machine("a", free="0-3"), machine("b"), crew(3, 4), conf=CONF, binds="abb"),
    Case(
        "a gang that does not fit leaves its processors", machine("a", cpu=99), crew(3, 4, name="large"),
        crew(2, 4, name="small"), conf=CONF, binds="--- aa",
    ),
    Case(
        "different pods, the same processors", machine("a", cpu=99), crew(1, 4, name="one"), crew(1, 3, name="three"),
        crew(1, 2, name="two"), conf=CONF, binds="aa-",
    ),
    Case(
        "the next cycle sees what was assigned", machine("a"), crew(1, 3, name="one"),
        gang_of(exact(3, SINGLE), exact(2, SINGLE), name="two", minimum=1), conf=CONF, cycles=2, binds="a a-",
    ),
    Case(
        "fewer NUMA nodes are better", machine("a", BEST, free="0-1,4-7"), machine("b", BEST, free="0-1,4-5"),
        machine("c", BEST), crew(2, 4, BEST), conf=CONF, binds="ac",
    ),
    Case(
        "as far as a pod requests it", machine("a", BEST, free="0-1,4-5"), machine("b", BEST), crew(1, 4, ""),
        conf=CONF, binds="a",
    ),
    Case(
        "its weight", machine("a", BEST, free="0-1,4-5"), machine("b", BEST), crew(1, 4, BEST),
        conf=configuration("gang", "predicates", plugin("numa-aware", {"weight": 0})), binds="a",
    ),
    Case(
        "to be there at all is better than not", machine("a", BEST, free="0"), machine("b", BEST, free="0-1,4"),
        machine("c", BEST, free="0-1,4-5", sizes="2 2 2 2"), crew(1, 3, BEST), conf=CONF, binds="b",
    ),
]  # fmt: skip

WAITING = [
    Case(
        "processors that are being released", node("a", 8), topology("a", given={"old-task-0": "0-3"}),
        running("a", 4, releasing=True), crew(2, 4, minimum=1), conf=CONF, binds="aA",
    ),
    Case(
        "no pod waits for a free one", node("a", 8), topology("a", given={"old-task-0": "0-1"}), machine("b"),
        running("a", 2, releasing=True), crew(2, 4), conf=CONF, binds="ab",
    ),
    Case(
        "a deleted pod, as soon as the node reports it", node("a", 8), topology("a", given={"gone": "0-3"}),
        crew(2, 4), conf=CONF, binds="--",
    ),
    Case(
        "there is enough, but not together", node("a", 8),
        topology("a", given={"old-task-0": "0-1", "stranger": "4-5"}), running("a", 2, releasing=True), foreign("a", 2),
        crew(1, 3), conf=CONF, binds="A",
    ),
    Case(
        "nominated capacity is not used before it is free", node("a", 8),
        topology("a", given={"old-task-0": "0-1", "stranger": "4-5"}), running("a", 2, releasing=True), foreign("a", 2),
        gang_of(exact(3, SINGLE, nominated="a")), conf=CONF, binds="A",
    ),
    Case(
        "no other pod uses the NUMA node of nominated capacity", node("a", 8),
        topology("a", given={"old-task-0": "0-1", "stranger": "4-5"}), running("a", 2, releasing=True), foreign("a", 2),
        crew(1, 2, name="early"), gang_of(exact(4, SINGLE, nominated="a"), name="late"), conf=CONF, binds="aA",
    ),
    Case(
        "a less important pod is evicted from a NUMA node", priority_class("high", 9), node("a", 8),
        topology("a", given={"low-task-0": "0-1", "stranger": "4-5"}), running("a", 2, name="low"), foreign("a", 2),
        crew(1, 4, priority="high"), conf=PREEMPTING, binds="A", evicts=["low-task-0"],
    ),
    Case(
        "no eviction in vain", priority_class("high", 9), node("a", 8),
        topology("a", given={"low-task-0": "0-1", "stranger": "2-5"}), running("a", 2, name="low"), foreign("a", 4),
        crew(1, 4, priority="high"), conf=PREEMPTING, binds="-",
    ),
]  # fmt: skip

BROKEN = [
    Case(
        "an invalid topology is ignored", machine("a", cpuDetail={"0": {}}), machine("b"), crew(1), conf=CONF,
        binds="b",
        warnings=[broken("spec.cpuDetail.0.numa: expected a number from 0 on, got None")],
    ),
    Case(
        "and its node is there for all others", machine("a", cpuDetail={"x": {}}), crew(1, policy=""), conf=CONF,
        binds="a", warnings=[broken("spec.cpuDetail.x: is not a processor; write numbers below 4096")],
    ),
    Case("a topology without a node", topology("a"), machine("b"), crew(1), conf=CONF, binds="b"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*POLICIES, *FREE_CAPACITY, *TOGETHER, *WAITING, *BROKEN], ids=str)
def test_numa_aware(case: Case) -> None:
    case.check()


def carried(plan: SchedulingPlan, key: str) -> list[str]:
    """The annotations of the bindings of the last cycle."""
    binds = [bind for statement in plan.session.decisions.binds for bind in statement]
    return [bind.annotations.get(key, "") for bind in sorted(binds, key=lambda bind: bind.key)]


BOUND = [
    ("one after the other", [machine("a"), crew(2, 3)], ['{"main": "0-2"}', '{"main": "4-6"}']),
    ("whole cores first", [machine("a", free="1-7"), crew(1, 2)], ['{"main": "2-3"}']),
    ("what is broken into is used up", [machine("a", free="1-7"), crew(1, 1)], ['{"main": "1"}']),
    ("a whole socket", [machine("a", RESTRICTED, free="1-7"), crew(1, 4, RESTRICTED)], ['{"main": "4-7"}']),
    ("over two NUMA nodes", [machine("a", RESTRICTED), crew(1, 6, RESTRICTED)], ['{"main": "0-5"}']),
    ("several containers", [machine("a"), gang_of(exact(4, SINGLE, container(2, "side"), container("500m", "small")))],
     ['{"main": "0-3", "side": "4-5"}']),
    ("nothing to report", [machine("a", BEST, free="0"), crew(1, 4, BEST)], [""]),
    ("not on nodes without a NUMA policy", [machine("a", "none"), crew(1, 4, "")], [""]),
]  # fmt: skip


@pytest.mark.parametrize(("case", "world", "expected"), BOUND, ids=[case for case, *_ in BOUND])
def test_bind_carries_cpus(case: str, world: list[Any], expected: list[str]) -> None:
    assert carried(Case(case, *world, binds="").plan(CONF), PROCESSORS) == expected


def test_decision_is_written_in_volcano_format() -> None:
    plan = Case("", machine("a", RESTRICTED), crew(1, 6, RESTRICTED), binds="").plan(CONF)
    assert [json.loads(text) for text in carried(plan, DECISION)] == [{"numa": {"0": {"cpu": "4"}, "1": {"cpu": "2"}}}]
