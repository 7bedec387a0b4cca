"""Pods that must be near other pods, or away from them."""

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import (
    Facts,
    Manifest,
    foreign,
    gang,
    gang_of,
    namespace,
    node,
    nodes,
    pod,
    running,
)

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: Two zones with two nodes each.
ZONES = [
    node(name, 9, labels={ZONE: zone}) for name, zone in (("a", "east"), ("b", "east"), ("c", "west"), ("d", "west"))
]
WEB = {"app": "web"}
DATABASE: Facts = {"app": "database"}


def term(labels: Manifest, key: str = ZONE, **more: Any) -> Manifest:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}


def near(*terms: Manifest) -> Manifest:
    return {"affinity": {"podAffinity": {REQUIRED: list(terms)}}}


def away(*terms: Manifest) -> Manifest:
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


NEAR = [
    Case(
        "near a pod: somewhere in its zone",
        ZONES, foreign("d", labels=DATABASE), gang(1, **near(term(DATABASE))), binds="c",
    ),
    Case(
        "near a pod that does not exist",
        ZONES, gang(1, labels=WEB, **near(term(DATABASE))), binds="-",
        reasons={"gang": ["0/4 nodes are available: 4 node(s) didn't match pod affinity rules."]},
        codes={"gang": ["PodAffinityUnsatisfied"]},
    ),
    Case(
        "not in a zone with another pod",
        ZONES, foreign("a", labels=WEB), foreign("c", labels=DATABASE, name="other"), gang(1, **near(term(DATABASE))),
        binds="c",
    ),
    Case(
        "a set that no zone can hold does not start",
        ZONES, gang(3, cpu=5, labels=WEB, **near(term(WEB))), binds="---",
    ),
    Case(
        "the first of a set may be placed anywhere, the rest follows",
        ZONES, gang(3, cpu=4, labels=WEB, **near(term(WEB))), binds="aab",
    ),
    Case(
        "where the set already is, the next pod is placed, too",
        ZONES, foreign("d", labels=WEB), gang(1, labels=WEB, **near(term(WEB))), binds="c",
    ),
    Case(
        "a node without the label is in no zone",
        node("a", 9), node("b", 9, labels={ZONE: "east"}), gang(1, labels=WEB, **near(term(WEB))), binds="b",
    ),
    Case(
        "every term must hold",
        ZONES, foreign("a", labels=DATABASE), foreign("d", labels={**DATABASE, "tier": "gold"}, name="other"),
        gang(1, **near(term(DATABASE), term({"tier": "gold"}))), binds="c",
    ),
    Case(
        "for one and the same pod",
        ZONES, foreign("c", labels=DATABASE), foreign("d", labels=WEB, name="other"),
        gang(1, **near(term(DATABASE), term(WEB))), binds="-",
    ),
    Case(
        "the pods of the own namespace are meant",
        ZONES, foreign("c", labels=DATABASE, namespace="elsewhere"), gang(1, **near(term(DATABASE))), binds="-",
    ),
    Case(
        "unless others are named",
        ZONES, foreign("c", labels=DATABASE, namespace="elsewhere"),
        gang(1, **near(term(DATABASE, namespaces=["elsewhere"]))), binds="c",
    ),
    Case(
        "or chosen by their labels",
        ZONES, namespace("first", team="red"), namespace("second", team="blue"),
        foreign("a", labels=DATABASE, namespace="first"), foreign("c", labels=DATABASE, namespace="second"),
        gang(1, **near(term(DATABASE, namespaceSelector={"matchLabels": {"team": "blue"}}))), binds="c",
    ),
    Case(
        "or all of them",
        ZONES, foreign("c", labels=DATABASE, namespace="elsewhere"),
        gang(1, **near(term(DATABASE, namespaceSelector={}))), binds="c",
    ),
    Case(
        "no selector selects no pod",
        ZONES, foreign("c", labels=DATABASE), gang(1, **near({"topologyKey": ZONE})), binds="-",
    ),
    Case(
        "the own value of a label counts",
        ZONES, foreign("a", labels={"app": "web", "hash": "1"}),
        foreign("c", labels={"app": "web", "hash": "2"}, name="other"),
        gang(1, labels={"hash": "2"}, **near(term(WEB, matchLabelKeys=["hash"]))), binds="c",
    ),
    Case(
        "a finished pod has no neighbours",
        ZONES, foreign("c", labels=DATABASE, phase="Succeeded"), gang(1, **near(term(DATABASE))), binds="-",
    ),
    Case(
        "members of one gang draw each other",
        ZONES, gang_of(pod(labels=DATABASE, nodeSelector={ZONE: "west"}), pod(**near(term(DATABASE)))), binds="cc",
    ),
    Case(
        "in the wrong order they wait",
        ZONES, gang_of(pod(**near(term(DATABASE))), pod(labels=DATABASE)), binds="--",
    ),
]  # fmt: skip

