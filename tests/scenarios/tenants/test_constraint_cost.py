"""Constraints of one tenant's pods, in large numbers, hardly change the work for the pods of others."""

from __future__ import annotations

import pytest

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.table import Node, NodeTable, Taint
from stromboli.core.model.nodes.taints import Tolerance, tolerates
from stromboli.core.model.tasks.selectors import Requirement
from stromboli.core.model.tasks.task_class import Toleration
from stromboli.core.session.session import Session
from tests.scenarios.nodes.test_pod_affinity import AWAY, NEAR, SYMMETRIC
from tests.testing.cases.case import Case
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program
from tests.testing.work import calls_of

GUESTS, NODES, OTHERS = 80, 20, 10


def reaching_everywhere(place: int) -> kube.PodAffinityTerm:
    """A term that selects every pod of every namespace, and is equal to no other one."""
    absent = kube.KubeRequirement(key=f"label-{place}", operator="DoesNotExist")
    selector = kube.KubeLabelSelector(match_expressions=[absent])
    return kube.PodAffinityTerm(selector, topology_key="zone", namespace_selector=kube.KubeLabelSelector())


def required(place: int) -> kube.Affinity:
    return kube.Affinity(pod_anti_affinity=kube.KubePodAffinity(required=[reaching_everywhere(place)]))


def preferred(place: int) -> kube.Affinity:
    term = kube.WeightedPodAffinityTerm(weight=1, pod_affinity_term=reaching_everywhere(place))
    return kube.Affinity(pod_affinity=kube.KubePodAffinity(preferred=[term]))


def only_own_node(place: int) -> kube.Affinity:
    """As many classes, without a term about pods."""
    names = kube.KubeRequirement(key="zone", operator="NotIn", values=[f"label-{place}"])
    terms = kube.NodeSelector(node_selector_terms=[kube.NodeSelectorTerm(match_expressions=[names])])
    return kube.Affinity(node_affinity=kube.KubeNodeAffinity(required=terms))


def cluster_with(affinity: object) -> Cluster:
    cluster = Cluster()
    nodes = [objects.node(f"n{p:02}", {"cpu": "40", "pods": "99"}, labels={"zone": f"z{p % 5}"}) for p in range(NODES)]
    others = [objects.gang(f"other-{p}", 5, objects.template({"cpu": f"{100 + p}m"})) for p in range(OTHERS)]
    assert callable(affinity)
    guests = [objects.gang(f"x-{p}", 1, objects.template({"cpu": "1"}, affinity=affinity(p))) for p in range(GUESTS)]
    for entry in (*standard_queues(), *nodes, *(each for gang in (*others, *guests) for each in gang)):
        cluster.apply(entry)
    run_cycle(cluster)
    return cluster


def run_cycle(cluster: Cluster) -> None:
    Session(cluster.snapshot(), default_program()).run()


@pytest.mark.parametrize("affinity", [required, preferred])
def test_terms_that_select_every_pod_are_counted_once_for_all_classes(affinity: object) -> None:
    plain, hostile = cluster_with(only_own_node), cluster_with(affinity)
    assert calls_of(lambda: run_cycle(hostile)) < 3 * calls_of(lambda: run_cycle(plain))


def test_thousands_of_tolerations_are_compared_with_those_of_the_same_key_and_value() -> None:
    tolerations = [Toleration(f"key-{n % 50}", "Equal", f"value-{n}") for n in range(2_000)]
    taints = [Taint(f"key-{n % 50}", f"value-{n}", "NoSchedule") for n in range(1_900, 2_100)]
    tolerance = Tolerance(tolerations)
    assert [tolerance.covers(each) for each in taints] == [tolerates(tolerations, each) for each in taints]
    assert calls_of(lambda: [tolerance.covers(each) for each in taints]) < 20 * len(taints)


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_thousands_of_selector_values_are_looked_up(operator: str) -> None:
    class Value(str):
        comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Value.comparisons += 1
            return str.__eq__(self, str(other))

    requirement = Requirement("pool", operator, tuple(Value(f"value-{n}") for n in range(12_000)))
    for text, is_named in (("value-11999", True), ("other", False)):
        assert requirement.holds(text) is (is_named == (operator == "In"))
    assert Value.comparisons < 100


@pytest.mark.parametrize("case", [*NEAR, *AWAY, *SYMMETRIC], ids=str)
def test_pods_counted_when_a_tally_is_read_are_placed_alike(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.core.model.ledger.ledger._MANY_FEEDS", 0)
    monkeypatch.setattr("stromboli.core.model.topology.label_domains._FEW", 0)
    case.check()


def test_labels_that_no_node_has_take_no_memory() -> None:
    table = NodeTable([Node("a", {"zone": "x"}), Node("b")])
    columns = [table.column(f"label-{n}") for n in range(100)]
    assert len({id(column) for column in columns}) == 1
    assert columns[0].codes.tolist() == [-1, -1]
