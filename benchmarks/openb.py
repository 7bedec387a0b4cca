"""GPU packing on the traces of Alibaba's cluster of 2023, by the protocol of the FGD paper:

    python -m benchmarks.openb TRACES --workloads default,gpuspec33 --seeds 10

TRACES is a folder with `openb_node_list_gpu_node.csv` and `openb_pod_list_<workload>.csv`. The pods of a list are
cloned at random until they request 1.3 times the GPUs of the cluster, shuffled, and placed one by one in one cycle.
Nothing ends, and what does not fit is left out. The result is the part of all GPUs that is allocated when pods with
100 % and with 130 % of the capacity have arrived, in percent, and the processor time of the cycle.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from benchmarks import clusters
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.cluster import NodeStatus
from stromboli.kube.objects.constraints import Affinity, KubeNodeAffinity, NodeSelector, NodeSelectorTerm
from stromboli.kube.objects.meta import KubeRequirement, ObjectMeta, Resources
from stromboli.kube.objects.pod import Container, PodSpec, PodStatus, ResourceRequirements
from stromboli.kube.objects.volcano import PodGroupSpec, PodGroupStatus
from stromboli.kube.work.collection import collection_paused
from stromboli.registry import built_in_registry
from stromboli.traces.formats.openb import read_openb
from stromboli.traces.trace import TraceJob, TraceNode
from stromboli.workloads.groups import GROUP_NAME

POLICY = Path("examples/policies/fragmentation.conf")
GPU, MODEL = "nvidia.com/gpu", "gpu-model"
ARRIVED = 1.3
WORKLOADS = (
    "default", "cpu050", "cpu100", "cpu200", "cpu250", "gpushare40", "gpushare60", "gpushare80", "gpushare100",
    "gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33", "multigpu20", "multigpu30", "multigpu40", "multigpu50",
)  # fmt: skip


class Packing(NamedTuple):
    """The result of one run."""

    at_capacity: float
    at_end: float
    seconds: float
    pods: int


def arrivals(jobs: Sequence[TraceJob], capacity: int, seed: int) -> list[TraceJob]:
    """Return the pods that arrive, in their order: the list with clones, or without some pods if it is too long."""
    chance, pods, limit = random.Random(seed), list(jobs), ARRIVED * capacity
    demand = sum(job.gpu for job in pods)
    chance.shuffle(pods)
    while demand > limit:
        demand -= pods.pop().gpu
    while demand + (clone := chance.choice(jobs)).gpu <= limit:
        pods.append(clone)
        demand += clone.gpu
    chance.shuffle(pods)
    return pods


def node_of(node: TraceNode) -> kube.KubeNode:
    offered: Resources = {"cpu": f"{node.cpu}m", "memory": str(node.memory), "pods": "1000", GPU: str(node.gpu // 1000)}
    metadata = ObjectMeta(name=node.name, uid=node.name, labels={MODEL: node.gpu_model})
    return kube.KubeNode(metadata=metadata, status=NodeStatus(allocatable=offered))


def objects_of(index: int, job: TraceJob) -> Iterator[kube.KubeObject]:
    """A pod with a group of its own. Jobs are served in the order of their names."""
    name = f"job-{index:06}"
    yield kube.PodGroup(
        metadata=ObjectMeta(name=name, namespace="openb", uid=name),
        spec=PodGroupSpec(min_member=1, queue="default"),
        status=PodGroupStatus(phase="Inqueue"),
    )
    annotations = {GROUP_NAME: name}
    requests: Resources = {"cpu": f"{job.cpu}m", "memory": str(job.memory)}
    if job.gpu % 1000:
        annotations["gpu-fraction"] = f"{job.gpu / 1000:g}"
    elif job.gpu:
        requests[GPU] = str(job.gpu // 1000)
    yield kube.Pod(
        metadata=ObjectMeta(name=name, namespace="openb", uid=f"uid-{index}", annotations=annotations),
        spec=PodSpec(
            scheduler_name="stromboli",
            containers=[Container(name="main", resources=ResourceRequirements(requests=requests))],
            affinity=_on_models(job.gpu_models),
        ),
        status=PodStatus(phase="Pending"),
    )


def _on_models(models: Sequence[str]) -> Affinity | None:
    if not models:
        return None
    accepted = KubeRequirement(key=MODEL, operator="In", values=list(models))
    terms = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[accepted])])
    return Affinity(node_affinity=KubeNodeAffinity(required=terms))


def pack(nodes: Sequence[TraceNode], pods: Sequence[TraceJob], policy: Path) -> Packing:
    """Run one cycle over all pods."""
    registry = built_in_registry(())
    program = Program(parse_configuration(policy.read_text(), registry), registry)
    cluster = Cluster(SCHEDULER_NAMES, program.class_labels, program.class_annotations)
    for entry in (*standard_queues(), *map(node_of, nodes)):
        cluster.apply(entry)
    for index, job in enumerate(pods):
        clusters.fill(cluster, objects_of(index, job))
    snapshot = cluster.snapshot()
    gc.collect()
    with collection_paused():
        began = time.process_time()
        session = Session(snapshot, program, uid="openb")
        session.run()
        seconds = time.process_time() - began
    placed = {placement.uid for statement in session.decisions.binds for placement in statement}
    return _measured(nodes, pods, placed, seconds)


def _measured(nodes: Sequence[TraceNode], pods: Sequence[TraceJob], placed: Set[str], seconds: float) -> Packing:
    capacity, arrived, allocated = sum(node.gpu for node in nodes), 0, 0
    at_capacity: float | None = None
    for index, job in enumerate(pods):
        arrived += job.gpu
        allocated += job.gpu if f"uid-{index}" in placed else 0
        if at_capacity is None and arrived >= capacity:
            at_capacity = 100 * allocated / capacity
    at_end = 100 * allocated / capacity
    return Packing(at_end if at_capacity is None else at_capacity, at_end, seconds, len(pods))


def measure(folder: Path, workload: str, policy: Path, seeds: int) -> dict[str, object]:
    trace = read_openb(str(folder / f"openb_pod_list_{workload}.csv"), str(folder / "openb_node_list_gpu_node.csv"))
    jobs, capacity = list(trace.jobs()), sum(node.gpu for node in trace.nodes)
    runs = [pack(trace.nodes, arrivals(jobs, capacity, seed), policy) for seed in range(1, seeds + 1)]
    return {
        "workload": workload,
        "policy": policy.name,
        "seeds": seeds,
        "allocated at 100 %": _summary([run.at_capacity for run in runs]),
        "allocated at 130 %": _summary([run.at_end for run in runs]),
        "processor seconds": _summary([run.seconds for run in runs]),
        "pods": max(run.pods for run in runs),
    }


def _summary(values: Sequence[float]) -> dict[str, float]:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(statistics.fmean(values), 3), "deviation": round(spread, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, metavar="TRACES")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="those without a file are left out")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--policy", type=Path, default=POLICY)
    arguments = parser.parse_args()
    for workload in arguments.workloads.split(","):
        if (arguments.traces / f"openb_pod_list_{workload}.csv").exists():
            print(json.dumps(measure(arguments.traces, workload, arguments.policy, arguments.seeds)), flush=True)


if __name__ == "__main__":
    main()
