"""Pods with thousands of host ports cost as much as pods with few, and keep each other off their nodes as before."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.host_ports import HostPort, PortIndex, PortSet
from stromboli.core.session.session import Session
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import default_program
from tests.testing.work import calls_of

PODS, NODES = 12, 20


def pod_of(name: str, ports: Sequence[int]) -> list[kube.KubeObject]:
    spec = objects.template({"cpu": "1"})
    assert spec.containers
    spec.containers[0].ports = [kube.ContainerPort(container_port=1, host_port=port) for port in ports]
    return objects.gang(name, 1, spec)


def cluster_with(ports: int) -> Cluster:
    """Pods of overlapping ports: each collides with its neighbours."""
    cluster = Cluster()
    nodes = [objects.node(f"n{place:02}", {"cpu": "8", "pods": "20"}) for place in range(NODES)]
    pods = (pod_of(f"p{place:02}", range(place * 10 + 1, place * 10 + 1 + ports)) for place in range(PODS))
    for entry in (*standard_queues(), *nodes, *(entry for each in pods for entry in each)):
        cluster.apply(entry)
    return cluster


def session_of(cluster: Cluster) -> Session:
    session = Session(cluster.snapshot(), default_program())
    session.run()
    return session


def test_cycle_cost_does_not_grow_with_the_number_of_host_ports() -> None:
    few, many = cluster_with(20), cluster_with(1_000)
    for cluster in (few, many):
        session_of(cluster)
    assert calls_of(lambda: session_of(many)) < 1.5 * calls_of(lambda: session_of(few))


def test_pods_with_a_common_port_are_on_different_nodes() -> None:
    session = session_of(cluster_with(1_000))
    nodes = [placement.node for statement in session.decisions.binds for placement in statement]
    assert len(nodes) == len(set(nodes)) == PODS


ADDRESSES = [HostPort("TCP", 1).address, "10.0.0.1", "10.0.0.2"]
PORTS = st.builds(HostPort, st.sampled_from(["TCP", "UDP"]), st.integers(1, 3), st.sampled_from(ADDRESSES))
SETS = st.lists(st.frozensets(PORTS, min_size=1, max_size=5), unique=True, min_size=1, max_size=8)


@given(SETS)
def test_index_of_port_sets_agrees_with_comparing_all_ports(sets: list[frozenset[HostPort]]) -> None:
    index = PortIndex()
    for number, ports in enumerate(sets):
        index.add(number, PortSet(ports))
    for number, ports in enumerate(sets):
        expected = [
            other
            for other, others in enumerate(sets)
            if any(one.collides_with(another) for one in ports for another in others)
        ]
        assert sorted(index.excluding(number)) == expected
