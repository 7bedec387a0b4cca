"""Jobs keep their domain: near the pods that have a node, and otherwise in the previous domain of the group."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE, SUB_GROUP_HYPERNODES
from stromboli.core.model.topology.hypernodes import TOP
from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import gang, gang_of, node, nodes, pod, priority_class, running
from tests.testing.manifests.hypernodes import AWARE, HARD_BLOCK, HARD_RACK, SOFT, TREE, hyper_node, named, network
from tests.testing.manifests.topology_levels import BLOCK, RACK, WORLD, asking

NETWORK = "network-topology-aware"
TWO = network(2, "ab", "cd")
PARTS = [{"name": "p", "subGroupSize": 2, "matchLabelKeys": ["part"], "networkTopology": HARD_RACK}]


def kept(name: str, *world: Any, binds: str, conf: str = AWARE, **more: Any) -> Case:
    return Case(name, *world, binds=binds, conf=conf, **more)


def was_in(domain: str = "", **parts: str) -> dict[str, str]:
    """The previous domains of a group, and of its sub-groups p-x, p-y, ..."""
    named_parts = {f"p-{part}": home for part, home in parts.items()}
    reported = {ALLOCATED_HYPERNODE: domain, SUB_GROUP_HYPERNODES: json.dumps(named_parts) if parts else ""}
    return {key: value for key, value in reported.items() if value}


def parted(values: str, **facts: Any) -> list[Any]:
    return gang_of(*(pod(2, labels={"part": part}) for part in values), policies=PARTS, **facts)


def lost(domain: str, why: str) -> list[str]:
    return [f"PodGroup default/gang: previous domain {domain!r} {why}; it is dropped"]


GONE = "no longer exists"

RECORDED = [
    kept("a job is tried first where it was", TWO, gang(2, 2, topology=HARD_RACK, notes=was_in("rack-1")), binds="cd"),
    kept("a fuller rack does not draw it away", network(4, "ab", "cd"), running("ab", 3),
         gang(2, 1, topology=HARD_RACK, notes=was_in("rack-1")), binds="cc"),
    kept("a previous rack that is full is not used", TWO, running("c", 2),
         gang(2, 2, topology=HARD_RACK, notes=was_in("rack-1")), binds="ab"),
    kept("it waits only where nothing else suffices", TWO, running("ac", 2),
         gang(2, 2, topology=HARD_RACK, notes=was_in("rack-1")), binds="--"),
    kept("capacity that is being released there is waited for", TWO, running("d", 2, releasing=True),
         gang(2, 2, topology=HARD_RACK, notes=was_in("rack-1")), binds="-D"),
    kept("a block is kept", TREE, gang(3, 2, topology=HARD_BLOCK, notes=was_in("block-1")), binds="efg"),
    kept("inside of it few racks are used", TREE, running("e", 2),
         gang(2, 2, topology=HARD_BLOCK, notes=was_in("block-1")), binds="gh"),
    kept("a rack that has become too small is left before its block is", TREE,
         gang(3, 2, topology=HARD_BLOCK, notes=was_in("rack-3")), binds="abc"),
    kept("soft constraints keep their previous domain, too", TREE, gang(2, 2, topology=SOFT, notes=was_in("rack-2")),
         binds="ef"),
    kept("and widen from there", TREE, running("e", 2), gang(3, 2, topology=SOFT, notes=was_in("rack-2")),
         binds="fgh"),
    kept("members return one after the other", TWO, gang(2, 2, minimum=1, topology=HARD_RACK,
         notes=was_in("rack-1")), binds="cd"),
    kept("two jobs that were in one rack: the first keeps it", TWO,
         gang(2, 2, name="one", topology=HARD_RACK, notes=was_in("rack-1")),
         gang(2, 2, name="two", topology=HARD_RACK, notes=was_in("rack-1")), binds="cd ab"),
    kept("a domain that has no nodes now is not waited for", TWO, hyper_node("empty", 1),
         gang(2, 2, topology=HARD_RACK, notes=was_in("empty")), binds="ab",
         warnings=["HyperNode empty: no node is in it; nothing is placed there"]),
    kept("one with less than the least of the job is passed over", network(2, "ab", "c"),
         gang(1, 2, topology=HARD_RACK, resources={"cpu": 4}, notes=was_in("rack-1")), binds="a"),
    kept("a job without a topology is placed anywhere", TWO, gang(1, 2, notes=was_in("rack-1")), binds="a",
         conf=configuration("gang", "predicates", {"name": NETWORK, "arguments": {
             "hypernode.binpack.normal-pod.enable": False}})),
    kept("a network by labels is remembered as well", WORLD, gang(2, 2, notes={**asking(RACK), **was_in("b1/r1")}),
         binds="gh"),
    kept("the preferred level around it", WORLD, gang(2, 2, notes={**asking(None, BLOCK), **was_in("b1/r1")}),
         binds="ef"),
]  # fmt: skip

OUTRANKED = [
    kept("pods that have nodes outrank the record", TWO, gang_of(pod(2, nodeName="a"), pod(2), minimum=1,
         topology=HARD_RACK, phase="Running", notes=was_in("rack-1")), binds="b"),
    kept("a pod that is on its way out has none", TWO, gang_of(pod(2, nodeName="a", releasing=True), pod(2), pod(2),
         minimum=2, topology=HARD_RACK, notes=was_in("rack-1")), binds="cd"),
    kept("nominated capacity outranks it, too", TWO,
         gang_of(pod(2, nominated="a"), pod(2, nominated="b"), topology=HARD_RACK, notes=was_in("rack-1")), binds="ab"),
    kept("nominated capacity is tried first", TWO,
         gang_of(pod(2, nominated="c"), pod(2, nominated="d"), topology=HARD_RACK), binds="cd"),
    kept("a nomination on a deleted node is ignored", TWO,
         gang_of(pod(2, nominated="z"), pod(2, nominated="z"), topology=HARD_RACK, notes=was_in("rack-1")), binds="cd"),
    kept("preemption prefers the lowest cost, not the previous domain", TWO, priority_class("high", 100),
         priority_class("middle", 50), priority_class("low", 10), running("ab", 2, name="less", priority="low"),
         running("cd", 2, name="more", priority="middle"),
         gang(2, 2, priority="high", topology=HARD_RACK, notes=was_in("rack-1")), binds="BA",
         evicts=["less-task-0", "less-task-1"],
         conf=configuration("priority", {"name": "gang", "enablePreemptable": False}, "predicates", NETWORK,
                            actions="enqueue, allocate, preempt")),
    kept("no plugin looks after domains", TWO, gang(2, 2, notes=was_in("rack-9"), topology=HARD_RACK), binds="ab",
         conf=configuration("gang", "predicates"), warnings=[
             "PodGroup default/gang: networkTopology has no effect: no configured plugin supports network domains"]),
]  # fmt: skip

SUB_GROUPS = [
    kept("each sub-group is tried where it was", TWO, parted("xxyy", notes=was_in(x="rack-1", y="rack-0")),
         binds="cdab"),
    kept("a sub-group without a previous domain takes what is left", TWO, parted("xxyy", notes=was_in(x="rack-1")),
         binds="cdab"),
    kept("inside of the domain of the job", TREE,
         parted("xxyy", topology=HARD_BLOCK, notes=was_in("block-1", x="rack-3", y="rack-2")), binds="ghef"),
    kept("a job that must move takes its sub-groups with it", TREE, running("e", 2),
         parted("xxyy", topology=HARD_BLOCK, notes=was_in("block-1", x="rack-3", y="rack-2")), binds="abcd"),
    kept("a sub-group that runs outranks its record", network(2, "ab", "cd", "ef"), gang_of(
         pod(2, nodeName="a", labels={"part": "x"}), *(pod(2, labels={"part": part}) for part in "xyy"), minimum=2,
         policies=PARTS, phase="Running", notes=was_in(x="rack-1", y="rack-2")), binds="bef"),
    kept("a record that cannot be read is none", TWO,
         parted("xxyy", notes={SUB_GROUP_HYPERNODES: '{"p-x": 7'}), binds="abcd"),
    kept("an unknown sub-group is ignored", TWO, parted("xx", notes=was_in(z="rack-0")), binds="ab"),
]  # fmt: skip

LOST = [
    kept("a deleted domain is reported and forgotten", TWO, gang(2, 2, topology=HARD_RACK, notes=was_in("rack-9")),
         binds="ab", warnings=lost("rack-9", GONE)),
    kept("so is one of a sub-group", TWO, parted("xx", notes=was_in(x="rack-9")), binds="ab",
         warnings=lost("rack-9", GONE)),
    kept("and one whose tier is not allowed any more", TREE,
         gang(2, 2, topology=HARD_RACK, notes=was_in("block-1")), binds="ab",
         warnings=lost("block-1", "is of tier 2, and tiers above 1 are no longer allowed")),
    kept("though a sub-group of the job may stay there", TREE, gang_of(pod(2, labels={"part": "x"}), topology=HARD_RACK,
         policies=[{**PARTS[0], "subGroupSize": 1, "networkTopology": SOFT}], notes=was_in("block-1", x="block-1")),
         binds="a", warnings=lost("block-1", "is of tier 2, and tiers above 1 are no longer allowed")),
    kept("by the name of a tier", [*nodes(2, 2), hyper_node("r", 1, *named("a"), tier_name="rack"),
         hyper_node("all", 2, *named("a", "b"))],
         gang(1, 2, topology={"highestTierName": "rack"}, notes=was_in("all")), binds="a",
         warnings=lost("all", "is of tier 2, and tiers above 1 are no longer allowed")),
    kept("values of labels that no node has", WORLD, gang(2, 2, notes={**asking(RACK), **was_in("b7/r7")}), binds="ab",
         warnings=lost("b7/r7", GONE)),
    kept("the cluster itself is no previous domain", TREE,
         gang(2, 2, topology=SOFT, notes=was_in(TOP)), binds="ab", warnings=lost(TOP, "is the whole cluster")),
]  # fmt: skip

NEAR = [
    kept("a job that runs in a rack stays there though another is fuller", network(4, "ab", "cd"), running("cd", 3),
         gang_of(pod(1, nodeName="a"), pod(1), minimum=1, topology=SOFT, phase="Running"), binds="a"),
    kept("where wider domains are allowed as well",
         [*network(4, "ab", "cd"), hyper_node("block", 2, *named("rack-0", "rack-1",
         kind="HyperNode"))], running("cd", 3),
         gang_of(pod(1, nodeName="a"), pod(1), minimum=1, topology=HARD_BLOCK, phase="Running"), binds="a"),
    kept("the block comes next, before a rack that is far away", TREE, running("b", 2),
         gang_of(pod(2, nodeName="a"), pod(2), pod(2), minimum=3, topology=SOFT, phase="Running"), binds="cd"),
    kept("then the cluster", TREE, running("bcd", 2),
         gang_of(pod(2, nodeName="a"), pod(2), pod(2), minimum=3, topology=SOFT, phase="Running"), binds="ef"),
    kept("those that came first draw the others", network(4, "ab", "cd"), running("cd", 3),
         gang(4, 2, minimum=2, topology=SOFT), binds="aabb"),
    kept("a job that is spread over the cluster joins its own racks first", [*network(4, "ab", "cd", "ef")],
         running("ef", 3), gang_of(pod(2, nodeName="a"), pod(2, nodeName="c"), *(pod(1) for _ in range(2)), minimum=4,
         topology=SOFT, phase="Running"), binds="aa"),
    kept("a new sub-group stays near the others", TREE, running("h", 2), gang_of(
         *(pod(2, nodeName=place, labels={"part": "x"}) for place in "ef"), *(pod(2, labels={"part": "y"}) for _ in
         range(1)), minimum=3, topology=SOFT, policies=[{**PARTS[0], "subGroupSize": 1}], phase="Running"), binds="g"),
    kept("a node in no rack is close to all domains", [node("z", 2), *network(2, "ab")],
         gang_of(pod(2, nodeName="z"), pod(2), minimum=1, topology=SOFT, phase="Running"), binds="a"),
]  # fmt: skip

CASES = RECORDED + OUTRANKED + SUB_GROUPS + LOST + NEAR


@pytest.mark.parametrize("case", CASES, ids=str)
def test_previous_domains(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
