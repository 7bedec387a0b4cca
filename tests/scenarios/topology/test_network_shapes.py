"""Networks of all shapes, constraints at their limits, and sub-groups of several kinds."""

from __future__ import annotations

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, running
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

TWO = network(2, "ab", "cd")
LEFT_OUT = "the member is left out"
NO_TIER = "HyperNode odd: spec.tier: must be a number that is not negative; write 0 or more; the domain is left out"
EMPTY = "no node is in it; nothing is placed there"


def hard(tier: int) -> Manifest:
    return {"mode": "hard", "highestTierAllowed": tier}


def parts(values: str, cpu: object = 2, label: str = "part") -> list[Manifest]:
    return [pod(cpu, labels={label: value}) for value in values]


#: Four tiers: hosts in racks in blocks in zones, of which the second has one rack only.
DEEP = [
    *network(2, "ab", "cd", "ef"), *(hyper_node(f"host-{x}", 0, *named(x)) for x in "abcdef"),
    block("block-0", 2, "rack-0", "rack-1"), block("zone-0", 3, "block-0"), block("zone-1", 3, "rack-2"),
]  # fmt: skip
#: Hosts are members of racks as nodes and as domains of their own.
HOSTED = [
    *nodes(4, 4), *(hyper_node(f"host-{x}", 0, *named(x)) for x in "abcd"),
    hyper_node("rack-0", 1, *named("host-a", "host-b", kind="HyperNode")),
    hyper_node("rack-1", 1, *named("host-c", "host-d", kind="HyperNode")),
]  # fmt: skip

TIERS = [
    close("a tier of nodes: all on one", HOSTED, gang(2, 2, topology=hard(0)), binds="aa"),
    close("one node is too small", HOSTED, gang(3, 2, topology=hard(0)), binds="---"),
    close("then a rack", HOSTED, gang(3, 2, topology=HARD_RACK), binds="aab"),
    close("a node is closer than a rack", HOSTED, running("a", 2), gang(2, 2, topology=HARD_RACK), binds="bb"),
    close("tiers without domains are skipped", [*TWO, block("far", 7, "rack-0", "rack-1")],
          gang(3, 2, topology=hard(7)), binds="abc"),
    close("a gap is no step: tier 6 is not tier 7", [*TWO, block("far", 7, "rack-0", "rack-1")],
          gang(3, 2, topology=hard(6)), binds="---"),
    close("a rack may be right below a zone", DEEP, running("ac", 2), gang(2, 2, topology=hard(3)), binds="ef"),
    close("the third tier", DEEP, running("e", 2), gang(4, 2, topology=hard(3)), binds="abcd"),
    close("no domain holds two zones", DEEP, gang(6, 2, topology=hard(3)), binds="------"),
    close("the cluster is above the highest tier", DEEP, gang(6, 2, topology=hard(4)), binds="abcdef"),
    close("a tier beyond everything is the cluster", TWO, gang(4, 2, topology=hard(99)), binds="abcd"),
    close("a tier below everything is nowhere", TWO, gang(1, 2, topology=hard(0)), binds="-",
          codes={"gang": ["NoDomainFits"]}, reasons={"gang": [
              "no domain fits the 1 pod it needs: the lowest tier is 1; tiers above 0 are not allowed"]}),
    close("a soft constraint ignores the highest tier", TWO,
          gang(3, 2, topology={"mode": "soft", "highestTierAllowed": 1}), binds="abc"),
    close("the number is heard where the name is empty", TWO,
          gang(3, 2, topology={"highestTierName": "", "highestTierAllowed": 1}), binds="---"),
    close("the name outdoes the number", [*nodes(2, 4), hyper_node("r", 1, *named("a", "b"), tier_name="rack"),
          hyper_node("z", 2, *named("a", "b", "c", "d"), tier_name="zone")],
          gang(3, 2, topology={"highestTierName": "zone", "highestTierAllowed": 1}), binds="abc"),
    close("a name that differs by a letter is unknown", [*nodes(2, 2), hyper_node("r", 1, *named("a"),
          tier_name="rack")], gang(1, topology={"highestTierName": "Rack"}), binds="-", codes={"gang": ["UnknownTier"]},
          reasons={"gang": ["no HyperNode has the tier name 'Rack'; there are: rack"]}),
]  # fmt: skip

