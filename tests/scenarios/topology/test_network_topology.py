"""Jobs close together: hard and soft constraints, sub-groups, running members, and invalid networks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import gang, gang_of, node, nodes, pod, running
from tests.testing.manifests.hypernodes import (
    HARD_BLOCK,
    HARD_RACK,
    SOFT,
    TREE,
    block,
    close,
    hyper_node,
    labelled,
    matching,
    named,
    network,
    policy,
    racks,
)

NETWORK = "network-topology-aware"


def parts(*values: str, cpu: object = 2) -> list[Any]:
    return [pod(cpu, labels={"part": value}) for value in values]


HARD = [
    close("a job stays in one rack", network(2, "ab", "cd"), gang(2, cpu=2, topology=HARD_RACK), binds="ab"),
    close("one that does not fit into a rack waits", network(2, "ab", "cd"), gang(3, cpu=2, topology=HARD_RACK),
          binds="---"),
    close("the next tier is used where it is allowed", TREE, gang(3, cpu=2, topology=HARD_BLOCK), binds="abc"),
    close("the closest tier with enough capacity is taken", TREE, gang(2, cpu=2, topology=HARD_BLOCK), binds="ab"),
    close("a tier above the allowed one will not do", TREE, gang(5, cpu=2, topology=HARD_BLOCK), binds="-----"),
    close("a used rack is skipped when it lacks capacity", network(2, "ab", "cd"), running("a", cpu=2),
          gang(2, cpu=2, topology=HARD_RACK), binds="cd"),
    close("among racks with capacity the fullest is taken", network(4, "ab", "cd"), running("c", cpu=2),
          gang(2, cpu=2, topology=HARD_RACK), binds="cd"),
    close("it leaves the empty rack to the next", network(4, "ab", "cd"), running("c", cpu=2),
          gang(2, cpu=2, name="first", topology=HARD_RACK), gang(2, cpu=4, name="second", topology=HARD_RACK),
          binds="cd ab"),
    close("of equal racks the first by name", network(2, "cd", "ab"), gang(2, cpu=2, topology=HARD_RACK), binds="cd"),
    close("two jobs get a rack each", network(2, "ab", "cd"), gang(2, cpu=2, name="one", topology=HARD_RACK),
          gang(2, cpu=2, name="two", topology=HARD_RACK), binds="ab cd"),
    close("other jobs are placed anywhere", network(2, "ab", "cd"), gang(3, cpu=2), binds="abc",
          conf=configuration("gang", "predicates", plugin(NETWORK, {"hypernode.binpack.normal-pod.enable": False}))),
    close("hard is the default mode", network(2, "ab", "cd"),
          gang(3, cpu=2, topology={"highestTierAllowed": 1}), binds="---"),
    close("hard without a tier requires nothing", network(2, "ab", "cd"), gang(3, cpu=2, topology={"mode": "hard"}),
          binds="abc"),
    close("a node in no rack is not close to any", [*network(2, "ab"), node("z", 2)],
          gang(3, cpu=2, topology=HARD_RACK), binds="---"),
    close("without hypernodes the cluster is one domain", nodes(2, 3), gang(3, cpu=2, topology=HARD_RACK), binds="abc"),
    close("node filters apply inside a rack", [node("a", 2, taints=["gpu=x:NoSchedule"]), *nodes(2, 4)[1:],
          *racks("ab", "cd")], gang(2, cpu=2, topology=HARD_RACK), binds="cd"),
    close("what is being released in the rack is waited for", network(2, "ab", "cd"), running("cd", cpu=2),
          running("b", cpu=2, name="leaving", releasing=True), gang(2, cpu=2, topology=HARD_RACK), binds="-B"),
    close("the minimum must be close, the rest joins it there", network(2, "ab", "cd"),
          gang(3, cpu=2, minimum=2, topology=HARD_RACK), binds="ab-"),
]  # fmt: skip

TIER_NAMES = [
    close("a tier has a name", [*nodes(2, 4), hyper_node("one", 1, *named("a", "b"), tier_name="rack"),
          hyper_node("two", 1, *named("c", "d"), tier_name="rack")],
          gang(2, cpu=2, topology={"highestTierName": "rack"}), binds="ab"),
    close("it binds as its number does", [*nodes(2, 4), hyper_node("one", 1, *named("a", "b"), tier_name="rack"),
          hyper_node("two", 1, *named("c", "d"), tier_name="rack")],
          gang(3, cpu=2, topology={"highestTierName": "rack"}), binds="---"),
    close("an unknown tier name holds the job with a reason", network(2, "ab"),
          gang(1, topology={"highestTierName": "pod"}), binds="-", codes={"gang": ["UnknownTier"]},
          reasons={"gang": ["no HyperNode has the tier name 'pod'; there are: none"]}),
    close("others are not held by it", network(2, "ab"), gang(1, name="lost", topology={"highestTierName": "pod"}),
          gang(2, cpu=2, name="other", topology=HARD_RACK), binds="- ab"),
]  # fmt: skip

SOFTLY = [
    close("a soft constraint is met where possible", network(2, "ab", "cd"), running("a", cpu=2),
          gang(2, cpu=2, topology=SOFT), binds="cd"),
    close("it widens tier by tier", TREE, running("a", cpu=2), gang(3, cpu=2, topology=SOFT), binds="bcd"),
    close("finally the cluster suffices", network(2, "ab", "cd"), gang(3, cpu=2, topology=SOFT), binds="abc"),
    close("a soft constraint never holds a job back", nodes(2, 3), gang(3, cpu=2, topology=SOFT), binds="abc"),
]  # fmt: skip

AT_HOME = [
    close("a job that runs in a rack stays there", network(2, "ab", "cd"),
          gang_of(pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_RACK, phase="Running"), binds="d"),
    close("and waits when it is full", network(2, "ab", "cd"), running("d", cpu=2, name="other"),
          gang_of(pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_RACK, phase="Running"), binds="-"),
    close("the nearest rack comes next where it is allowed", TREE, running("d", cpu=2, name="other"),
          gang_of(pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_BLOCK, phase="Running"), binds="a"),
    close("another block does not", [*TREE], running("abd", cpu=2, name="other"),
          gang_of(pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_BLOCK, phase="Running"), binds="-"),
    close("a job that is already too far apart gets nothing more", TREE,
          gang_of(pod(2, nodeName="a"), pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_RACK, phase="Running"),
          binds="-"),
    close("a soft constraint stays close to running members", TREE,
          gang_of(pod(2, nodeName="g"), pod(2), minimum=1, topology=SOFT, phase="Running"), binds="h"),
]  # fmt: skip

SUB_GROUPS = [
    close("each sub-group has a rack of its own", network(2, "ab", "cd"),
          gang_of(*parts("x", "x", "y", "y"), policies=[policy("p", 2, topology=HARD_RACK)]), binds="abcd"),
    close("a sub-group that has no rack holds the job", network(2, "ab", "cd"), running("d", cpu=2),
          gang_of(*parts("x", "x", "y", "y"), policies=[policy("p", 2, topology=HARD_RACK)]), binds="----"),
    close("the job stays in a block, its sub-groups in racks", TREE, running("a", cpu=2),
          gang_of(*parts("x", "x", "y", "y"), topology=HARD_BLOCK, policies=[policy("p", 2, topology=HARD_RACK)]),
          binds="efgh"),
    close("a block without capacity for both sub-groups is rejected", TREE, running("ae", cpu=2),
          gang_of(*parts("x", "x", "y", "y"), topology=HARD_BLOCK, policies=[policy("p", 2, topology=HARD_RACK)]),
          binds="----"),
    close("sub-groups that are not needed may wait", network(2, "ab", "cd"), running("d", cpu=2),
          gang_of(*parts("x", "x", "y", "y"), minimum=2, policies=[policy("p", 2, minimum=1, topology=HARD_RACK)]),
          binds="ab--"),
    close("a soft sub-group spreads over the domain of the job", TREE,
          gang_of(*parts("x", "x", "x"), topology=HARD_BLOCK, policies=[policy("p", 3, topology=SOFT)]), binds="abc"),
    close("a running sub-group stays in its rack", network(2, "ab", "cd"),
          gang_of(pod(2, nodeName="c", labels={"part": "x"}), *parts("x"), minimum=1, phase="Running",
                  policies=[policy("p", 1, topology=HARD_RACK)]), binds="d"),
]  # fmt: skip

MEMBERS = [
    close("members by pattern", [*nodes(2, 4), hyper_node("one", 1, matching("^[ab]$")),
          hyper_node("two", 1, matching("^[cd]$"))], gang(2, cpu=2, topology=HARD_RACK), binds="ab"),
    close("members by labels", [*nodes(2, 2), *(node(x, 2, labels={"rack": "r"}) for x in "cd"),
          hyper_node("one", 1, labelled(rack="r"))], gang(2, cpu=2, topology=HARD_RACK), binds="cd"),
    close("several ways together", [*nodes(2, 2), node("c", 2, labels={"rack": "r"}),
          hyper_node("one", 1, *named("a"), matching("^b$"), labelled(rack="r"))],
          gang(3, cpu=2, topology=HARD_RACK), binds="abc"),
]  # fmt: skip

LEFT_OUT = "the member is left out"
MISTAKES = [
    close("a node that is not there", [*network(2, "ab"), hyper_node("odd", 1, *named("z"))],
          gang(2, cpu=2, topology=HARD_RACK), binds="ab", warnings=[
              f"HyperNode odd: spec.members[0].selector.exactMatch.name: there is no node 'z'; {LEFT_OUT}",
              "HyperNode odd: no node is in it; nothing is placed there"]),
    close("a pattern that is none", [*network(2, "ab"), hyper_node("odd", 1, matching("("), *named("a"))],
          gang(2, cpu=2, topology=HARD_RACK), binds="ab", warnings=[
              "HyperNode odd: spec.members[0].selector.regexMatch.pattern: missing ): (; use RE2 syntax; "
              f"{LEFT_OUT}"]),
    close("a pattern with catastrophic backtracking", [node("a" * 40 + "b", 2), *network(2, "cd"),
          hyper_node("odd", 1, matching("^(a+)+$"))], gang(2, cpu=2, topology=HARD_RACK), binds="cd",
          warnings=["HyperNode odd: no node is in it; nothing is placed there"]),
    close("two selectors at once", [*network(2, "ab"), hyper_node("odd", 1, {"type": "Node", "selector": {
          "exactMatch": {"name": "a"}, "regexMatch": {"pattern": "a"}}}, *named("b"))],
          gang(2, cpu=2, topology=HARD_RACK), binds="ab", warnings=[
              "HyperNode odd: spec.members[0].selector: exactly one of exactMatch, regexMatch and labelMatch is "
              f"needed; {LEFT_OUT}"]),
    close("an unknown kind of member", [*network(2, "ab"), hyper_node("odd", 1, {"type": "Rack",
          "selector": {"exactMatch": {"name": "a"}}}, *named("a"))], gang(2, cpu=2, topology=HARD_RACK), binds="ab",
          warnings=[f"HyperNode odd: spec.members[0].type: 'Rack' is not known; write Node or HyperNode; {LEFT_OUT}"]),
    close("no tier", [*network(2, "ab"), hyper_node("odd", None, *named("a"))], gang(2, cpu=2, topology=HARD_RACK),
          binds="ab",
          warnings=["HyperNode odd: spec.tier: must be a number that is not negative; write 0 or more; the domain is "
                    "left out"]),
    close("two parents: the first by name keeps it", [*network(2, "ab", "cd"), block("x", 2, "rack-0", "rack-1"),
          block("y", 2, "rack-1")], gang(4, cpu=2, topology=HARD_BLOCK), binds="abcd", warnings=[
              f"HyperNode y: spec.members[0].selector.exactMatch.name: rack-1 is a member of x already; {LEFT_OUT}",
              "HyperNode y: no node is in it; nothing is placed there"]),
    close("a circle", [*network(2, "ab"), block("x", 3, "y"), block("y", 2, "x", "rack-0")],
          gang(2, cpu=2, topology=HARD_BLOCK), binds="ab", warnings=[
              "HyperNode y: spec.members[0].selector.exactMatch.name: x is of tier 3, which is not below tier 2; "
              f"{LEFT_OUT}"]),
    close("a member of itself", [*network(2, "ab"), hyper_node("x", 2, *named("x", "rack-0", kind="HyperNode"))],
          gang(2, cpu=2, topology=HARD_BLOCK), binds="ab", warnings=[
              "HyperNode x: spec.members[0].selector.exactMatch.name: x is of tier 2, which is not below tier 2; "
              f"{LEFT_OUT}"]),
    close("a member that is not there yet", [*network(2, "ab"), block("x", 2, "rack-0", "rack-9")],
          gang(2, cpu=2, topology=HARD_BLOCK), binds="ab", warnings=[
              "HyperNode x: spec.members[1].selector.exactMatch.name: there is no HyperNode 'rack-9' yet; "
              f"{LEFT_OUT}"]),
    close("a name for two tiers is that of the first", [*nodes(2, 2), hyper_node("x", 1, *named("a"), tier_name="t"),
          hyper_node("y", 2, *named("a", "b"), tier_name="t")], gang(1, cpu=2, topology=HARD_BLOCK), binds="a",
          warnings=["HyperNode y: spec.tierName 't' is that of tier 1 at x, not of 2"]),
    close("the name of the cluster itself", [*network(2, "ab"), hyper_node("<cluster-top-hypernode>", 1, *named("a"))],
          gang(2, cpu=2, topology=HARD_RACK), binds="ab",
          warnings=["HyperNode <cluster-top-hypernode>: metadata.name: this name is the cluster's own; choose another; "
                    "the domain is left out"]),
    close("a constraint that no plugin evaluates is reported", network(2, "ab"), gang(1, topology=HARD_RACK), binds="a",
          conf=configuration("gang", "predicates"),
          warnings=[
              "PodGroup default/gang: networkTopology has no effect: no configured plugin supports network domains"]),
]  # fmt: skip

FEW_PARTS = [
    close("as few racks as possible: the largest is filled", network(2, "a", "b", "cd"), gang(3, cpu=2, topology=SOFT),
          binds="cda"),
    close("the rest is placed where it leaves least", network(2, "abc", "de", "f", "ghi"),
          gang(4, cpu=2, topology=SOFT),
          binds="abcf"),
    close("a rack in use takes the rest, an empty one stays whole", network(4, "ab", "cd", "ef"), running("cd", cpu=2),
          gang(5, cpu=2, topology=SOFT), binds="aabbc"),
    close("inside of a block, too", [*network(2, "a", "b", "cd", "efgh"),
          block("block-0", 2, "rack-0", "rack-1", "rack-2"), block("block-1", 2, "rack-3")],
          running("ef", cpu=2), gang(3, cpu=2, topology=HARD_BLOCK), binds="cda"),
    close("few blocks first, then few racks in the last one", [*network(2, "a", "bc", "d", "e", "fg", "h"),
          block("block-0", 2, "rack-0", "rack-1", "rack-2"), block("block-1", 2, "rack-3", "rack-4", "rack-5")],
          gang(6, cpu=2, topology=SOFT), binds="abcdfg"),
    close("another role joins the first", network(4, "a", "b", "cd"),
          gang_of(*(pod(4) for _ in range(2)), *(pod(2, role="small") for _ in range(2)), topology=SOFT), binds="cdaa"),
    close("mates are joined before a rack is begun", [*network(2, "abc", "de", "fgh"),
          block("block-0", 2, "rack-0", "rack-1", "rack-2")],
          gang_of(pod(2, nodeName="d"), *(pod(2) for _ in range(4)), minimum=5, topology=HARD_BLOCK, phase="Running"),
          binds="eabc"),
    close("a node in no rack comes last", [node("A", 2), *network(2, "b", "cd"), node("e", 2)],
          gang(4, cpu=2, topology=SOFT), binds="cdbA"),
    close("idle capacity comes before a large rack that is being released", network(2, "a", "b", "cd"),
          running("cd", cpu=2, releasing=True), gang(2, cpu=2, topology=SOFT), binds="CD"),
    close("node filters may reject it", network(2, "a", "b", "cd"),
          running("c", cpu=0, name="port", ports=[{"containerPort": 80, "hostPort": 80}]),
          gang(3, cpu=2, ports=[{"containerPort": 80, "hostPort": 80}], topology=SOFT), binds="dab"),
]  # fmt: skip

CASES = FEW_PARTS + HARD + TIER_NAMES + SOFTLY + AT_HOME + SUB_GROUPS + MEMBERS + MISTAKES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_network_topology(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
