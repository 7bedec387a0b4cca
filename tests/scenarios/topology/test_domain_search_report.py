"""A domain search reports its result, the tiers it had to widen to, and the reason against every other domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Domain, Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.domain_searches import search_as_plain
from stromboli.planner.explanation import explain_job
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, Case, configuration, objects
from tests.testing.manifests.builders import foreign, gang, gang_of, nodes, pod, queue, running
from tests.testing.manifests.hypernodes import (
    AWARE,
    HARD_BLOCK,
    HARD_RACK,
    SOFT,
    TREE,
    block,
    hyper_node,
    named,
    network,
)

TOP = "<cluster-top-hypernode>"
LIMITED = configuration("gang", "predicates", "proportion", "network-topology-aware")
TWO = network(2, "ab", "cd")
SPACIOUS = network(4, "ab", "cd")
NAMED = [*nodes(2, 4), hyper_node("one", 1, *named("a", "b"), tier_name="rack"),
         hyper_node("two", 1, *named("c", "d"), tier_name="rack")]  # fmt: skip
FAR_APART = gang_of(pod(2, nodeName="a"), pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_RACK, phase="Running")
AT_HOME = gang_of(pod(2, nodeName="c"), pod(2), minimum=1, topology=HARD_RACK, phase="Running")
JOINING = gang(3, cpu=2, minimum=2, topology=HARD_RACK)
PORT = [{"containerPort": 80, "hostPort": 80}]
PARTS = [{"name": "p", "subGroupSize": 2, "matchLabelKeys": ["part"], "networkTopology": HARD_RACK}]


def parted(topology: Mapping[str, Any] | None = None) -> list[Any]:
    pods = [pod(2, labels={"part": part}) for part in "xxyy"]
    return gang_of(*pods, policies=PARTS, topology=topology)


class SearchCase:
    """One case: the messages of the job's searches, and the results of some domains in the last one."""

    def __init__(
        self, name: str, *world: Any, messages: Sequence[str], conf: str = AWARE, parts: Sequence[str] = (), **why: str
    ) -> None:
        self.case = Case(name, *world, binds="", conf=conf)
        self.messages, self.parts, self.why = messages, parts, why

    def __str__(self) -> str:
        return str(self.case)


