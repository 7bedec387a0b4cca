"""Simulate traces: jobs and a policy in, the table of the run out."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.session.program import Program
from stromboli.simulator.results.job_table import JobResult
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.simulator.traced.simulation import TraceSimulation
from stromboli.simulator.traced.workload import TracedWorkload
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.simulator.worlds.store_world import StoreWorld
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import Trace, TraceJob, TraceNode
from tests.testing.cases.case import BUILT_IN
from tests.testing.simulations import strategy


def job(name: str, submitted: float, run_time: float | None, pods: int = 1, **facts: Any) -> TraceJob:
    """Return a job with pods of one processor."""
    return TraceJob(name, submitted, run_time, **{"pods": pods, "cpu": 1000, **facts})


def simulated(
    trace: Sequence[TraceJob],
    conf: str = strategy("best-effort"),
    nodes: int | Sequence[TraceNode] = 4,
    *,
    world: type[FastWorld] | type[StoreWorld] = FastWorld,
    until: float = inf,
    objects: Sequence[Any] = (),
    registry: Registry = BUILT_IN,
    **options: Any,
) -> SimulationRun:
    """Simulate jobs on nodes of one processor, or on given ones."""
    program = Program(parse_configuration(conf, registry), registry)
    chosen = ReplayOptions(**options)
    cluster = equal_nodes(nodes, 1) if isinstance(nodes, int) else nodes
    workload = TracedWorkload(Trace("test", "test", lambda: iter(trace)), chosen, cluster, objects)
    names = ("stromboli", "volcano")
    entered = world(program, workload.objects, scheduler_names=names, seed=chosen.seed, now=workload.start)
    return TraceSimulation(workload, entered, chosen).run(until)


def rows(run: SimulationRun) -> dict[str, JobResult]:
    return {row.name: row for row in run.jobs.rows()}


def spans(run: SimulationRun) -> dict[str, tuple[float, float]]:
    """Return the start and the end of jobs by name."""
    return {row.name: (row.started, row.ended) for row in run.jobs.rows()}
