"""Topologies by labels follow nodes and objects, in any order of events."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.ingest.kinds import is_relevant
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.kinds import KubeObject
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, manifest, node
from tests.testing.manifests.topology_levels import BLOCK, RACK, at, in_racks, topology


def one(document: Manifest) -> KubeObject:
    return objects([document])[0]


def cluster_of(*documents: Manifest) -> Cluster:
    cluster = Cluster()
    for entry in objects(documents):
        cluster.apply(entry)
    return cluster


def domains_of(cluster: Cluster, name: str = "net") -> str:
    """`b0/r0: ab, b0: ab`: each domain with its nodes, the smallest first."""
    snapshot = cluster.snapshot()
    tree = snapshot.topologies.get(name)
    if tree is None:
        return "nothing is known"
    nodes = ["".join(snapshot.nodes.names[row] for row in tree.rows(place)) for place in range(tree.top)]
    return ", ".join(f"{tree.name(place)}: {letters}" for place, letters in enumerate(nodes))


RACKS = "b0/r0: ab, b0/r1: c, b0: abc"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_the_order_of_arrival_does_not_matter(order: tuple[int, ...]) -> None:
    documents = [*in_racks(2, "ab c"), topology()]
    assert domains_of(cluster_of(*(documents[place] for place in order))) == RACKS


def native_group(name: str, label: str | None) -> KubeObject:
    constraints = {"topology": [{"key": label}]} if label else {}
    spec = {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": constraints}
    return one(manifest("PodGroup", name, "scheduling.k8s.io/v1beta1", "default", spec=spec))


def test_group_labels_form_a_topology_while_a_group_lists_them() -> None:
    network = f"labels:{RACK}"
    cluster = cluster_of(*in_racks(2, "ab c"))
    cluster.apply(native_group("one", RACK))
    assert domains_of(cluster, network) == "r0: ab, r1: c"
    cluster.apply(native_group("two", RACK))
    cluster.remove(native_group("one", RACK))
    cluster.apply(one(node("b", 2, labels=at("b0", "r1"))))
    assert domains_of(cluster, network) == "r0: a, r1: bc"
    cluster.apply(native_group("two", BLOCK))
    assert (domains_of(cluster, network), domains_of(cluster, f"labels:{BLOCK}")) == ("nothing is known", "b0: abc")
    cluster.apply(native_group("two", None))
    assert domains_of(cluster, f"labels:{BLOCK}") == "nothing is known"
    assert audit(cluster) == []


def test_relabelled_node_moves_to_its_new_rack() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology())
    assert domains_of(cluster) == RACKS
    cluster.apply(one(node("b", 2, labels=at("b0", "r1"))))
    assert domains_of(cluster) == "b0/r0: a, b0/r1: bc, b0: abc"


def test_added_and_removed_nodes_are_followed() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology())
    assert domains_of(cluster) == RACKS
    cluster.apply(one(node("d", 2, labels=at("b1", "r0"))))
    cluster.remove(one(node("c", 2)))
    assert domains_of(cluster) == "b0/r0: ab, b1/r0: d, b0: ab, b1: d"


def test_changed_levels_change_the_topology() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology())
    assert domains_of(cluster) == RACKS
    cluster.apply(one(topology("net", RACK)))
    assert domains_of(cluster) == "r0: ab, r1: c"


def test_removed_object_removes_the_topology() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology(), topology("flat", BLOCK))
    cluster.remove(one(topology()))
    assert domains_of(cluster) == "nothing is known"
    assert domains_of(cluster, "flat") == "b0: abc"


def test_tree_is_reused_without_changes() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology())
    before = cluster.snapshot().topologies["net"]
    cluster.apply(one(topology()))
    assert cluster.snapshot().topologies["net"] is before


def test_corrected_object_has_no_warning() -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology("net", RACK, RACK))
    assert len(cluster.snapshot().warnings) == 1
    cluster.apply(one(topology()))
    assert cluster.snapshot().warnings == ()
    assert domains_of(cluster) == RACKS


def test_dump_round_trip(tmp_path: Path) -> None:
    cluster = cluster_of(*in_racks(2, "ab c"), topology())
    assert not audit(cluster)
    write_dump(tmp_path / "dump", Dump(contents_of(cluster)))
    assert domains_of(cluster_with(read_dump(tmp_path / "dump").contents)) == RACKS


def test_only_changed_levels_are_relevant() -> None:
    assert is_relevant(one(topology("net", RACK)), one(topology()))
    assert not is_relevant(one(topology()), one(topology()))
