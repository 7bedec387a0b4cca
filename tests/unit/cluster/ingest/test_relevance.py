"""Which changes of objects start a scheduling cycle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stromboli.cluster.ingest.relevance import is_relevant
from stromboli.cluster.objects.pod_groups.previous_domains import HOME, PLACED
from stromboli.kube.objects import native
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import KubeQueue, PodGroup

POD = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Pending"}}
NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}, "conditions": [
    {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}]}}  # fmt: skip
GROUP = {"metadata": {"name": "g"}, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
NATIVE = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
QUEUE = {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}}


def merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


GATED = merged(POD, {"spec": {"schedulingGates": [{"name": "g"}]}})
TOLD = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
BOUND = {"spec": {"nodeName": "n"}}
READY = {"type": "Ready", "status": "True"}
#: The kind, the object, the change, and whether it is relevant.
CHANGES: dict[str, tuple[type[TopLevel], Any, Any, bool]] = {
    "pod is bound": (Pod, POD, BOUND, True),
    "bound pod starts": (Pod, merged(POD, BOUND), {"status": {"phase": "Running"}}, False),
    "bound pod finishes": (Pod, merged(POD, BOUND), {"status": {"phase": "Succeeded"}}, True),
    "pod is deleted": (Pod, POD, {"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}, True),
    "scheduling gate is removed": (Pod, GATED, {"spec": {"schedulingGates": []}}, True),
    "pod condition changes": (Pod, POD, TOLD, False),
    "pod label changes": (Pod, POD, {"metadata": {"labels": {"a": "b"}}}, True),
    "a heartbeat": (KubeNode, NODE, {"status": {"conditions": [{**READY, "lastHeartbeatTime": "2"}]}}, False),
    "node becomes unready": (KubeNode, NODE, {"status": {"conditions": [{**READY, "status": "False"}]}}, True),
    "node capacity grows": (KubeNode, NODE, {"status": {"allocatable": {"cpu": "8"}}}, True),
    "node is cordoned": (KubeNode, NODE, {"spec": {"unschedulable": True}}, True),
    "a minimum": (PodGroup, GROUP, {"spec": {"minMember": 3}}, True),
    "group is admitted": (PodGroup, GROUP, {"status": {"phase": "Inqueue"}}, True),
    "group status counts change": (PodGroup, GROUP, {"status": {"running": 1}}, False),
    "group's placement record changes": (PodGroup, GROUP, {"metadata": {"annotations": {HOME: "rack-0"}}}, False),
    "group annotation changes": (PodGroup, GROUP, {"metadata": {"annotations": {HOME: "r", "a": "b"}}}, True),
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
    "queue's allocated amount changes": (KubeQueue, QUEUE, {"status": {"allocated": {"cpu": "1"}}}, False),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "document", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_change_is_relevant(kind: type[TopLevel], document: Any, change: Any, expected: bool) -> None:
    before = msgspec.convert(document, kind, strict=False)
    after = msgspec.convert(merged(document, change), kind, strict=False)
    assert is_relevant(after, before) is expected
    assert is_relevant(after, None), "a new object is relevant"
    assert is_relevant(before, before), "a removed object is relevant"
