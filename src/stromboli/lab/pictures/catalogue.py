"""The pictures of a report: which there are for some runs, each with a name for files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stromboli.lab.measures.usage import RESOURCES, capacity_of
from stromboli.lab.pictures.drawing import Spec
from stromboli.lab.pictures.gantt import job_gantt, node_gantt
from stromboli.lab.pictures.heat_map import fragmentation_map, node_map
from stromboli.lab.pictures.over_time import fragmentation, utilisation, waiting_jobs
from stromboli.lab.pictures.queues import queue_areas, queue_shares
from stromboli.lab.pictures.slowdown import slowdown_by_size
from stromboli.lab.pictures.waits import wait_distribution
from stromboli.simulator.results.run import SimulationRun


@dataclass(frozen=True, slots=True)
class Picture:
    #: The name without a policy, such as `node-gantt`.
    name: str
    spec: Spec
    #: The policy that it shows; empty if it compares all.
    policy: str = ""


def compared_pictures(runs: Iterable[SimulationRun], every: Iterable[SimulationRun]) -> Iterator[Picture]:
    """Yield pictures of all policies: over time by one run of each, distributions by the runs of all seeds.

    Both are iterated for each picture, and one run at a time is used: they may be read from files.
    """
    yield Picture("wait-distribution", wait_distribution(every))
    yield Picture("slowdown-by-size", slowdown_by_size(every))
    yield Picture("waiting-jobs", waiting_jobs(runs))
    resources = [each for each in RESOURCES if capacity_of(next(iter(runs)), each)]
    for resource in resources:
        yield Picture(f"utilisation-{resource}", utilisation(runs, resource))
    if "gpu" in resources:
        yield Picture("fragmentation", fragmentation(runs))


def pictures_of(run: SimulationRun) -> Iterator[Picture]:
    """Yield pictures of one run."""
    drawn = [("queue-areas", queue_areas), ("queue-shares", queue_shares)] if len(run.jobs.queues.texts) > 1 else []
    drawn += [("node-gantt", node_gantt), ("job-gantt", job_gantt), ("node-map", node_map)]
    if capacity_of(run, "gpu"):
        drawn.append(("fragmentation-map", fragmentation_map))
    for name, draw in drawn:
        yield Picture(name, draw(run), run.policy)
