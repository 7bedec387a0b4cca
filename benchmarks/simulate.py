"""A day of a cluster in virtual time: jobs of all sizes arrive, wait, run for their declared run time, and end."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from benchmarks import clusters
from benchmarks.measurement import Result, finished
from stromboli import kube
from stromboli.cli import tune_garbage_collection
from stromboli.cli.registry import built_in_registry
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.timestamps import ARRIVES_AFTER, RUN_TIME
from stromboli.kube.objects.volcano import PodGroupSpec
from stromboli.simulator.report import report_of
from stromboli.simulator.simulation import Simulation
from stromboli.simulator.workload import workload_of
from stromboli.workloads.groups import GROUP_NAME

Parameters = dict[str, int]

#: The sizes of jobs, with the fraction of all pods in jobs of that size.
_SIZES = ((1, 0.2), (10, 0.3), (50, 0.3), (200, 0.2))
_DAY = 24 * 3600
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


def simulate(parameters: Parameters, runs: int) -> list[Result]:
    """The same day with each backfill strategy. One run each: a day is long enough."""
    return [_day(strategy, parameters) for strategy in ("best-effort", "easy", "conservative")]


def _day(strategy: str, parameters: Parameters) -> Result:
    tune_garbage_collection()
    registry = built_in_registry(())
    program = Program(parse_configuration(_CONFIGURATION % strategy, registry), registry)
    objects = list(_world(parameters["nodes"], parameters["pods"]))
    began, busy = time.perf_counter(), time.process_time()
    simulation = Simulation(workload_of(objects), program)
    measured = simulation.run()
    simulated = time.perf_counter()
    report = report_of(measured)
    ended, busy = time.perf_counter(), time.process_time() - busy
    started = sum(job.pods for job in measured.jobs.values() if job.started is not None)
    result = Result(f"simulate-{strategy}", parameters, ended - began, started, started / (ended - began), {})
    result.phases = {"simulation": simulated - began, "report": ended - simulated}
    result.more = {
        "processor_seconds": busy,
        "jobs": len(measured.jobs),
        "cycles": measured.cycles,
        "virtual_hours": report["seconds"] / 3600,
        "used_cpu": report["utilisation"]["mean"]["cpu"],
        "mean_wait": report["waits"]["mean"],
        "p95_wait": report["waits"]["p95"],
        "max_wait": report["waits"]["max"],
    }
    return finished(result)


def _world(nodes: int, pods: int) -> Iterator[kube.KubeObject]:
    chance = random.Random(1)
    for number in range(nodes):
        yield clusters.plain_node(number, 32)
    number = 0
    for size, part in _SIZES:
        for _ in range(max(1, round(pods * part / size))):
            yield from _job(f"job-{number:05}", size, chance)
            number += 1


def _job(name: str, size: int, chance: random.Random) -> Iterator[kube.KubeObject]:
    """A job that arrives within the day, and runs for ten minutes to twelve hours on half a node or more."""
    notes = {
        ARRIVES_AFTER: f"{chance.randrange(1, _DAY)}s",
        RUN_TIME: f"{round(600 * 72 ** chance.random())}s",
    }
    yield kube.PodGroup(
        metadata=ObjectMeta(name=name, namespace="day", uid=name, annotations=notes),
        spec=PodGroupSpec(min_member=size, queue="default"),
    )
    spec = clusters.cpu_template(chance.choice((16, 24, 32)))
    for index in range(size):
        metadata = ObjectMeta(
            name=f"{name}-{index}", namespace="day", uid=f"{name}-{index}", annotations={GROUP_NAME: name, **notes}
        )
        yield kube.Pod(metadata=metadata, spec=spec)
