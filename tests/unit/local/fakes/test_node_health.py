"""Taints, conditions and toleration times, as tables."""

from typing import Any

import msgspec
import pytest

from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.constraints import KubeToleration
from stromboli.local.fakes.kubelet.node_health import conditions, toleration_seconds, wanted_taints
from stromboli.local.fakes.kubelet.simulated_nodes import RACK, ZONE, NodePool, is_simulated, node_documents

NOW = "2027-01-15T08:00:00Z"
NOT_READY = "node.kubernetes.io/not-ready"


def node(ready: str = "", **spec: Any) -> KubeNode:
    annotations = {"stromboli.dev/ready": ready} if ready else {}
    return msgspec.convert({"metadata": {"name": "n", "annotations": annotations}, "spec": spec}, KubeNode)


OTHER = {"key": "dedicated", "effect": "NoSchedule"}
LEFT_OVER = {"key": NOT_READY, "effect": "NoSchedule"}
TAINTS = [
    ("healthy", node(taints=[OTHER]), None),
    ("not ready", node("false", taints=[OTHER]), ["dedicated", NOT_READY, NOT_READY]),
    ("silent", node("unknown"), ["node.kubernetes.io/unreachable"] * 2),
    ("ready again", node(taints=[OTHER, LEFT_OVER]), ["dedicated"]),
    ("cordoned", node(unschedulable=True), ["node.kubernetes.io/unschedulable"]),
]


@pytest.mark.parametrize(("one", "keys"), [case[1:] for case in TAINTS], ids=[case[0] for case in TAINTS])
def test_taints(one: KubeNode, keys: list[str] | None) -> None:
    taints = wanted_taints(one, NOW)
    assert (None if taints is None else [taint.key for taint in taints]) == keys


def test_unchanged_condition_keeps_transition_time() -> None:
    old = [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]
    well = msgspec.convert({"metadata": {"name": "n"}, "status": {"conditions": old}}, KubeNode)
    said = {entry["type"]: entry for entry in conditions(well, NOW)}
    assert said["Ready"]["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert said["Ready"]["lastHeartbeatTime"] == NOW
    assert said["DiskPressure"]["lastTransitionTime"] == NOW
    well.metadata.annotations = {"stromboli.dev/ready": "false"}
    assert conditions(well, NOW)[0]["lastTransitionTime"] == NOW
    well.metadata.annotations = {"stromboli.dev/ready": "unknown"}
    assert {entry["status"] for entry in conditions(well, NOW)} == {"Unknown"}


TOLERATIONS: list[tuple[str, list[KubeToleration], float | None]] = [
    ("none", [], 5.0),
    ("of something else", [KubeToleration(key="gpu", operator="Exists")], 5.0),
    ("of another effect", [KubeToleration(key=NOT_READY, operator="Exists", effect="NoSchedule")], 5.0),
    ("of everything", [KubeToleration(operator="Exists")], None),
    ("without limit", [KubeToleration(key=NOT_READY, operator="Exists", effect="NoExecute")], None),
    ("for a while", [KubeToleration(key=NOT_READY, operator="Exists", toleration_seconds=200)], 200.0),
    ("the default toleration", [KubeToleration(key=NOT_READY, operator="Exists", toleration_seconds=300)], 5.0),
    ("the shortest counts", [KubeToleration(key=NOT_READY, operator="Exists", toleration_seconds=9),
                             KubeToleration(operator="Exists", toleration_seconds=3)], 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("tolerations", "seconds"), [c[1:] for c in TOLERATIONS], ids=[c[0] for c in TOLERATIONS])
def test_staying_time(tolerations: list[KubeToleration], seconds: float | None) -> None:
    assert toleration_seconds(tolerations, NOT_READY, 5.0) == seconds


def test_pool_is_spread_over_racks_and_zones() -> None:
    documents = node_documents(NodePool(8, racks=4, zones=2, labels={"gpu": "none"}))
    nodes = [msgspec.convert(document, KubeNode) for document in documents]
    assert all(is_simulated(one) for one in nodes)
    assert nodes[0].metadata.name == "node-00"
    assert [(one.metadata.labels or {})[RACK] for one in nodes[::2]] == ["rack-0", "rack-1", "rack-2", "rack-3"]
    assert [(one.metadata.labels or {})[ZONE] for one in nodes[::2]] == ["zone-0", "zone-0", "zone-1", "zone-1"]
