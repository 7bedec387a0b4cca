"""Which changes of objects start a scheduling cycle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stromboli.cluster.ingest.kinds import is_relevant
from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE, PLACED
from stromboli.kube.objects import native
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.claims import ResourceClaim, ResourceSlice
from stromboli.kube.objects.cluster import KubeNode, Namespace, PodDisruptionBudget, PriorityClass, ResourceQuota
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.shards import NodeShard
from stromboli.kube.objects.storage import (
    DEFAULT_CLASS,
    SELECTED_NODE,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.kube.objects.volcano import KubeQueue, PodGroup

POD = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Pending"}}
NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}, "conditions": [
    {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}]}}  # fmt: skip
GROUP = {"metadata": {"name": "g"}, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
NATIVE = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
NAMED = {"metadata": {"name": "n"}}
TIME = "2024-01-01T00:00:00Z"
QUOTA = {
    "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}, "status": {"used": {"pods": "1"}}
}  # fmt: skip
QUEUE = {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}}


def annotated(key: str, value: str = "x") -> Any:
    return {"metadata": {"annotations": {key: value}}}


def merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


GATED = merged(POD, {"spec": {"schedulingGates": [{"name": "g"}]}})
CONDITION = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
BOUND = {"spec": {"nodeName": "n"}}
GRANTED = {"status": {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}]}}
INFEASIBLE = {"status": {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}}
READY = {"type": "Ready", "status": "True"}
#: The kind, the object, the change, and whether it is relevant.
CHANGES: dict[str, tuple[type[TopLevel], Any, Any, bool]] = {
    "pod is bound": (Pod, POD, BOUND, True),
    "bound pod starts": (Pod, merged(POD, BOUND), {"status": {"phase": "Running"}}, False),
    "resize becomes infeasible": (Pod, merged(merged(POD, BOUND), GRANTED), INFEASIBLE, True),
    "bound pod finishes": (Pod, merged(POD, BOUND), {"status": {"phase": "Succeeded"}}, True),
    "pod is deleted": (Pod, POD, {"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}, True),
    "scheduling gate is removed": (Pod, GATED, {"spec": {"schedulingGates": []}}, True),
    "pod condition changes": (Pod, POD, CONDITION, False),
    "pod label changes": (Pod, POD, {"metadata": {"labels": {"a": "b"}}}, True),
    "a heartbeat": (KubeNode, NODE, {"status": {"conditions": [{**READY, "lastHeartbeatTime": "2"}]}}, False),
    "node becomes unready": (KubeNode, NODE, {"status": {"conditions": [{**READY, "status": "False"}]}}, True),
    "node capacity grows": (KubeNode, NODE, {"status": {"allocatable": {"cpu": "8"}}}, True),
    "node is cordoned": (KubeNode, NODE, {"spec": {"unschedulable": True}}, True),
    "a minimum": (PodGroup, GROUP, {"spec": {"minMember": 3}}, True),
    "group is admitted": (PodGroup, GROUP, {"status": {"phase": "Inqueue"}}, True),
    "group status counts change": (PodGroup, GROUP, {"status": {"running": 1}}, False),
    "group's placement record changes": (PodGroup, GROUP, annotated(ALLOCATED_HYPERNODE), False),
    "group annotation changes": (PodGroup, GROUP, merged(annotated(ALLOCATED_HYPERNODE), annotated("a")), True),
    "native group's minimum changes": (
        native.NativePodGroup, NATIVE, {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}, True,
    ),
    "native group's status changes": (
        native.NativePodGroup, NATIVE, {"status": {"conditions": [{"type": "PodGroupInitiallyScheduled"}]}}, False,
    ),
    "native group's placement record changes": (
        native.NativePodGroup, NATIVE, {"status": {"conditions": [{"type": PLACED, "status": "True", "message": "r"}]}},
        False,
    ),
    "queue is closed": (KubeQueue, QUEUE, {"status": {"state": "Closed"}}, True),
    "a weight": (KubeQueue, QUEUE, {"spec": {"weight": 2}}, True),
    "queue annotation changes": (KubeQueue, QUEUE, {"metadata": {"annotations": {"a": "b"}}}, True),
    "quota limit changes": (ResourceQuota, QUOTA, {"spec": {"hard": {"pods": "2"}}}, True),
    "quota usage changes": (ResourceQuota, QUOTA, {"status": {"used": {"pods": "0"}}}, True),
    "quota status repeats the limit": (ResourceQuota, QUOTA, {"status": {"hard": {"pods": "1"}}}, False),
    "usage of a quota with scopes changes": (
        ResourceQuota, merged(QUOTA, {"spec": {"scopes": ["BestEffort"]}}), {"status": {"used": {"pods": "0"}}}, False,
    ),
    "namespace label changes": (Namespace, NAMED, {"metadata": {"labels": {"a": "b"}}}, True),
    "namespace is terminating": (Namespace, NAMED, {"metadata": {"deletionTimestamp": TIME}}, False),
    "priority value changes": (PriorityClass, NAMED, {"value": 7}, True),
    "preemption policy of a priority class changes": (PriorityClass, NAMED, {"preemptionPolicy": "Never"}, False),
    "budget allows more": (PodDisruptionBudget, NAMED, {"status": {"disruptionsAllowed": 1}}, True),
    "budget counts healthy pods": (PodDisruptionBudget, NAMED, {"status": {"currentHealthy": 1}}, False),
    "claim is bound": (PersistentVolumeClaim, NAMED, {"spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}, True),
    "claim gets a selected node": (PersistentVolumeClaim, NAMED, annotated(SELECTED_NODE), True),
    "claim capacity is reported": (PersistentVolumeClaim, NAMED, {"status": {"capacity": {"storage": "1Gi"}}}, False),
    "claim gets a finalizer": (PersistentVolumeClaim, NAMED, {"metadata": {"finalizers": ["f"]}}, False),
    "volume is released": (PersistentVolume, NAMED, {"status": {"phase": "Released"}}, True),
    "volume annotation changes": (PersistentVolume, NAMED, annotated("pv.kubernetes.io/provisioned-by"), False),
    "storage class becomes the default": (StorageClass, NAMED, annotated(DEFAULT_CLASS, "true"), True),
    "reclaim policy of a storage class changes": (StorageClass, NAMED, {"reclaimPolicy": "Retain"}, False),
    "driver limit of a node changes": (CSINode, NAMED, {"spec": {"drivers": [{"name": "d"}]}}, True),
    "storage capacity changes": (CSIStorageCapacity, NAMED, {"capacity": "1Gi"}, True),
    "resource claim is allocated": (ResourceClaim, NAMED, {"status": {"allocation": {}}}, True),
    "resource claim annotation changes": (ResourceClaim, NAMED, annotated("a"), False),
    "resource slice changes": (ResourceSlice, NAMED, {"spec": {"driver": "d"}}, True),
    "bind request is being bound": (BindRequest, NAMED, {"status": {"phase": "Binding"}}, False),
    "bind request fails": (BindRequest, NAMED, {"status": {"phase": "Failed"}}, True),
    "shard reports its time": (NodeShard, NAMED, {"status": {"lastUpdateTime": TIME}}, False),
    "shard gives up a node": (NodeShard, NAMED, {"status": {"nodesInUse": ["a"]}}, True),
    "queue's allocated amount changes": (KubeQueue, QUEUE, {"status": {"allocated": {"cpu": "1"}}}, False),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "document", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_change_is_relevant(kind: type[TopLevel], document: Any, change: Any, expected: bool) -> None:
    before = msgspec.convert(document, kind, strict=False)
    after = msgspec.convert(merged(document, change), kind, strict=False)
    assert is_relevant(after, before) is expected
    assert is_relevant(after, None), "a new object is relevant"
    assert is_relevant(before, before), "a removed object is relevant"