SHAPES = [
    close("a node in two racks counts in both", [*nodes(2, 3), *racks("ab", "bc")], running("a", 2),
          gang(2, 2, topology=HARD_RACK), binds="bc"),
    close("a domain may have nodes and domains", [*TWO, node("e", 2),
          hyper_node("block", 2, *named("rack-0", kind="HyperNode"), *named("e"))],
          gang(3, 2, topology=HARD_BLOCK), binds="abe"),
    close("a member that is named twice is one", [*nodes(2, 2), hyper_node("rack", 1, *named("a", "a", "b"))],
          gang(3, 2, topology=HARD_RACK), binds="---"),
    close("two domains with the same nodes: the first by name", [*nodes(2, 2), hyper_node("x", 1, *named("a", "b")),
          hyper_node("w", 1, *named("a", "b"))], gang(2, 2, topology=HARD_RACK), binds="ab"),
    close("a rack of one node", network(4, "a", "bc"), running("bc", 1), gang(2, 2, topology=HARD_RACK), binds="aa"),
    close("racks of different sizes: the tightest", network(2, "abc", "de"), gang(2, 2, topology=HARD_RACK),
          binds="de"),
    close("cordoned nodes have no capacity", [node("a", 2, cordoned=True), *TWO[1:]],
          gang(2, 2, topology=HARD_RACK), binds="cd"),
    close("nor are nodes that are not ready", [node("a", 2, ready=False), *TWO[1:]], gang(2, 2, topology=HARD_RACK),
          binds="cd"),
    close("pods of another scheduler use capacity in a rack", TWO, pod(2, name="other", nodeName="a",
          schedulerName="default-scheduler"), gang(2, 2, topology=HARD_RACK), binds="cd"),
    close("what is scarce in a rack is counted", [node("a", 8, gpu=1), node("b", 8), node("c", 8, gpu=2), *racks("ab",
          "c")], gang(2, 1, gpu=1, topology=HARD_RACK), binds="cc"),
    close("every node of the cluster in one rack", network(2, "abcd"), gang(4, 2, topology=HARD_RACK), binds="abcd"),
]  # fmt: skip

BAD_TREES = [
    close("a domain of nothing", [*TWO, hyper_node("odd", 1)], gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=[f"HyperNode odd: {EMPTY}"]),
    close("a tier below zero", [*TWO, hyper_node("odd", -1, *named("a"))], gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=[NO_TIER]),
    close("an excluded domain is no member", [*TWO, hyper_node("odd", None, *named("a")),
          block("x", 2, "odd", "rack-0")], gang(2, 2, topology=HARD_BLOCK), binds="ab",
          warnings=[NO_TIER]),
    close("members of equal tiers", [*TWO, block("x", 1, "rack-0")], gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=[f"HyperNode x: spec.members[0].selector.exactMatch.name: rack-0 is of tier 1, which is not below "
                    f"tier 1; {LEFT_OUT}", f"HyperNode x: {EMPTY}"]),
    close("a circle of three", [*TWO, block("x", 2, "z"), block("y", 3, "x"), block("z", 4, "y")],
          gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=["HyperNode x: spec.members[0].selector.exactMatch.name: z is of tier 4, which is not below tier "
                    f"2; {LEFT_OUT}", *(f"HyperNode {name}: {EMPTY}" for name in "xyz")]),
    close("three parents: two are refused", [*TWO, *(block(name, 2, "rack-0") for name in "xyz")],
          gang(2, 2, topology=HARD_BLOCK), binds="ab", warnings=[
              warning for name in "yz" for warning in (
                  f"HyperNode {name}: spec.members[0].selector.exactMatch.name: rack-0 is a member of x already; "
                  f"{LEFT_OUT}", f"HyperNode {name}: {EMPTY}")]),
    close("a domain by pattern", [*TWO, hyper_node("x", 2, {"type": "HyperNode", "selector": {"regexMatch": {
          "pattern": "rack"}}})], gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=[f"HyperNode x: spec.members[0].selector: a member of type HyperNode is chosen by exactMatch alone; "
                    f"{LEFT_OUT}", f"HyperNode x: {EMPTY}"]),
    close("no selector", [*TWO, hyper_node("x", 1, {"type": "Node"}, *named("a"))], gang(2, 2, topology=HARD_RACK),
          binds="ab", warnings=["HyperNode x: spec.members[0].selector: exactly one of exactMatch, regexMatch and "
                                f"labelMatch is needed; {LEFT_OUT}"]),
    close("no type", [*TWO, hyper_node("x", 1, {"selector": {"exactMatch": {"name": "a"}}}, *named("a"))],
          gang(2, 2, topology=HARD_RACK), binds="ab",
          warnings=[f"HyperNode x: spec.members[0].type: None is not known; write Node or HyperNode; {LEFT_OUT}"]),
    close("an empty pattern", [*TWO, hyper_node("x", 1, matching(""), *named("a"))], gang(2, 2, topology=HARD_RACK),
          binds="ab", warnings=["HyperNode x: spec.members[0].selector.regexMatch.pattern: needs between 1 and 1024 "
                                f"characters; {LEFT_OUT}"]),
    close("a pattern that only others understand", [*TWO, hyper_node("x", 1, matching("^(?=a)"), *named("a"))],
          gang(2, 2, topology=HARD_RACK), binds="ab", warnings=[
              "HyperNode x: spec.members[0].selector.regexMatch.pattern: invalid perl operator: (?=; use RE2 syntax; "
              f"{LEFT_OUT}"]),
    close("an unknown expression", [*TWO, hyper_node("x", 1, {"type": "Node", "selector": {"labelMatch": {
          "matchExpressions": [{"key": "k", "operator": "Like"}]}}}, *named("a"))],
          gang(2, 2, topology=HARD_RACK), binds="ab", warnings=[
              "HyperNode x: spec.members[0].selector.labelMatch.matchExpressions[0].operator: 'Like' is not one of In, "
              f"NotIn, Exists, DoesNotExist; {LEFT_OUT}"]),
    close("one bad member of many", [*nodes(2, 3), node("d", 2, labels={"rack": "r"}), hyper_node("x", 1, *named("a"),
          matching("("), labelled(rack="r"), *named("zz", "c"))], gang(3, 2, topology=HARD_RACK), binds="acd",
          warnings=["HyperNode x: spec.members[1].selector.regexMatch.pattern: missing ): (; use RE2 syntax; "
                    f"{LEFT_OUT}",
                    f"HyperNode x: spec.members[3].selector.exactMatch.name: there is no node 'zz'; {LEFT_OUT}"]),
]  # fmt: skip

