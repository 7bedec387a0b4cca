"""Small manifests for the tests."""

from typing import Any

Object = dict[str, Any]


def pod(name: str, image: str = "busybox:1", **metadata: Any) -> Object:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"schedulerName": "volcano", "containers": [container]},
    }


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod_group(name: str, minimum: int, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": minimum, **spec},
    }


def queue(name: str, weight: Any) -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight},
    }


def node(name: str) -> Object:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def event(name: str, about: Object) -> Object:
    metadata = about["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "eventTime": "2026-11-15T12:00:00.000000Z",
        "reportingComponent": "stromboli",
        "reportingInstance": "stromboli-0",
        "action": "Scheduling",
        "type": "Warning",
        "reason": "Unschedulable",
        "message": "2/2 tasks in gang unschedulable",
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            **{field: metadata[field] for field in ("name", "namespace", "uid")},
        },
    }


def several(*objects: Object) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}
