"""Nodes of a trace as objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.objects.meta import ObjectMeta, Resources
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import Trace, TraceError, TraceNode

GPU = "nvidia.com/gpu"
#: The label of the GPU operator with the model.
GPU_MODEL = "nvidia.com/gpu.product"
#: A limit of pods would be one of this scheduler's environment, and is no part of traces.
_PODS = "100000"


def nodes_of_trace(trace: Trace) -> Sequence[TraceNode]:
    """Return the nodes of the trace, else of its header. Raises TraceError if it has neither."""
    if trace.nodes:
        return trace.nodes
    count, processors = trace.header.nodes, trace.processors
    if processors is None:
        raise TraceError(
            f"{trace.source}: the trace names no nodes; name their number with --nodes, or their manifests with -f"
        )
    if count is None or processors % count:
        return equal_nodes(processors, 1)
    return equal_nodes(count, processors // count)


def one_pool(nodes: Iterable[TraceNode]) -> list[TraceNode]:
    """Return one node with everything: gangs need not fit on nodes."""
    each = list(nodes)
    sums = (sum(node.cpu for node in each), sum(node.memory for node in each), sum(node.gpu for node in each))
    return [TraceNode("pool", *sums)]


def node_objects(nodes: Iterable[TraceNode]) -> list[kube.KubeObject]:
    return [_node(node) for node in nodes]


def _node(node: TraceNode) -> kube.KubeNode:
    offered: Resources = {"cpu": f"{node.cpu}m", "pods": _PODS}
    if node.memory:
        offered["memory"] = str(node.memory)
    if node.gpu:
        offered[GPU] = str(node.gpu // 1000)
    labels = {"kubernetes.io/hostname": node.name, **({GPU_MODEL: node.gpu_model} if node.gpu_model else {})}
    return kube.KubeNode(
        metadata=ObjectMeta(name=node.name, uid=f"node/{node.name}", labels=labels),
        status=kube.NodeStatus(allocatable=offered),
    )


def trace_nodes(objects: Iterable[kube.KubeObject]) -> list[TraceNode]:
    """Return the nodes among objects, as a trace has them."""
    nodes = []
    for entry in objects:
        if isinstance(entry, kube.KubeNode):
            offered = entry.status.allocatable or entry.status.capacity or {}
            cpu, memory, gpu = (_amount(offered, name) for name in ("cpu", "memory", GPU))
            model = (entry.metadata.labels or {}).get(GPU_MODEL, "")
            nodes.append(TraceNode(entry.metadata.name, cpu, memory // 1000, gpu, model))
    return nodes


def _amount(offered: Resources, name: str) -> int:
    try:
        return parse_quantity(offered.get(name, 0), milli=True)
    except ValueError:
        return 0