DRIVERS = [{"role": "driver"}, {"role": "worker"}]
KINDS = [
    {**policy("drivers", 1, label="task"), "labelSelector": {"matchLabels": DRIVERS[0]}},
    {**policy("workers", 2, HARD_RACK, label="task"), "labelSelector": {"matchLabels": DRIVERS[1]}},
]


def crew(driver: str, workers: str) -> list[Manifest]:
    """Drivers and workers; a letter is a sub-group."""
    made = [pod(2, labels={"role": "driver", "task": letter}) for letter in driver]
    return made + [pod(2, labels={"role": "worker", "task": letter}) for letter in workers]


SUB_GROUPS = [
    close("only some sub-groups must be close", network(2, "a", "bc", "de"), gang_of(*crew("x", "xxyy"),
          policies=KINDS), binds="abcde"),
    close("two kinds, each with its own tier", TREE, running("b", 2), gang_of(
          *parts("xx", label="near"), *parts("yyy", label="wide"),
          policies=[policy("n", 2, HARD_RACK, "near"), policy("w", 3, HARD_BLOCK, "wide")]), binds="cdefg"),
    close("pods of no sub-group stay with the job", TREE, running("ab", 2), gang_of(
          *parts("xx"), pod(2), pod(2), topology=HARD_BLOCK, policies=[policy("p", 2, HARD_RACK)]), binds="ghef"),
    close("a soft job with hard sub-groups", TREE, running("ac", 2), gang_of(
          *parts("xxyy"), topology=SOFT, policies=[policy("p", 2, HARD_RACK)]), binds="efgh"),
    close("the job widens, its sub-groups do not", TREE, running("ae", 2), gang_of(
          *parts("xxyy"), topology=SOFT, policies=[policy("p", 2, HARD_RACK)]), binds="cdgh"),
    close("a sub-group that is larger than any rack holds the job", TREE, gang_of(
          *parts("xxx"), policies=[policy("p", 3, HARD_RACK)]), binds="---", codes={"gang": ["NoDomainFits"]}),
    close("as many sub-groups as must start", network(2, "ab", "cd", "ef"), running("c", 2), gang_of(
          *parts("xxyyzz"), minimum=4, policies=[policy("p", 2, HARD_RACK, minimum=2)]), binds="abef--"),
    close("one short of that", network(2, "ab", "cd", "ef"), running("ce", 2), gang_of(
          *parts("xxyyzz"), minimum=4, policies=[policy("p", 2, HARD_RACK, minimum=2)]), binds="------"),
    close("two sub-groups share a rack with capacity for both", network(4, "ab"), gang_of(
          *parts("xxyy"), policies=[policy("p", 2, HARD_RACK)]), binds="aabb"),
    close("an unknown tier of a sub-group", TWO, gang_of(
          *parts("xx"), policies=[policy("p", 2, {"highestTierName": "pod"})]), binds="--",
          codes={"gang": ["UnknownTier"]}),
    close("a tier above that of the job is the job's", TREE, gang_of(
          *parts("xxx"), topology=HARD_RACK, policies=[policy("p", 3, HARD_BLOCK)]), binds="---"),
    close("one sub-group runs, the next is placed beside it", TREE, running("c", 2), gang_of(
          *(pod(2, nodeName=place, labels={"part": "x"}) for place in "ef"), *parts("yy"), minimum=2,
          topology=HARD_BLOCK, policies=[policy("p", 2, HARD_RACK)], phase="Running"), binds="gh"),
    close("half of a sub-group runs, its other half joins it", TREE, gang_of(
          pod(2, nodeName="g", labels={"part": "x"}), *parts("x"), *parts("yy"), minimum=2, topology=HARD_BLOCK,
          policies=[policy("p", 2, HARD_RACK)], phase="Running"), binds="hef"),
    close("and waits where it cannot", TREE, running("h", 2), gang_of(
          pod(2, nodeName="g", labels={"part": "x"}), *parts("x"), minimum=1, topology=HARD_BLOCK,
          policies=[policy("p", 1, HARD_RACK)], phase="Running"), binds="-"),
]  # fmt: skip

