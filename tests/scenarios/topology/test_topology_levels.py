"""Jobs close together by the labels of nodes: required and preferred levels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import gang, gang_of, node, nodes, pod, priority_class, running
from tests.testing.manifests.hypernodes import HARD_RACK, close, racks
from tests.testing.manifests.topology_levels import BLOCK, HOST, RACK, WORLD, asking, at, in_racks, topology


def parts(*values: str, size: int = 2, **facts: Any) -> list[Any]:
    members = [pod(2, labels={"part": value}) for value in values]
    return gang_of(*members, policies=[{"name": "p", "subGroupSize": size, "matchLabelKeys": ["part"]}], **facts)


def owned(*names: str, notes: dict[str, str]) -> list[Any]:
    """Pods of one job with their own constraints."""
    made = [pod(2, name=name, annotations=notes) for name in names]
    for each in made:
        each["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "job", "uid": "job", "controller": True}]
    return made


REQUIRED = [
    close("a job stays in one rack", WORLD, gang(2, cpu=2, notes=asking(RACK)), binds="ab"),
    close("one that fits into no rack waits", WORLD, gang(3, cpu=2, notes=asking(RACK)), binds="---"),
    close("a block suffices where a block is required", WORLD, gang(3, cpu=2, notes=asking(BLOCK)), binds="abc"),
    close("a rack is in a block, and closer", WORLD, running("ac", cpu=2), gang(2, cpu=2, notes=asking(BLOCK)),
          binds="ef"),
    close("two blocks will not do", WORLD, gang(5, cpu=2, notes=asking(BLOCK)), binds="-----"),
    close("racks with the same name in two blocks are two", WORLD, running("ade", cpu=2),
          gang(2, cpu=2, notes=asking(RACK)), binds="gh"),
    close("without the wider level they are one", in_racks(2, "ab", "cd"), topology("net", RACK),
          gang(4, cpu=2, notes=asking(RACK)), binds="abcd"),
    close("one node, by its name", WORLD, topology("hosts", BLOCK, RACK, HOST),
          gang(2, cpu=1, notes=asking(HOST, network="hosts")), binds="aa"),
    close("among racks with capacity the fullest is taken", in_racks(4, "ab cd"), topology(), running("c", cpu=2),
          gang(2, cpu=2, notes=asking(RACK)), binds="cd"),
    close("a node without labels is in no rack", in_racks(2, "ab"), topology(), node("z", 2),
          gang(3, cpu=2, notes=asking(RACK)), binds="---"),
    close("nor is one that lacks a wider level", [node(x, 2, labels=at(rack="r0")) for x in "ab"], in_racks(2, "cd"),
          topology(), gang(2, cpu=2, notes=asking(RACK)), binds="cd"),
    close("an empty value is none", [node(x, 2, labels=at("", "r0")) for x in "ab"], in_racks(2, "cd"), topology(),
          gang(2, cpu=2, notes=asking(RACK)), binds="cd"),
    close("values with dots are distinguished", node("a", 2, labels=at("x.y", "z", "a")),
          node("b", 2, labels=at("x", "y", "b")), topology("net", BLOCK, RACK, HOST),
          gang(2, cpu=2, notes=asking(BLOCK)), binds="--"),
    close("where no node has the labels, a required level holds the job", nodes(2, 2), topology(),
          gang(1, notes=asking(RACK)), binds="-",
          reasons={"gang": ["no domain fits the 1 pod it needs: no node is in any domain; tiers above 1 are not "
                            "allowed"]},
          warnings=["Topology net: no node has all of its labels; nothing is placed by it"]),
    close("each job has the network that it names", WORLD, topology("flat", BLOCK),
          gang(3, cpu=2, name="one", notes=asking(BLOCK, network="flat")),
          gang(2, cpu=2, name="two", notes=asking(RACK)), binds="abc ef"),
    close("a job without a level is placed anywhere", WORLD, gang(5, cpu=2, notes=asking(None)), binds="abcde"),
    close("pods of one owner, without a group", WORLD, owned("x", "y", "z", notes=asking(RACK)), binds="ab-"),
    close("the minimum must be close, the rest joins it there", WORLD, gang(3, cpu=2, minimum=2, notes=asking(RACK)),
          binds="ab-"),
]  # fmt: skip

PREFERRED = [
    close("a preferred rack is found", WORLD, running("a", cpu=2), gang(2, cpu=2, notes=asking(None, RACK)),
          binds="cd"),
    close("it widens to the block", WORLD, running("a", cpu=2), gang(3, cpu=2, notes=asking(None, RACK)),
          binds="bcd"),
    close("and in the end to the cluster", WORLD, running("ae", cpu=2), gang(4, cpu=2, notes=asking(None, RACK)),
          binds="bcdf"),
    close("not beyond what is required", WORLD, running("ae", cpu=2), gang(4, cpu=2, notes=asking(BLOCK, RACK)),
          binds="----"),
    close("what is required may be used up", WORLD, running("a", cpu=2), gang(4, cpu=2, notes=asking(BLOCK, RACK)),
          binds="efgh"),
    close("the same level twice", WORLD, gang(3, cpu=2, notes=asking(RACK, RACK)), binds="---"),
    close("closer than preferred is not looked for", WORLD, running("ac", cpu=2),
          gang(2, cpu=2, notes=asking(None, BLOCK)), binds="bd"),
    close("nodes without labels are the last resort", in_racks(2, "ab"), topology(), node("z", 2),
          gang(3, cpu=2, notes=asking(None, RACK)), binds="abz"),
    close("unknown labels do not hold a job that prefers them", nodes(2, 2), topology(),
          gang(2, cpu=2, notes=asking(None, RACK)), binds="ab",
          warnings=["Topology net: no node has all of its labels; nothing is placed by it"]),
]  # fmt: skip


def at_home(places: str, more: int, **constraint: str) -> list[Any]:
    """A job with running members, and more pending ones."""
    here = [pod(2, nodeName=place) for place in places]
    return gang_of(*here, *[pod(2)] * more, minimum=1, phase="Running", notes=asking(**constraint))


AT_HOME = [
    close("a job that runs in a rack stays there", WORLD, at_home("c", 1, required=RACK), binds="d"),
    close("and waits when it is full", WORLD, running("d", cpu=2), at_home("c", 1, required=RACK), binds="-"),
    close("the next rack of the block is used if allowed", WORLD, running("d", cpu=2), at_home("c", 1, required=BLOCK),
          binds="a"),
    close("a job that runs outside of all racks gets no more", WORLD, node("z", 2), at_home("z", 1, required=RACK),
          binds="-"),
    close("a preferred rack is that of the others", WORLD, at_home("g", 1, preferred=RACK), binds="h"),
]  # fmt: skip

PARTS = [
    close("each sub-group has a rack", WORLD, parts("x", "x", "y", "y", notes=asking(part=RACK)), binds="abcd"),
    close("the job in a block, its sub-groups in racks", WORLD, running("a", cpu=2),
          parts("x", "x", "y", "y", notes=asking(BLOCK, part=RACK)), binds="efgh"),
    close("a sub-group without a rack holds the job", WORLD, running("ace", cpu=2),
          parts("x", "x", "y", "y", notes=asking(part=RACK)), binds="----"),
    close("a sub-group that prefers a rack widens within the job's block", WORLD, running("ae", cpu=2),
          parts("x", "x", "x", size=3, notes=asking(BLOCK, part_preferred=RACK)), binds="bcd"),
    close("sub-groups without a constraint are placed with the job", WORLD, running("a", cpu=2),
          parts("x", "x", "y", "y", notes=asking(BLOCK)), binds="efgh"),
    close("a sub-group that prefers more than the job's domain uses all of it", WORLD, running("a", cpu=2),
          parts("x", "x", notes=asking(RACK, part_preferred=BLOCK)), binds="cd"),
]  # fmt: skip

_ANNOTATION = "PodGroup default/gang: metadata.annotations[kai.scheduler"


def held(name: str, *world: Any, code: str, reason: str, **more: Any) -> Case:
    warnings = [reason] if code == "InvalidObject" else []
    return close(name, *world, codes={"gang": [code]}, reasons={"gang": [reason]}, warnings=warnings, **more)


MISTAKES = [
    held("a topology that is not there", WORLD, gang(1, notes=asking(RACK, network="other")), binds="-",
         code="UnknownTier", reason="there is no valid Topology 'other'; there are: net"),
    held("nor for those that prefer it", nodes(2, 1), gang(1, notes=asking(None, RACK)), binds="-",
         code="UnknownTier", reason="there is no valid Topology 'net'; there are: none"),
    held("a level that it does not have", WORLD, gang(1, notes=asking("zone")), binds="-", code="UnknownTier",
         reason=f"Topology 'net' has no level 'zone'; there are: {BLOCK}, {RACK}"),
    held("a preferred level that it does not have", WORLD, gang(1, notes=asking(RACK, "zone")), binds="-",
         code="UnknownTier", reason=f"Topology 'net' has no level 'zone'; there are: {BLOCK}, {RACK}"),
    held("a level for sub-groups that do not exist", WORLD, parts("x", "x", notes=asking(part="zone")), binds="--",
         code="UnknownTier", reason=f"Topology 'net' has no level 'zone'; there are: {BLOCK}, {RACK}"),
    held("a preferred level that is wider than the required one", WORLD, gang(1, notes=asking(RACK, BLOCK)),
         binds="-", code="UnknownTier",
         reason=f"the preferred level {BLOCK!r} is wider than the required level {RACK!r} in Topology 'net'; prefer "
                "one below it"),
    held("a level of no topology", WORLD, gang(1, notes=asking(RACK, network=None)), binds="-", code="InvalidObject",
         reason=f"{_ANNOTATION}/topology-required-placement]: names a level of no Topology; name it by "
                "kai.scheduler/topology"),
    held("two networks at once", WORLD, racks("ab"), gang(1, notes=asking(RACK), topology=HARD_RACK), binds="-",
         code="InvalidObject",
         reason=f"{_ANNOTATION}/topology-required-placement]: the group has a networkTopology, too; keep one of both, "
                "as they speak of different networks"),
    held("a constraint for sub-groups that do not exist", WORLD, gang(1, notes=asking(part=RACK)), binds="-",
         code="InvalidObject",
         reason=f"{_ANNOTATION}/segment-topology-required-placement]: the group has no sub-groups; make some by "
                "spec.subGroupPolicy, or remove the annotation"),
    close("others are not held by any of it", WORLD, gang(1, name="lost", notes=asking("zone")),
          gang(2, cpu=2, name="other", notes=asking(RACK)), binds="- ab"),
    close("hypernodes and labels side by side", WORLD, racks("ac"), gang(2, cpu=2, name="one", topology=HARD_RACK),
          gang(2, cpu=2, name="two", notes=asking(RACK)), binds="ac ef"),
    close("a level twice", WORLD, topology("odd", RACK, RACK), gang(2, cpu=2, notes=asking(RACK)), binds="ab",
          warnings=[f"Topology odd: spec.levels[1].nodeLabel: {RACK!r} is a level already; name each label once; the "
                    "topology is left out"]),
    close("a level below single nodes", WORLD, topology("odd", HOST, RACK), gang(2, cpu=2, notes=asking(RACK)),
          binds="ab",
          warnings=[f"Topology odd: spec.levels[0].nodeLabel: nothing can be below {HOST!r}; make it the last level; "
                    "the topology is left out"]),
    close("a level without a label", WORLD, topology("odd", BLOCK, ""), gang(2, cpu=2, notes=asking(RACK)), binds="ab",
          warnings=["Topology odd: spec.levels[1].nodeLabel: is missing; name a label of nodes; the topology is left "
                    "out"]),
    close("more levels than there may be", WORLD, topology("odd", *(f"level-{n}" for n in range(17))),
          gang(2, cpu=2, notes=asking(RACK)), binds="ab",
          warnings=["Topology odd: spec.levels: has 17 levels; write between 1 and 16; the topology is left out"]),
    close("a constraint that no plugin evaluates is reported", WORLD, gang(1, notes=asking(RACK)), binds="a",
          conf=configuration("gang", "predicates"),
          warnings=[
              "PodGroup default/gang: Topology 'net' has no effect: no configured plugin supports network domains"]),
]  # fmt: skip


def pressing(name: str, *world: Any, of: str, **more: Any) -> Case:
    """A preemptor that requests a level."""
    plugins = ("priority", plugin("gang", enablePreemptable=False), "conformance", "predicates")
    conf = configuration(*plugins, "network-topology-aware", actions=f"enqueue, allocate, {of}")
    return close(name, priority_class("high", 100), priority_class("low", 10), world, conf=conf, **more)


def low(places: str) -> list[Any]:
    return [running(place, 2, name=f"on-{place}", priority="low", minimum=1) for place in places]


PREEMPTION = [
    pressing("preempt selects victims in one rack", WORLD, low("acdfgh"),
             running("be", 2, name="equal", priority="high"),
             gang(2, 2, priority="high", notes=asking(RACK)), of="preempt", binds="CD",
             evicts=["on-c-task-0", "on-d-task-0"]),
    pressing("gangpreempt does, too", WORLD, low("acdfgh"), running("be", 2, name="equal", priority="high"),
             gang(2, 2, priority="high", notes=asking(RACK)), of="gangpreempt", binds="CD",
             evicts=["on-c-task-0", "on-d-task-0"]),
    pressing("nothing is evicted for a gang that is too large for a rack", WORLD, low("abcdefgh"),
             gang(3, 2, priority="high", notes=asking(RACK)), of="preempt", binds="---"),
    pressing("pods are moved to make a rack free", WORLD, running("a", 2, name="one"), running("c", 2, name="two"),
             running("e", 2, name="three"), running("g", 2, name="four"), gang(2, 2, notes=asking(RACK)),
             of="consolidate", binds="BA", evicts=["one-task-0"]),
]  # fmt: skip

CASES = REQUIRED + PREFERRED + AT_HOME + PARTS + MISTAKES + PREEMPTION


@pytest.mark.parametrize("case", CASES, ids=str)
def test_levels_of_labels(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    turned = case.backwards()
    assert turned.binds(turned.plan())[::-1] == case.binds(case.plan())
