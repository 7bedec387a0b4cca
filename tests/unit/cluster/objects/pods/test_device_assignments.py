"""Devices assigned to pods, as pods are added, changed and removed in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stromboli.cluster.audit.auditor import Auditor, audit
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.devices.shared_devices import DEVICES, Backend
from stromboli.kube.objects.kinds import decode
from tests.testing.manifests.builders import Manifest, node, pod
from tests.testing.manifests.shared_devices import device_config, having, vgpu
from tests.testing.placements import placement

READS = (DEVICES + Backend.VGPU,)


def cluster_of(*manifests: Manifest, reads: tuple[str, ...] = READS) -> Cluster:
    cluster = Cluster(class_annotations=reads)
    for each in manifests:
        cluster.apply(decode(each))  # type: ignore[arg-type]
    return cluster


def assignments_in(cluster: Cluster) -> dict[str, list[str]]:
    """By node, the pods with assigned devices; terminating ones in brackets."""
    claims = cluster.snapshot().device_claims
    return {
        name: [f"({uid})" if claim.leaving else uid for uid, claim in sorted(of_node.items())]
        for name, of_node in claims.items()
    }


def holder(name: str, place: str | None = "a", text: str = "g0:5", **facts: Any) -> Manifest:
    facts |= {"nodeName": place} if place else {}
    annotations = facts.pop("annotations", None) or having(text)
    return pod(name=name, more=vgpu(memory=5), annotations=annotations, **facts)


NODES = [node("a"), node("b")]


def test_assigned_devices_count_for_pods_on_nodes() -> None:
    cluster = cluster_of(*NODES, holder("one"), holder("two", "b"), pod(name="none", nodeName="a"))
    assert assignments_in(cluster) == {"a": ["pod-default-one"], "b": ["pod-default-two"]}


def test_the_order_of_events_does_not_matter() -> None:
    assert assignments_in(cluster_of(holder("one"), *NODES)) == assignments_in(cluster_of(*NODES, holder("one")))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (holder("one", text="g1:5"), {"a": ["pod-default-one"]}),
        (holder("one", annotations={"other": "x"}), {}),
        (holder("one", phase="Succeeded"), {}),
        (holder("one", releasing=True), {"a": ["(pod-default-one)"]}),
    ],
    ids=["other devices", "no devices", "ended", "terminating"],
)
def test_changed_pod_changes_assignments(change: Manifest, expected: dict[str, list[str]]) -> None:
    cluster = cluster_of(*NODES, holder("one"))
    assert assignments_in(cluster) == {"a": ["pod-default-one"]}
    cluster.apply(decode(change))  # type: ignore[arg-type]
    assert assignments_in(cluster) == expected
    assert audit(cluster) == []


def test_removed_pod_drops_assignments() -> None:
    cluster = cluster_of(*NODES, holder("one"), holder("two"))
    cluster.remove(cluster.pods.get("pod-default-one"))
    assert assignments_in(cluster) == {"a": ["pod-default-two"]}
    assert audit(cluster, nodes=["a"]) == []


def test_assignments_return_with_the_node() -> None:
    cluster = cluster_of(*NODES, holder("one"))
    machine = decode(NODES[0])
    cluster.remove(machine)  # type: ignore[arg-type]
    assert assignments_in(cluster) == {}
    cluster.apply(machine)  # type: ignore[arg-type]
    assert assignments_in(cluster) == {"a": ["pod-default-one"]}


def test_returned_assignments_do_not_change() -> None:
    cluster = cluster_of(*NODES, holder("one"))
    before = cluster.snapshot().device_claims
    cluster.remove(cluster.pods.get("pod-default-one"))
    assert list(before["a"]) == ["pod-default-one"]
    assert cluster.snapshot().device_claims == {}


def test_assignments_are_reused_without_changes() -> None:
    cluster = cluster_of(*NODES, holder("one"), holder("two", "b"))
    before = cluster.snapshot().device_claims
    assert cluster.snapshot().device_claims is before
    cluster.remove(cluster.pods.get("pod-default-two"))
    assert cluster.snapshot().device_claims["a"] is before["a"]


def waiting(name: str) -> Manifest:
    return pod(name=name, more=vgpu(memory=5))


def test_pod_being_bound_has_its_devices() -> None:
    cluster = cluster_of(*NODES, waiting("one"))
    cluster.assumptions.assume(placement("pod-default-one", "a", annotations={**having("g0:5"), "other": "x"}))
    [claim] = cluster.snapshot().device_claims["a"].values()
    assert claim.annotations == having("g0:5")
    assert audit(cluster) == []
    assert Auditor(cluster).sample() == []
    cluster.assumptions.forget("pod-default-one")
    assert assignments_in(cluster) == {}


def test_annotations_of_a_bound_pod_override_the_assumption() -> None:
    cluster = cluster_of(*NODES, waiting("one"))
    cluster.assumptions.assume(placement("pod-default-one", "a", annotations=having("g0:5")))
    cluster.apply(decode(holder("one", "b", "g1:5")))  # type: ignore[arg-type]
    [claim] = cluster.snapshot().device_claims["b"].values()
    assert claim.annotations == having("g1:5")
    assert assignments_in(cluster) == {"b": ["pod-default-one"]}


def test_cluster_with_equal_contents_has_equal_assignments() -> None:
    cluster = cluster_of(*NODES, waiting("one"), holder("two"))
    cluster.assumptions.assume(placement("pod-default-one", "a", annotations=having("g0:5")))
    assert assignments_in(cluster_with(contents_of(cluster), annotations=READS)) == assignments_in(cluster)


def test_lost_assignment_is_found_by_the_auditor() -> None:
    cluster = cluster_of(*NODES, holder("one"))
    cluster.snapshot()
    cluster.accounting.devices.forget("pod-default-one")
    assert any("devices" in str(difference) for difference in Auditor(cluster).sample())
    assert any("devices" in str(difference) for difference in audit(cluster))


def test_other_backends_read_other_amounts() -> None:
    cluster = cluster_of(node("a", more={"volcano.sh/vgpu-memory": 100}), waiting("one"), reads=())
    assert "volcano.sh/vgpu-memory" in cluster.axis.names
    cluster.use_class_keys((), READS)
    assert "volcano.sh/vgpu-memory" not in cluster.axis.names
    requests = cluster.accounting.counted and [c.task.task_class.devices for c in cluster.accounting.counted.values()]
    assert [request.containers[0][0].memory for request in requests or () if request] == [5]
    assert audit(cluster) == []


def test_device_plugin_heartbeat_changes_nothing() -> None:
    key = "volcano.sh/node-vgpu-handshake"
    cluster = cluster_of(node("a", annotations={key: "1"}))
    before = cluster.snapshot().nodes
    cluster.apply(decode(node("a", annotations={key: "2", "volcano.sh/mutex.lock": "now"})))  # type: ignore[arg-type]
    assert cluster.snapshot().nodes is before


def test_dump_contains_assignments_and_config_maps(tmp_path: Path) -> None:
    """Also ConfigMaps, which are watched only if a plugin reads them."""
    cluster = cluster_of(*NODES, waiting("one"), device_config("nvidia: {}"))
    cluster.assumptions.assume(placement("pod-default-one", "a", annotations=having("g0:5")))
    file = tmp_path / "dump"
    write_dump(file, Dump(contents_of(cluster)))
    again = cluster_with(read_dump(file).contents, annotations=READS)
    assert assignments_in(again) == assignments_in(cluster) == {"a": ["pod-default-one"]}
    assert again.snapshot().config_maps == cluster.snapshot().config_maps != {}