SEARCHES = [
    SearchCase("the best rack", SPACIOUS, running("c", cpu=2), gang(2, cpu=2, topology=HARD_RACK),
         messages=["2 pods placed in rack-1 (tier 1), score 75.0"],
         rack_0="WorseScore: score 50.0, less than 75.0 of rack-1", rack_1="Chosen: chosen, score 75.0",
         cluster="TierNotAllowed: tier 2 is not allowed"),
    SearchCase("equal racks", TWO, gang(2, cpu=2, topology=HARD_RACK),
               messages=["2 pods placed in rack-0 (tier 1), score 100.0"],
         rack_1="WorseScore: score 100.0, the same as rack-0, which comes first by name"),
    SearchCase("no rack holds all of it", network(2, "a", "bc"), gang(3, cpu=2, minimum=1, topology=HARD_RACK),
         messages=["2 pods placed in rack-1 (tier 1), score 0.0",
                   "no domain fits 1 more pod: rack-1 (tier 1) holds none"],
         rack_0="Skipped: the job has pods elsewhere"),
    SearchCase("racks that are too small", TWO, running("a", cpu=2), gang(3, cpu=2, topology=HARD_RACK),
         messages=["no domain fits the 3 pods it needs: the 2 domains of tier 1 hold 2 of them at most"],
         rack_0="InsufficientCapacity: holds at most 1 of 3 pods",
         rack_1="InsufficientCapacity: holds at most 2 of 3 pods",
         cluster="TierNotAllowed: tier 2 is not allowed"),
    SearchCase("a block is too small, too", TREE, gang(5, cpu=2, topology=HARD_BLOCK),
         messages=["no domain fits the 5 pods it needs: the 4 domains of tier 1 hold 2 of them at most; the 2 "
                   "domains of "
               "tier 2 hold 4 of them at most"], block_0="InsufficientCapacity: holds at most 4 of 5 pods"),
    SearchCase("a tier that would have had the capacity", TREE, gang(3, cpu=2, topology=HARD_RACK),
         messages=["no domain fits the 3 pods it needs: the 4 domains of tier 1 hold 2 of them at most; tiers above "
                   "1 are "
               "not allowed"], block_0="TierNotAllowed: tier 2 is not allowed"),
    SearchCase("racks that are full", TWO, running("abcd", cpu=2), gang(2, cpu=2, topology=HARD_RACK),
         messages=["no domain fits the 2 pods it needs: the 2 domains of tier 1 hold none"],
         rack_0="InsufficientCapacity: holds none of 2 pods"),
    SearchCase("how far a soft constraint widened", TREE, running("a", cpu=2), gang(3, cpu=2, topology=SOFT),
         messages=["3 pods placed in block-0 (tier 2), score 100.0; no domain of tier 1 had capacity for 3 pods"],
         block_1="WorseScore: score 75.0, less than 100.0 of block-0",
         cluster="LowerTierChosen: a closer one was found"),
    SearchCase("up to the cluster, by the names of tiers", NAMED, gang(3, cpu=2, topology=SOFT),
         messages=["3 pods placed in the whole cluster, score 75.0; no rack had capacity for 3 pods"]),
    SearchCase("even the cluster is too small for a soft constraint", TWO, gang(5, cpu=2, topology=SOFT),
         messages=["no domain fits the 5 pods it needs: the 2 domains of tier 1 hold 2 of them at most; the whole "
                   "cluster "
               "holds 4 of them at most"]),
    SearchCase("capacity on nodes that filters reject", TWO,
         gang(2, ports=PORT, topology=HARD_RACK), running("ac", ports=PORT),
         messages=["no domain fits the 2 pods it needs: the 2 domains of tier 1 were tried without success"],
         rack_0="PlacementFailed: tried without success: default/gang-task-1: 0/4 nodes are available: 2 node(s) "
                "didn't have "
                "free ports for the requested pod ports."),
    SearchCase("its rack is full", TWO, running("d", cpu=2), AT_HOME,
         messages=["no domain fits 1 more pod: rack-1 (tier 1) holds none"],
         rack_0="Skipped: the job has pods elsewhere"),
    SearchCase("too far apart already", TREE, FAR_APART,
         messages=["no domain fits 1 more pod: its pods are further apart already; tiers above 1 are not allowed"],
         rack_0="Skipped: the job has pods elsewhere"),
    SearchCase("some join the others, the last one cannot", TWO, JOINING,
         messages=["2 pods placed in rack-0 (tier 1), score 0.0",
               "no domain fits 1 more pod: rack-0 (tier 1) holds none"], rack_1="Skipped: the job has pods elsewhere"),
    SearchCase("it keeps its previous rack", SPACIOUS, running("a", cpu=2),
         gang(2, cpu=2, topology=HARD_RACK, notes={ALLOCATED_HYPERNODE: "rack-1"}),
         messages=["2 pods placed in rack-1 (tier 1), score 50.0, its previous or nominated domain"],
         rack_0="Skipped: the job keeps its previous domain rack-1", cluster="TierNotAllowed: tier 2 is not allowed"),
    SearchCase("the rack that it was in is full", TWO, running("d", cpu=2),
         gang(2, cpu=2, topology=HARD_RACK, notes={ALLOCATED_HYPERNODE: "rack-1"}),
         messages=["2 pods placed in rack-0 (tier 1), score 100.0"],
         rack_1="InsufficientCapacity: holds at most 1 of 2 pods"),
    SearchCase("less than the least of a job", TWO, gang(2, cpu=2, topology=HARD_RACK, resources={"cpu": 8}),
         messages=["no domain fits the 2 pods it needs: each total is below the job's minResources"],
         rack_0="Skipped: its total is below the job's minResources"),
    SearchCase("sub-groups of a job", TREE, running("a", cpu=2), parted(HARD_BLOCK),
         messages=["4 pods placed in block-1 (tier 2), score 200.0; no domain of tier 1 had capacity for 4 pods"],
         parts=["sub-group default/gang/p-x: 2 pods placed in rack-2 (tier 1), score 100.0",
                "sub-group default/gang/p-y: 2 pods placed in rack-3 (tier 1), score 100.0"]),
    SearchCase("a sub-group has no rack", [*network(2, "abx", "c"), block("b", 2, "rack-0", "rack-1")],
               parted(HARD_BLOCK),
         messages=["no domain fits the 4 pods it needs: the 2 domains of tier 1 hold 3 of them at most; b (tier 2) was "
               "tried without success: sub-group default/gang/p-y: no domain fits the 2 pods it needs: the 2 domains "
               "of tier "
               "1 hold 1 of them at most; tiers above 1 are not allowed"]),
]  # fmt: skip


