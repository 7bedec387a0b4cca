"""One run of a trace under a policy, with the production core of the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from stromboli import kube
from stromboli.core.session.program import Program
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.simulator.traced.simulation import TraceProgress, TraceSimulation
from stromboli.simulator.traced.workload import TracedWorkload
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.traces.trace import Trace, TraceNode

SCHEDULER_NAMES = ("stromboli", "volcano")


def simulate(
    trace: Trace,
    program: Program,
    options: ReplayOptions | None = None,
    *,
    policy: str = "",
    nodes: Sequence[TraceNode] = (),
    objects: Sequence[kube.KubeObject] = (),
    scheduler_names: Sequence[str] = SCHEDULER_NAMES,
    until: float = inf,
    progress: TraceProgress = lambda moment, submitted, ended: None,
) -> SimulationRun:
    """Run a trace once. Equal arguments give equal runs. Raises TraceError and PluginFailure.

    `nodes` replace those of the trace; `objects` are those of the cluster, such as queues, and their nodes replace all
    others. `until` is in seconds since the start of the trace.
    """
    options = options or ReplayOptions()
    workload = TracedWorkload(trace, options, nodes, objects)
    world = FastWorld(
        program, workload.objects, scheduler_names=scheduler_names, seed=options.seed, now=workload.start
    )  # fmt: skip
    run = TraceSimulation(workload, world, options).run(until, progress)
    return replace(run, policy=policy)
