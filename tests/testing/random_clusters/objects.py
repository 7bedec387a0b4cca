"""Builders of Kubernetes objects for random clusters and written examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stromboli import kube
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.volcano import PodGroupSpec, PodGroupStatus, QueueSpec, QueueStatus
from stromboli.workloads.groups import GROUP_NAME

NAMESPACE = "team"
ROLE = "volcano.sh/task-spec"
HOSTNAME = "kubernetes.io/hostname"

Amounts = Mapping[str, str]


def node(
    name: str,
    allocatable: Amounts,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[kube.KubeTaint] = (),
    unschedulable: bool = False,
    ready: bool | None = None,
) -> kube.KubeNode:
    conditions = None if ready is None else [kube.KubeCondition(type="Ready", status=str(ready))]
    return kube.KubeNode(
        metadata=ObjectMeta(name=name, uid=f"Node/{name}", labels=dict(labels or {})),
        spec=kube.NodeSpec(taints=list(taints) or None, unschedulable=unschedulable or None),
        status=kube.NodeStatus(allocatable=dict(allocatable), conditions=conditions),
    )


def taint(text: str) -> kube.KubeTaint:
    """Parse `key=value:effect`, as kubectl writes it."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return kube.KubeTaint(key=key, value=value or None, effect=effect)


def container(requests: Amounts, *, host_port: int | None = None, name: str = "main") -> kube.Container:
    ports = None if host_port is None else [kube.ContainerPort(container_port=host_port, host_port=host_port)]
    return kube.Container(name=name, ports=ports, resources=kube.ResourceRequirements(requests=dict(requests)))


def template(requests: Amounts, *, host_port: int | None = None, **spec: Any) -> kube.PodSpec:
    """Return the spec of pods with one container."""
    return kube.PodSpec(scheduler_name="stromboli", containers=[container(requests, host_port=host_port)], **spec)


def pod(
    name: str,
    spec: kube.PodSpec,
    *,
    group: str = "",
    namespace: str = NAMESPACE,
    phase: str = "Pending",
    leaving: bool = False,
    role: str = "",
    created: str | None = None,
    labels: Mapping[str, str] | None = None,
    nominated: str | None = None,
    owner: str = "",
) -> kube.Pod:
    annotations = {key: value for key, value in ((GROUP_NAME, group), (ROLE, role)) if value}
    owners = [kube.OwnerReference(kind="ReplicaSet", name=owner, uid=owner, controller=True)] if owner else None
    return kube.Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"Pod/{namespace}/{name}",
            annotations=annotations or None,
            labels=dict(labels or {}) or None,
            creation_timestamp=created,
            deletion_timestamp="2025-01-01T00:00:00Z" if leaving else None,
            owner_references=owners,
        ),
        spec=spec,
        status=kube.PodStatus(phase=phase, nominated_node_name=nominated),
    )


def group(
    name: str, *, namespace: str = NAMESPACE, phase: str = "Pending", created: str | None = None, **spec: Any
) -> kube.PodGroup:
    return kube.PodGroup(
        metadata=ObjectMeta(
            name=name, namespace=namespace, uid=f"PodGroup/{namespace}/{name}", creation_timestamp=created
        ),
        spec=PodGroupSpec(**spec),
        status=PodGroupStatus(phase=phase),
    )


def gang(name: str, size: int, spec: kube.PodSpec, *, minimum: int | None = None, **more: Any) -> list[kube.KubeObject]:
    """Return a PodGroup of equal pods, all of which must start together unless a minimum is given."""
    members = [pod(f"{name}-{place}", spec, group=name) for place in range(size)]
    return [group(name, min_member=size if minimum is None else minimum, **more), *members]


def queue(name: str, *, state: str = "Open", created: str | None = None, **spec: Any) -> kube.KubeQueue:
    return kube.KubeQueue(
        metadata=ObjectMeta(name=name, uid=f"Queue/{name}", creation_timestamp=created),
        spec=QueueSpec(**spec),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int, *, is_default: bool = False) -> kube.PriorityClass:
    return kube.PriorityClass(
        metadata=ObjectMeta(name=name, uid=f"PriorityClass/{name}"), value=value, global_default=is_default or None
    )


def manifest(entry: kube.KubeObject) -> dict[str, Any]:
    """Return the object as a manifest."""
    version = f"{entry.group}/v1" if entry.group else "v1"
    return {"apiVersion": version, "kind": type(entry).__name__, **msgspec.to_builtins(entry)}
