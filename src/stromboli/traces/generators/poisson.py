"""Jobs with Poisson arrivals at a declared load of the cluster, and exponential run times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from stromboli.traces.trace import Trace, TraceHeader, TraceJob, TraceNode

NAME = "poisson"


@dataclass(frozen=True, slots=True)
class JobSize:
    """Pods of a job and its weight among all jobs."""

    pods: int
    weight: float


@dataclass(frozen=True, slots=True)
class PoissonWorkload:
    """`load` is the offered work as a fraction of the capacity: of the GPUs if pods request any, else of the CPUs."""

    jobs: int
    load: float
    nodes: Sequence[TraceNode]
    sizes: Sequence[JobSize] = (JobSize(1, 1.0),)
    mean_run_time: float = 3600.0
    cpu: int = 1000
    gpu: int = 0

    @property
    def gap(self) -> float:
        """Return the mean seconds between arrivals that give the load."""
        weights = sum(size.weight for size in self.sizes)
        pods = sum(size.pods * size.weight for size in self.sizes) / weights
        each, capacity = (self.gpu, "gpu") if self.gpu else (self.cpu, "cpu")
        return pods * each * self.mean_run_time / (self.load * sum(getattr(node, capacity) for node in self.nodes))


def poisson(workload: PoissonWorkload, seed: int) -> Trace:
    processors = sum(node.cpu for node in workload.nodes) // 1000
    header = TraceHeader(nodes=len(workload.nodes), processors=processors, computer="Poisson arrivals")
    return Trace(NAME, NAME, lambda: _jobs(workload, Random(seed)), header, workload.nodes)  # noqa: S311 - a simulation


def _jobs(workload: PoissonWorkload, chance: Random) -> Iterator[TraceJob]:
    now, gap = 0.0, workload.gap
    weights = [size.weight for size in workload.sizes]
    for number in range(1, workload.jobs + 1):
        now += chance.expovariate(1 / gap)
        run_time = chance.expovariate(1 / workload.mean_run_time)
        size = chance.choices(workload.sizes, weights)[0]
        yield TraceJob(
            name=str(number), submitted=round(now, 3), run_time=max(round(run_time, 3), 0.001), pods=size.pods,
            cpu=workload.cpu, gpu=workload.gpu, status="completed",
        )  # fmt: skip


def equal_nodes(count: int, cpus: int, gpus: int = 0) -> list[TraceNode]:
    """Return nodes of one shape."""
    width = len(str(count - 1))
    return [TraceNode(f"node-{number:0{width}}", cpus * 1000, gpu=gpus * 1000) for number in range(count)]