@pytest.mark.parametrize("case", SEARCHES, ids=str)
def test_domain_searches_are_reported(case: SearchCase) -> None:
    plan = case.case.plan()
    reported = [search_as_plain(search) for search in explain_job(plan, "default/gang").searches]
    assert [each["message"] for each in reported] == list(case.messages)
    assert [each["message"] for each in reported[-1]["subGroups"]] == list(case.parts)
    considered = {each["domain"]: f"{each['verdict']}: {each['why']}" for each in reported[-1]["considered"]}
    expected = {TOP if name == "cluster" else name.replace("_", "-"): why for name, why in case.why.items()}
    assert {name: considered.get(name) for name in expected} == expected


def test_rack_with_fewer_pods_reports_it() -> None:
    world = [network(2, "a", "bc"), gang(3, cpu=2, minimum=1, topology=HARD_RACK)]
    first = search_as_plain(explain_job(Case("", *world, binds="", conf=AWARE).plan(), "default/gang").searches[0])
    why = {each["domain"]: each["why"] for each in first["considered"]}
    assert why["rack-0"] == "score 0.0, the same as rack-1, which holds more of the pods"


class HalvesPlugin(Plugin):
    """Returns new domain objects at every call."""

    name = "halves"

    def hyper_node_gradient_for_job(self, job: Job, root: Domain) -> list[list[Domain]]:
        return [[Domain("left", 1, np.array([True, True, False, False]))]]


def test_pods_that_join_others_are_counted() -> None:
    conf = configuration("gang", "predicates", "halves")
    world = [*nodes(4, 4), *gang(3, minimum=1, topology=HARD_RACK)]
    plan = Case("", world, binds="", conf=conf, extensions=[HalvesPlugin]).plan()
    reported = [search_as_plain(search) for search in explain_job(plan, "default/gang").searches]
    assert [each["placed"] for each in reported] == [{"domain": "left", "tier": 1, "score": 0.0, "pods": 3}]


def test_json_output() -> None:
    plan = Case("", TREE, running("a", cpu=2), gang(3, cpu=2, topology=SOFT), binds="", conf=AWARE).plan()
    reported = search_as_plain(explain_job(plan, "default/gang").searches[0])
    considered = reported.pop("considered")
    assert reported == {
        "subGroup": "",
        "mode": "soft",
        "needed": 3,
        "message": "3 pods placed in block-0 (tier 2), score 100.0; no domain of tier 1 had capacity for 3 pods",
        "placed": {"domain": "block-0", "tier": 2, "score": 100.0, "pods": 3},
        "subGroups": [],
    }
    assert [each["domain"] for each in considered] == [
        "rack-0",
        "rack-1",
        "rack-2",
        "rack-3",
        "block-0",
        "block-1",
        TOP,
    ]
    assert considered[0] == {
        "domain": "rack-0",
        "tier": 1,
        "verdict": "InsufficientCapacity",
        "why": "holds at most 1 of 3 pods",
        "holds": 1,
        "score": None,
    }


