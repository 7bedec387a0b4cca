"""Clusters and jobs of any size, as objects that the cache ingests.

Nodes have four shapes, ten pools and a taint on every tenth; jobs are made from templates that differ in request,
selector, affinity and tolerations, so that no result can be shared by all of them.
"""

from collections.abc import Iterator

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.cluster import KubeTaint, NodeSpec, NodeStatus
from stromboli.kube.objects.constraints import (
    Affinity,
    KubeNodeAffinity,
    KubeToleration,
    NodeSelector,
    NodeSelectorTerm,
)
from stromboli.kube.objects.meta import KubeRequirement, ObjectMeta, Resources
from stromboli.kube.objects.pod import Container, PodSpec, PodStatus, ResourceRequirements
from stromboli.kube.objects.volcano import PodGroupSpec, PodGroupStatus, QueueSpec
from stromboli.workloads.groups import GROUP_NAME

TEMPLATES = 50
_SHAPES = ((32, 128, 8), (64, 256, 8), (96, 384, 8), (16, 64, 0))


def node(number: int) -> kube.KubeNode:
    cpu, memory, gpus = _SHAPES[number % len(_SHAPES)]
    offered: Resources = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    if gpus:
        offered["nvidia.com/gpu"] = str(gpus)
    labels = {"pool": f"pool-{number % 10}", "zone": f"zone-{number % 3}", "disk": "ssd" if number % 2 else "hdd"}
    taints = [KubeTaint(key="dedicated", value="batch", effect="NoSchedule")] if number % 10 == 9 else None
    return kube.KubeNode(
        metadata=ObjectMeta(name=f"node-{number:06}", uid=f"node-{number}", labels=labels),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(allocatable=offered),
    )


def plain_node(number: int, cpu: int) -> kube.KubeNode:
    offered: Resources = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "pods": "1000"}
    return kube.KubeNode(
        metadata=ObjectMeta(name=f"node-{number:06}", uid=f"n{number}"), status=NodeStatus(allocatable=offered)
    )


def template(number: int, *, impossible: bool = False) -> PodSpec:
    """The spec of every pod of one template. An impossible one requests more than any node has."""
    request = {"cpu": f"{500 + 250 * (number % 7)}m", "memory": f"{1 + number % 5}Gi"}
    if number % 2:
        request["nvidia.com/gpu"] = "1"
    if impossible:
        request["cpu"] = str(1000 + number)
    avoided = KubeRequirement(key="pool", operator="NotIn", values=[f"pool-{number % 10}"])
    terms = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[avoided])])
    tolerated = [KubeToleration(key="dedicated", operator="Equal", value="batch", effect="NoSchedule")]
    return PodSpec(
        scheduler_name="stromboli",
        containers=[Container(name="main", resources=ResourceRequirements(requests=dict(request)))],
        node_selector={"disk": "ssd"} if number % 5 == 4 else None,
        affinity=Affinity(node_affinity=KubeNodeAffinity(required=terms)),
        tolerations=tolerated if number % 3 == 0 else None,
    )


def cpu_template(cpu: int = 1) -> PodSpec:
    return PodSpec(
        scheduler_name="stromboli",
        containers=[Container(name="main", resources=ResourceRequirements(requests={"cpu": str(cpu)}))],
    )


def job(
    name: str,
    size: int,
    spec: PodSpec,
    *,
    minimum: int | None = None,
    queue: str = "default",
    nodes: list[str] | None = None,
) -> Iterator[kube.KubeObject]:
    """A PodGroup and its pods; with `nodes`, the pods already run there."""
    status = PodGroupStatus(phase="Running" if nodes else "Pending")
    least = size if minimum is None else minimum
    yield kube.PodGroup(
        metadata=ObjectMeta(name=name, namespace="bench", uid=name),
        spec=PodGroupSpec(min_member=least, queue=queue, min_resources=_minimum(spec, least)),
        status=status,
    )
    for index in range(size):
        placed = spec if nodes is None else _on(spec, nodes[index])
        yield kube.Pod(
            metadata=ObjectMeta(
                name=f"{name}-worker-{index}", namespace="bench", uid=f"{name}-{index}", annotations={GROUP_NAME: name}
            ),
            spec=placed,
            status=PodStatus(phase="Running" if nodes else "Pending"),
        )


def _minimum(spec: PodSpec, pods: int) -> Resources:
    containers = spec.containers or []
    requests = containers[0].resources.requests if containers and containers[0].resources else None
    cpu = str((requests or {}).get("cpu", "0"))
    milli = int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000
    return {"cpu": f"{milli * pods}m"}


def _on(spec: PodSpec, name: str) -> PodSpec:
    return PodSpec(scheduler_name=spec.scheduler_name, containers=spec.containers, node_name=name)


def queue(number: int) -> kube.KubeQueue:
    return kube.KubeQueue(
        metadata=ObjectMeta(name=f"queue-{number:04}", uid=f"queue-{number}"), spec=QueueSpec(weight=1 + number % 4)
    )


def empty_cluster(nodes: int) -> Cluster:
    cluster = Cluster()
    for entry in standard_queues():
        cluster.apply(entry)
    for number in range(nodes):
        cluster.apply(node(number))
    return cluster


def fill(cluster: Cluster, objects: Iterator[kube.KubeObject]) -> None:
    for entry in objects:
        cluster.apply(entry)
