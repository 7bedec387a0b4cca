"""Expected starts of waiting jobs, compared with the starts that follow: how many lie within their ranges.

Each cluster is full of running jobs, and others wait. Run times are lognormal by template; the forecast has seen some
earlier runs of every template, not the distribution. The true run times are drawn afterwards, and the same scheduler
runs to the end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks import clusters
from benchmarks.measurement import Result, finished
from stromboli import kube
from stromboli.cluster.objects.pods.templates import template_of
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.values.times import date_of
from stromboli.core.session.program import Program
from stromboli.history.run_times import LearnedRunTimes
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Container, PodSpec, PodStatus, ResourceRequirements
from stromboli.kube.objects.volcano import PodGroupSpec, PodGroupStatus
from stromboli.registry import built_in_registry
from stromboli.simulator.forecast.expected_starts import StartRange, expected_starts
from stromboli.simulator.forecast.scenario import starts_in
from stromboli.simulator.workload import BEGINNING, Workload
from stromboli.workloads.groups import GROUP_NAME

Parameters = dict[str, int]
_CONFIGURATION = """
actions: "allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
"""
_TEMPLATES = 6
_SPREAD = 0.7
_SCHEDULER = ("stromboli",)
_NODE_CPU = 8


@dataclass(slots=True)
class ForecastWorld:
    """A full cluster with waiting jobs, and the run times that the forecast does not see."""

    objects: list[kube.KubeObject] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    true_runs: dict[str, float] = field(default_factory=dict)
    learned: LearnedRunTimes = field(default_factory=LearnedRunTimes)

    def ends(self, pod: kube.Pod, began: float, now: float) -> float:
        """Return the true end of a pod."""
        return began + self.true_runs[(pod.metadata.annotations or {})[GROUP_NAME]]


def forecast_world(seed: int, *, nodes: int = 4, waiting: int = 10, earlier_runs: int = 30) -> ForecastWorld:
    chance, world = random.Random(seed), ForecastWorld()
    world.objects += [clusters.plain_node(number, _NODE_CPU) for number in range(nodes)]
    medians = [600.0 * 30 ** chance.random() for _ in range(_TEMPLATES)]
    specs = [_spec(number, chance.choice((2, 4))) for number in range(_TEMPLATES)]
    for template, (median, spec) in enumerate(zip(medians, specs, strict=True)):
        for _ in range(earlier_runs):
            hashed = template_of(kube.Pod(spec=spec))
            world.learned.add("team", "", f"template-{template}", hashed, _run(median, chance))
    for number in range(nodes):
        _fill(world, number, medians, specs, chance)
    for number in range(waiting):
        template = chance.randrange(_TEMPLATES)
        name = f"template-{template}-{number:05}"
        world.true_runs[name] = _run(medians[template], chance)
        world.waiting.append(f"team/{name}")
        world.objects += _job(name, specs[template], chance.randint(1, 4), BEGINNING - 60 + number)
    return world


def _fill(world: ForecastWorld, node: int, medians: list[float], specs: list[PodSpec], chance: random.Random) -> None:
    """Fill a node with jobs of one pod that have run for a while."""
    free = _NODE_CPU
    while free >= 2:
        template = chance.randrange(_TEMPLATES)
        request = int(_cpu(specs[template]))
        if request > free:
            template = next((each for each in range(_TEMPLATES) if int(_cpu(specs[each])) <= free), -1)
            if template < 0:
                return
            request = int(_cpu(specs[template]))
        name = f"template-{template}-{90_000 + 100 * node + free}"
        elapsed, run = chance.uniform(0, medians[template]), 0.0
        while run <= elapsed:
            run = _run(medians[template], chance)
        world.true_runs[name] = run
        world.objects += _job(name, specs[template], 1, BEGINNING - elapsed, f"node-{node:06}")
        free -= request


def _run(median: float, chance: random.Random) -> float:
    return chance.lognormvariate(0, _SPREAD) * median


def _cpu(spec: PodSpec) -> str:
    container = (spec.containers or [])[0]
    return str(((container.resources or ResourceRequirements()).requests or {})["cpu"])


def _spec(template: int, cpu: int) -> PodSpec:
    requests = ResourceRequirements(requests={"cpu": str(cpu)})
    return PodSpec(
        containers=[Container(name="main", image=f"template-{template}", resources=requests)],
        scheduler_name=_SCHEDULER[0],
    )


def _job(name: str, spec: PodSpec, size: int, created: float, node: str = "") -> Iterator[kube.KubeObject]:
    stamp = date_of(created).isoformat()
    phase = "Running" if node else "Pending"
    yield kube.PodGroup(
        metadata=ObjectMeta(name=name, namespace="team", uid=name, creation_timestamp=stamp),
        spec=PodGroupSpec(min_member=size, queue="default"), status=PodGroupStatus(phase=phase),
    )  # fmt: skip
    for index in range(size):
        metadata = ObjectMeta(
            name=f"{name}-{index}", namespace="team", uid=f"{name}-{index}", creation_timestamp=stamp,
            annotations={GROUP_NAME: name},
        )  # fmt: skip
        own = PodSpec(containers=spec.containers, scheduler_name=spec.scheduler_name, node_name=node or None)
        yield kube.Pod(metadata=metadata, spec=own, status=PodStatus(phase=phase))


# -- coverage -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Coverage:
    """Starts within, before and after their ranges, of jobs that do not start at once."""

    within: int = 0
    before: int = 0
    after: int = 0
    unknown: int = 0
    #: Widths of the ranges, as parts of the true waiting times.
    widths: list[float] = field(default_factory=list)

    @property
    def part(self) -> float:
        """Return the part of the starts that lie within their ranges."""
        return self.within / max(self.within + self.before + self.after, 1)

    def add(self, start: float, found: StartRange) -> None:
        if found.latest is None:
            self.unknown += 1
            return
        self.within += found.earliest <= start <= found.latest
        self.before += start < found.earliest
        self.after += start > found.latest
        self.widths.append((found.latest - found.earliest) / (start - BEGINNING))


def coverage(worlds: Iterable[ForecastWorld]) -> Coverage:
    registry = built_in_registry(())
    program = Program(parse_configuration(_CONFIGURATION, registry), registry)
    result = Coverage()
    for number, world in enumerate(worlds):
        starts = true_starts(world, program)
        ranges = expected_starts(
            world.objects, program, now=BEGINNING, learned=world.learned, seed=number, scheduler_names=_SCHEDULER
        )
        for key in world.waiting:
            if starts[key] > BEGINNING + 60:
                result.add(starts[key], ranges[key])
    return result


def true_starts(world: ForecastWorld, program: Program) -> dict[str, float]:
    return starts_in(
        Workload(BEGINNING, world.objects), program, world.ends, world.waiting,
        scheduler_names=_SCHEDULER, seed=0, shard=None, is_over=lambda: False,
    )  # fmt: skip


def forecast(parameters: Parameters, runs: int) -> list[Result]:
    """Measure the coverage of the ranges of 80 %, and the time of a forecast."""
    began = time.perf_counter()
    found = coverage(forecast_world(seed) for seed in range(parameters["clusters"]))
    seconds = time.perf_counter() - began
    judged = found.within + found.before + found.after
    result = Result("forecast", parameters, seconds, judged, judged / seconds, {})
    widths = sorted(found.widths)
    result.more = {
        "covered": round(found.part, 4),
        "before": found.before,
        "after": found.after,
        "unknown": found.unknown,
        "median_width": round(widths[len(widths) // 2], 3),
    }
    return [finished(result)]


# -- large clusters -----------------------------------------------------------------------------------------------


def large_forecast(parameters: Parameters, runs: int) -> list[Result]:
    """Measure the processor time of a scenario in a full cluster, of which a forecast simulates 19."""
    world = forecast_world(0, nodes=parameters["nodes"], waiting=parameters["waiting"])
    registry = built_in_registry(())
    scenarios = parameters["scenarios"]
    began = time.process_time()
    found = expected_starts(
        world.objects, Program(parse_configuration(_CONFIGURATION, registry), registry), now=BEGINNING,
        learned=world.learned, scheduler_names=_SCHEDULER, scenarios=scenarios,
    )  # fmt: skip
    seconds = time.process_time() - began
    result = Result("large-forecast", parameters, seconds, len(found), len(found) / seconds, {})
    result.more = {"objects": len(world.objects), "seconds_per_scenario": round(seconds / scenarios, 2)}
    return [finished(result)]
