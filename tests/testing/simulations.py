"""Simulations in a line: manifests and a policy go in, what was measured comes out."""

from __future__ import annotations

from math import inf
from typing import Any

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.simulator.measurements import SimulationMeasurements
from stromboli.simulator.simulation import Simulation
from stromboli.simulator.workload import ARRIVES_AFTER, BEGINNING, workload_of
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects
from tests.testing.manifests.builders import gang

RUN_TIME = "scheduling.stromboli.dev/run-time"


def strategy(name: str) -> str:
    arguments = {"backfill": {"strategy": name}}
    return configuration("gang", "predicates", actions="allocate, backfill", arguments=arguments)


PLAIN = strategy("best-effort")


def simulation(*manifests: Any, conf: str = PLAIN, seed: int = 0) -> Simulation:
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    return Simulation(workload_of(objects(flattened(manifests))), program, seed=seed)


def simulate(*manifests: Any, conf: str = PLAIN, until: float = inf, seed: int = 0) -> SimulationMeasurements:
    """`until` is in minutes after the beginning."""
    return simulation(*manifests, conf=conf, seed=seed).run(BEGINNING + until * 60)


def job(name: str, count: int, cpu: object, run: int | None, after: int = 0, **facts: Any) -> Any:
    """A gang that arrives some minutes after the beginning and runs for some minutes."""
    notes = {**facts.pop("annotations", {}), **({RUN_TIME: f"{run}m"} if run is not None else {})}
    if after:
        notes[ARRIVES_AFTER] = f"{after}m"
    return gang(count, cpu, name=name, annotations=notes, **facts)


def minutes(moment: float | None) -> float | None:
    """Since the beginning."""
    return None if moment is None else (moment - BEGINNING) / 60


def starts(measured: SimulationMeasurements) -> dict[str, float | None]:
    """By name, when jobs started, in minutes."""
    return {key.partition("/")[2]: minutes(story.started) for key, story in measured.jobs.items()}


def ends(measured: SimulationMeasurements) -> dict[str, float | None]:
    return {key.partition("/")[2]: minutes(story.ended) for key, story in measured.jobs.items()}
