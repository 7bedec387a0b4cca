"""Traces in virtual time: short jobs, gangs, and a day of jobs of all sizes under each backfill strategy."""

from __future__ import annotations

import random
import resource
import time

from benchmarks.measurement import Result, finished
from stromboli.cli import tune_garbage_collection
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.registry import built_in_registry
from stromboli.simulator.results.summary import summary_of
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.simulator.traced.simulation import TraceSimulation
from stromboli.simulator.traced.workload import TracedWorkload
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.traces.generators.poisson import JobSize, PoissonWorkload, equal_nodes, poisson
from stromboli.traces.trace import Trace, TraceHeader, TraceJob

Parameters = dict[str, int]

#: The sizes of jobs, with the fraction of all pods in jobs of that size.
_SIZES = ((1, 0.2), (10, 0.3), (50, 0.3), (200, 0.2))
_DAY = 24 * 3600
_PROCESSORS = 32
_CONFIGURATION = """
actions: "allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
  - name: binpack
configurations:
- name: backfill
  arguments:
    strategy: %s
"""
_NAMES = ("stromboli", "volcano")


def simulate(parameters: Parameters, runs: int) -> list[Result]:
    """One run each: they are long enough."""
    nodes, jobs = parameters["nodes"], parameters["jobs"]
    return [
        _run("jobs", "best-effort", parameters, _poisson(nodes, jobs, 1)),
        _run("gangs", "best-effort", parameters, _poisson(nodes, jobs // 10, 10)),
        *(
            _run(strategy, strategy, parameters, _day(nodes, parameters["pods"]))
            for strategy in ("best-effort", "easy", "conservative")
        ),
    ]


def _run(name: str, strategy: str, parameters: Parameters, trace: Trace) -> Result:
    tune_garbage_collection()
    registry, options = built_in_registry(()), ReplayOptions()
    program = Program(parse_configuration(_CONFIGURATION % strategy, registry), registry)
    began, busy = time.perf_counter(), time.process_time()
    workload = TracedWorkload(trace, options)
    world = FastWorld(program, workload.objects, scheduler_names=_NAMES, seed=0, now=workload.start)
    run = TraceSimulation(workload, world, options).run()
    simulated, busy = time.perf_counter(), time.process_time() - busy
    found = summary_of(run)
    ended, pods = time.perf_counter(), int(run.jobs.column("pods").sum())
    result = Result(f"simulate-{name}", parameters, ended - began, pods, pods / (ended - began), {})
    result.phases = {"simulation": simulated - began, "summary": ended - simulated}
    result.more = {
        "processor_seconds": busy,
        "jobs": len(run.jobs),
        "jobs_per_processor_second": len(run.jobs) / busy,
        "pods_per_processor_second": pods / busy,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cycles": run.cycles,
        "virtual_hours": found["seconds"] / 3600,
        "used_cpu": found["utilisation"]["cpu"],
        "mean_wait": found["wait"]["mean"],
        "p95_wait": found["wait"]["p95"],
        "max_wait": found["wait"]["max"],
    }
    return finished(result)


def _poisson(nodes: int, jobs: int, pods: int) -> Trace:
    """Jobs of ten minutes on one processor per pod, that keep four fifths of the cluster busy."""
    return poisson(PoissonWorkload(jobs, 0.8, equal_nodes(nodes, _PROCESSORS), (JobSize(pods, 1.0),), 600.0), 1)


def _day(nodes: int, pods: int) -> Trace:
    chance = random.Random(1)
    jobs = [
        _job(f"job-{number}", size, chance)
        for size, part in _SIZES
        for number in range(max(1, round(pods * part / size)))
    ]
    jobs.sort(key=lambda job: job.submitted)
    header = TraceHeader(nodes=nodes, processors=nodes * _PROCESSORS)
    return Trace("day", "day", lambda: iter(jobs), header)


def _job(name: str, size: int, chance: random.Random) -> TraceJob:
    """A job that arrives within the day, and runs for ten minutes to twelve hours on half a node or more."""
    submitted, run_time = float(chance.randrange(1, _DAY)), float(round(600 * 72 ** chance.random()))
    cpu = chance.choice((16, 24, 32)) * 1000
    return TraceJob(name, submitted, run_time, pods=size, cpu=cpu, requested=run_time)