PLACED = [
    ("a rack", [TWO, gang(2, cpu=2, topology=HARD_RACK)], "placed in rack-0 (tier 1)"),
    ("a soft constraint that widened", [TREE, running("a", cpu=2), gang(3, cpu=2, topology=SOFT)],
     "placed in block-0 (tier 2)"),
    ("one that gave way altogether", [TWO, gang(3, cpu=2, topology=SOFT)],
     "placed across the whole cluster: no domain fits all of it"),
    ("parts", [TREE, parted(HARD_BLOCK)], "placed in block-0 (tier 2); sub-group p-x placed in rack-0 (tier 1); "
     "sub-group p-y placed in rack-1 (tier 1)"),
    ("many parts", [network(2, *"abcdefghij"), gang_of(*(pod(2, labels={"part": part}) for part in "abcdefghij"),
     policies=[{**PARTS[0], "subGroupSize": 1}])],
     "; ".join(f"sub-group p-{part} placed in rack-{number} (tier 1)" for number, part in enumerate("abcdefgh"))
     + "; and 2 more"),
    ("pods that were there before", [TREE, gang_of(pod(2, nodeName="a"), pod(2), minimum=1, topology=SOFT,
     phase="Running"), running("b", cpu=2)], "placed in block-0 (tier 2)"),
    ("no constraint", [TWO, gang(2, cpu=2)], ""),
    ("no network", [nodes(2, 2), gang(2, cpu=2, topology=SOFT)], ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "world", "message"), PLACED, ids=[each[0] for each in PLACED])
def test_placed_job_reports_its_distance(name: str, world: list[Any], message: str) -> None:
    condition = Case(name, *world, binds="", conf=AWARE).plan().session.statuses["default/gang"].conditions[0]
    assert (condition.type, condition.message) == ("Scheduled", message)


def test_constraint_without_plugin_is_reported_on_its_object() -> None:
    world = [TWO, gang(2, cpu=2, topology=HARD_RACK)]
    plan = Case("", *world, binds="", conf=configuration("gang", "predicates")).plan()
    reported = "networkTopology has no effect: no configured plugin supports network domains"
    assert plan.session.statuses["default/gang"].conditions[0].message == reported
    assert plan.warnings == [f"PodGroup default/gang: {reported}"]


WAITING = [
    ("too small", [TWO, gang(3, cpu=2, topology=HARD_RACK)], AWARE, ["NoDomainFits"],
     "no domain fits the 3 pods it needs: the 2 domains of tier 1 hold 2 of them at most"),
    ("a part", [TWO, running("d", cpu=2), parted()], AWARE, ["NoDomainFits"],
     "sub-group default/gang/p-y: no domain fits the 2 pods it needs: the 2 domains of tier 1 hold 1 of them at most"),
    ("the queue, not the network", [TWO, queue("q", capability={"cpu": 2}),
     gang(2, cpu=2, queue="q", topology=HARD_RACK)], LIMITED, ["QueueCapabilityExceeded"], None),
    ("no plugin defines domains", [nodes(2, 4), foreign("d", cpu=2), parted()], configuration("gang", "predicates"),
     ["InsufficientResource", "GangDoesNotFit"], None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "world", "conf", "codes", "detail"), WAITING, ids=[each[0] for each in WAITING])
def test_waiting_job_reports_reason_without_accounts(
    name: str, world: list[Any], conf: str, codes: list[str], detail: str | None
) -> None:
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    session = Session(PlannedCluster(objects(Case(name, *world, binds="").manifests), program).snapshot(), program)
    session.run()
    status = session.statuses["default/gang"]
    assert list(dict.fromkeys(reason.code.value for reason in status.reasons)) == codes
    assert [reason.detail for reason in status.reasons if reason.code == "NoDomainFits"] == ([detail] if detail else [])
    assert status.conditions[0].reason == "NotEnoughResources"
    if detail:
        assert detail in status.conditions[0].message
