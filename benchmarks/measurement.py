"""Running a workload and measuring it."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from stromboli.cli import tune_garbage_collection
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import default_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.work.collection import collection_paused
from stromboli.registry import built_in_registry


@dataclass(slots=True)
class Result:
    """One run. `seconds` is the processor time from the request of the snapshot to the close of the session."""

    name: str
    parameters: dict[str, int]
    seconds: float
    placements: int
    placements_per_second: float
    phases: dict[str, float]
    peak_rss_bytes: int = 0
    calibration_seconds: float = 0.0
    runs: list[float] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def new_program() -> Program:
    registry = built_in_registry(())
    return Program(default_configuration(registry), registry)


def run_cycle(cluster: Cluster, program: Program) -> tuple[Session, float, dict[str, float]]:
    """One cycle with its phases, without garbage collection, as in the scheduler.

    A cycle has one thread, so its processor time is what it takes on an idle machine. The stopwatch of the session
    reads the wall clock: reading processor time in every turn would cost more.
    """
    with collection_paused():
        return _run_cycle(cluster, program)


def _run_cycle(cluster: Cluster, program: Program) -> tuple[Session, float, dict[str, float]]:
    clock = time.process_time
    start = clock()
    snapshot = cluster.snapshot()
    taken = clock()
    session = Session(snapshot, program, uid="bench", stopwatch=time.perf_counter)
    opened = clock()
    session.run()
    end = clock()
    phases = {"snapshot": taken - start, "open": opened - taken, "run": end - opened}
    phases |= {".".join(what): seconds for what, seconds in session.measurements.seconds.items()}
    return session, end - start, phases


def best_of(name: str, parameters: dict[str, int], make: Callable[[], Cluster], runs: int) -> Result:
    """The fastest of several cycles over the same cluster, each with its own snapshot."""
    cluster, program = prepared(make()), new_program()
    timings: list[float] = []
    best: Result | None = None
    for _ in range(runs):
        session, seconds, phases = run_cycle(cluster, program)
        placed = sum(len(statement) for statement in session.decisions.binds)
        timings.append(seconds)
        if best is None or seconds < best.seconds:
            best = Result(name, parameters, seconds, placed, placed / seconds, phases)
        del session
    assert best is not None
    best.runs = timings
    return finished(best)


def prepared(cluster: Cluster) -> Cluster:
    """A warmed-up cluster: snapshot taken once, and its objects excluded from garbage collection."""
    tune_garbage_collection()
    cluster.snapshot()
    gc.collect()
    gc.freeze()
    return cluster


def finished(result: Result) -> Result:
    result.peak_rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result.calibration_seconds = calibrate()
    return result


def calibrate() -> float:
    """A fixed piece of work, to compare results of different machines and times."""
    start = time.process_time()
    total = 0
    for number in range(2_000_000):
        total += number & 7
    return time.process_time() - start
