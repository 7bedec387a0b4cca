"""Full clusters in which pods have to be evicted or moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import clusters
from benchmarks.measurement import Result, finished, prepared, run_cycle
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.session.program import Program
from stromboli.kube.objects.cluster import NodeStatus
from stromboli.kube.objects.meta import ObjectMeta, Resources
from stromboli.kube.objects.pod import Container, PodSpec, PodStatus, ResourceRequirements
from stromboli.kube.objects.volcano import PodGroupSpec, PodGroupStatus, QueueSpec
from stromboli.registry import built_in_registry
from stromboli.workloads.groups import GROUP_NAME

Parameters = dict[str, int]

#: The configuration besides the default.
_ARGUMENTS = {"consolidate": "configurations:\n- name: consolidate\n  arguments:\n    maxMovedPods: -1\n"}


def reclaim(parameters: Parameters, runs: int) -> list[Result]:
    """Nodes of 8 GPUs, full of one-GPU jobs of one queue; a gang of a tenth of the cluster arrives in another queue."""
    return [_measured("reclaim", {"nodes": nodes}, _owed, runs) for nodes in _sizes(parameters["nodes"])]


def _sizes(largest: int) -> list[int]:
    return [nodes for nodes in (100, 500, 1_000, 5_000) if nodes < largest] + [largest]


def preempt(parameters: Parameters, runs: int) -> list[Result]:
    """Four pods of low priority on every node, and a pod of high priority for every node."""
    return [_measured("preempt", parameters, _urgent, runs)]


def consolidate(parameters: Parameters, runs: int) -> list[Result]:
    """Nodes of 8 GPUs, each with seven one-GPU jobs; a gang that wants a tenth of the nodes whole arrives."""
    return [_measured("consolidate", {"nodes": nodes}, _scattered, runs) for nodes in _sizes(parameters["nodes"])]


def _measured(
    action: str, parameters: Parameters, make: Callable[[int], Iterator[kube.KubeObject]], runs: int
) -> Result:
    cluster = Cluster()
    clusters.fill(cluster, make(parameters["nodes"]))
    prepared(cluster)
    registry = built_in_registry(())
    text = DEFAULT_TEXT.replace("enqueue, allocate, backfill", f"allocate, {action}") + _ARGUMENTS.get(action, "")
    program = Program(parse_configuration(text, registry), registry)
    best: Result | None = None
    timings = []
    for _ in range(runs):
        session, seconds, phases = run_cycle(cluster, program)
        timings.append(seconds)
        claims = len(session.decisions.nominations)
        if best is None or seconds < best.seconds:
            acting = phases[f"action.{action}"]
            best = Result(action, parameters, seconds, 0, 0.0, phases)
            best.more = {
                "claims": claims,
                "evictions": len(session.decisions.evictions),
                "claims_per_second": claims / seconds,
                "claims_per_second_of_the_action": claims / acting,
            }
        del session
    assert best is not None
    best.runs = timings
    return finished(best)


def _owed(nodes: int) -> Iterator[kube.KubeObject]:
    yield from standard_queues()
    for name in ("full", "owed"):
        yield kube.KubeQueue(metadata=ObjectMeta(name=name, uid=name), spec=QueueSpec(weight=1))
    for number in range(nodes):
        yield _node(number, {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"})
    small: Resources = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    for number in range(8 * nodes):
        yield from job(f"small-{number:06}", 1, small, queue="full", node=f"node-{number // 8:06}", created=number)
    yield from job("large", max(1, nodes // 10), {"cpu": "8", "memory": "8Gi", "nvidia.com/gpu": "8"}, queue="owed")


def _scattered(nodes: int) -> Iterator[kube.KubeObject]:
    yield from standard_queues()
    for number in range(nodes):
        yield _node(number, {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"})
    small: Resources = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    for number in range(7 * nodes):
        yield from job(f"small-{number:06}", 1, small, node=f"node-{number // 7:06}", created=number)
    yield from job("large", max(1, nodes // 10), {"cpu": "8", "memory": "8Gi", "nvidia.com/gpu": "8"})


def _urgent(nodes: int) -> Iterator[kube.KubeObject]:
    yield from standard_queues()
    for name, value in (("low", 10), ("high", 1_000)):
        yield kube.PriorityClass(metadata=ObjectMeta(name=name, uid=name), value=value)
    for number in range(nodes):
        yield _node(number, {"cpu": "4", "memory": "32Gi", "pods": "110"})
    for number in range(4 * nodes):
        one: Resources = {"cpu": "900m", "memory": "500Mi"}
        yield from job(f"low-{number:06}", 1, one, priority="low", node=f"node-{number // 4:06}", created=number)
    for number in range(nodes):
        yield from job(f"high-{number:06}", 1, {"cpu": "3", "memory": "500Mi"}, priority="high")


def _node(number: int, offered: Resources) -> kube.KubeNode:
    return kube.KubeNode(
        metadata=ObjectMeta(name=f"node-{number:06}", uid=f"node-{number}"), status=NodeStatus(allocatable=offered)
    )


def job(
    name: str,
    size: int,
    request: Resources,
    *,
    queue: str = "default",
    priority: str | None = None,
    node: str = "",
    created: int = 0,
) -> Iterator[kube.KubeObject]:
    yield kube.PodGroup(
        metadata=ObjectMeta(name=name, namespace="bench", uid=name),
        spec=PodGroupSpec(min_member=size, queue=queue, priority_class_name=priority),
        status=PodGroupStatus(phase="Running" if node else "Inqueue"),
    )
    container = Container(name="main", resources=ResourceRequirements(requests=dict(request)))
    for index in range(size):
        yield kube.Pod(
            metadata=ObjectMeta(
                name=f"{name}-worker-{index}",
                namespace="bench",
                uid=f"{name}-{index}",
                annotations={GROUP_NAME: name},
                creation_timestamp=_moment(created + index),
            ),
            spec=PodSpec(scheduler_name="stromboli", containers=[container], node_name=node or None),
            status=PodStatus(phase="Running" if node else "Pending"),
        )


def _moment(second: int) -> str:
    """A distinct time for each pod."""
    return f"2026-01-{1 + second // 86_400:02}T{second // 3_600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}Z"