HOSTS = [node(name, 9, labels={"host": name}) for name in "abc"]

AWAY = [
    Case(
        "away from a pod: in another zone",
        ZONES, foreign("a", labels=DATABASE), gang(1, **away(term(DATABASE))), binds="c",
    ),
    Case("one per node", HOSTS, gang(3, labels=WEB, **away(term(WEB, "host"))), binds="abc"),
    Case(
        "one too many",
        HOSTS, gang(4, labels=WEB, **away(term(WEB, "host"))), binds="----",
        reasons={"gang": ["0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."]},
        codes={"gang": ["PodAntiAffinityViolated", "GangDoesNotFit"]},
    ),
    Case(
        "one per zone, and a gang may do with that",
        ZONES, gang(3, minimum=2, labels=WEB, **away(term(WEB))), binds="ac-",
    ),
    Case(
        "a node without the label satisfies anti-affinity",
        ZONES, node("e", 9), foreign("a", labels=WEB), foreign("c", labels=WEB, name="other"),
        gang(2, labels=WEB, **away(term(WEB))), binds="ee",
    ),
    Case(
        "pods of another namespace do not matter",
        ZONES, foreign("a", labels=DATABASE, namespace="elsewhere"), gang(1, **away(term(DATABASE))), binds="a",
    ),
    Case(
        "only the other versions",
        ZONES, foreign("a", labels={"app": "web", "hash": "1"}),
        foreign("c", labels={"app": "web", "hash": "2"}, name="other"),
        gang(1, labels={"hash": "2"}, **away(term(WEB, mismatchLabelKeys=["hash"]))), binds="c",
    ),
    Case(
        "a pod that is being deleted is still there",
        HOSTS, running("abc", labels=WEB, releasing=True), gang(1, labels=WEB, **away(term(WEB, "host"))), binds="-",
    ),
]  # fmt: skip

SYMMETRIC = [
    Case(
        "a running pod may keep others away",
        ZONES, foreign("a", labels=DATABASE, **away(term(WEB))), gang(1, labels=WEB), binds="c",
    ),
    Case(
        "its message",
        HOSTS[:1], foreign("a", **away(term(WEB, "host"))), gang(1, labels=WEB), binds="-",
        reasons={"gang": ["0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."]},
        codes={"gang": ["ExistingPodAntiAffinityViolated"]},
    ),
    Case("others than meant are welcome", ZONES, foreign("a", **away(term(WEB))), gang(1, labels=DATABASE), binds="a"),
    Case(
        "in its own namespace",
        ZONES, foreign("a", namespace="elsewhere", **away(term(WEB))), gang(1, labels=WEB), binds="a",
    ),
    Case(
        "an earlier pod of this cycle keeps the next away",
        ZONES, gang(1, name="first", **away(term(WEB))), gang(1, name="second", labels=WEB), binds="a c",
    ),
    Case("within a gang, too", HOSTS, gang_of(pod(**away(term(WEB, "host"))), *[pod(labels=WEB)] * 2), binds="abb"),
    Case(
        "a gang that failed keeps no pod away",
        nodes(9, 1, labels={"host": "a"}), gang_of(pod(**away(term(WEB, "host"))), pod(20), name="first"),
        gang(1, name="second", labels=WEB), binds="-- a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", NEAR + AWAY + SYMMETRIC, ids=str)
def test_pod_affinity(case: Case) -> None:
    case.check()