PARTLY = [
    close("minimum placed, the rest waits for its rack", TWO, running("b", 2), gang_of(
          pod(2, nodeName="a"), pod(2), pod(2), minimum=1, topology=HARD_RACK, phase="Running"), binds="--"),
    close("where no rack holds all of it, the one that holds most", network(2, "a", "bc"),
          gang(3, 2, minimum=1, topology=HARD_RACK), binds="bc-"),
    close("if that is enough to start with", network(2, "a", "bcd", "ef"), running("bcd", 1),
          gang(3, 2, minimum=2, topology=HARD_RACK), binds="ef-"),
    close("the rest is placed one by one", network(2, "abc", "de"), running("c", 2), gang_of(
          pod(2, nodeName="a"), pod(2), pod(2), minimum=1, topology=HARD_RACK, phase="Running"), binds="b-"),
    close("among equal racks, pods that have ended draw the others", TWO, gang_of(
          pod(2, nodeName="c", phase="Succeeded"), pod(2), pod(2), minimum=2, topology=HARD_RACK, phase="Running"),
          binds="cd"),
    close("but they constrain no pod", TWO, running("d", 2), gang_of(
          pod(2, nodeName="c", phase="Succeeded"), pod(2), pod(2), minimum=2, topology=HARD_RACK, phase="Running"),
          binds="ab"),
    close("nor do pods that have failed", TWO, running("d", 2), gang_of(
          pod(2, nodeName="c", phase="Failed"), pod(2), pod(2), minimum=2, topology=HARD_RACK, phase="Running"),
          binds="ab"),
    close("a pod on a deleted node has no effect either", TWO, gang_of(
          pod(2, nodeName="z"), pod(2), pod(2), minimum=2, topology=HARD_RACK, phase="Running"), binds="ab"),
    close("two that run in one rack, two that are placed", network(2, "abcd", "efgh"), gang_of(
          *(pod(2, nodeName=place) for place in "gh"), pod(2), pod(2), minimum=2, topology=HARD_RACK,
          phase="Running"), binds="ef"),
    close("a job that is spread by a soft constraint may use nodes in between", TREE, gang_of(
          pod(2, nodeName="a"), pod(2, nodeName="h"), pod(2), minimum=1, topology=SOFT, phase="Running"), binds="b"),
]  # fmt: skip

CASES = TIERS + SHAPES + BAD_TREES + SUB_GROUPS + PARTLY


@pytest.mark.parametrize("case", CASES, ids=str)
def test_network_shapes(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
