"""Build and run simulations: manifests and a policy in, measurements out."""

from __future__ import annotations

from math import inf
from typing import Any

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.kube.objects.timestamps import ARRIVES_AFTER, RUN_TIME
from stromboli.simulator.measurements import SimulationMeasurements
from stromboli.simulator.simulation import Simulation
from stromboli.simulator.workload import BEGINNING, workload_of
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects
from tests.testing.manifests.builders import gang


def strategy(name: str) -> str:
    arguments = {"backfill": {"strategy": name}}
    return configuration("gang", "predicates", actions="allocate, backfill", arguments=arguments)


PLAIN = strategy("best-effort")


def simulation(*manifests: Any, conf: str = PLAIN, seed: int = 0) -> Simulation:
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    return Simulation(workload_of(objects(flattened(manifests))), program, seed=seed)


def simulate(*manifests: Any, conf: str = PLAIN, until: float = inf, seed: int = 0) -> SimulationMeasurements:
    """Run until some minutes after the start."""
    return simulation(*manifests, conf=conf, seed=seed).run(BEGINNING + until * 60)


def job(name: str, count: int, cpu: object, run: int | None, after: int = 0, **facts: Any) -> Any:
    """Return a gang that arrives some minutes after the start and runs for some minutes."""
    notes = {**facts.pop("annotations", {}), **({RUN_TIME: f"{run}m"} if run is not None else {})}
    if after:
        notes[ARRIVES_AFTER] = f"{after}m"
    return gang(count, cpu, name=name, annotations=notes, **facts)


def minutes(moment: float | None) -> float | None:
    """Return the minutes since the start."""
    return None if moment is None else (moment - BEGINNING) / 60


def starts(measured: SimulationMeasurements) -> dict[str, float | None]:
    """Return the start of jobs in minutes, by name."""
    return {key.partition("/")[2]: minutes(record.started) for key, record in measured.jobs.items()}


def ends(measured: SimulationMeasurements) -> dict[str, float | None]:
    return {key.partition("/")[2]: minutes(record.ended) for key, record in measured.jobs.items()}
