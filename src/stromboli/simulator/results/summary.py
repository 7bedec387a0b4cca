"""Statistics of a run: in total, and by queue, user and size of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.simulator.results.job_table import JobOutcome, JobTable
from stromboli.simulator.results.run import SimulationRun

#: Run times below this do not dominate the slowdown, in seconds.
SLOWDOWN_BOUND = 10.0
#: Upper bounds of the classes by GPUs of a job, or by processors if no job has GPUs.
SIZE_BOUNDS = (1, 4, 16, 64, 256)

#: What counts as one in hours, by resource: thousandths of processors and GPUs, and bytes of a GiB.
_UNITS = {"cpu": 1000, "memory": 2**30, "gpu": 1000}

Values = NDArray[np.float64]
Selected = NDArray[np.bool_]


def summary_of(run: SimulationRun) -> dict[str, Any]:
    """Return all statistics for JSON: the keys are stable, and keys may be added."""
    table, used = run.jobs, used_of(run)
    return {
        "trace": run.trace,
        "policy": run.policy,
        "seed": run.seed,
        "nodes": len(run.nodes),
        "cycles": run.cycles,
        "seconds": _rounded(run.end - run.start),
        **_figures(table, used, np.ones(len(table), dtype=np.bool_)),
        "makespan": _rounded(makespan_of(run)),
        "utilisation": utilisation_of(run),
        "queues": {name: _figures(table, used, chosen) for name, chosen in groups_of(table, "queue")},
        "users": {name: _figures(table, used, chosen) for name, chosen in groups_of(table, "user") if name},
        "sizes": {name: _figures(table, used, chosen) for name, chosen in size_classes_of(table)},
        "rejected": dict(run.rejected),
    }


def waits_of(table: JobTable) -> Values:
    """Return the seconds from submission to the first start, NaN for jobs that never started."""
    return np.asarray(table.column("started") - table.column("submitted"), dtype=np.float64)


def turnaround_of(table: JobTable) -> Values:
    """Return the seconds from submission to the end, NaN for jobs that have not ended."""
    return np.asarray(table.column("ended") - table.column("submitted"), dtype=np.float64)


def slowdown_of(table: JobTable) -> Values:
    """Return the bounded slowdown: turnaround in relation to the run time, of which 10 s count at least."""
    run_times = np.maximum(table.column("run_time"), SLOWDOWN_BOUND)
    return np.asarray(np.maximum(turnaround_of(table) / run_times, 1.0), dtype=np.float64)


def sizes_of(table: JobTable) -> Values:
    """Return the GPUs of each job, or its processors if no job has GPUs."""
    gpus = table.column("gpu")
    each = gpus if gpus.any() else table.column("cpu")
    return np.asarray(each * table.column("pods") / 1000, dtype=np.float64)


def makespan_of(run: SimulationRun) -> float:
    """Return the seconds from the first submission to the last end of a job."""
    ended = run.jobs.column("ended")
    finished = ended[~np.isnan(ended)]
    return float(finished.max() - run.start) if len(finished) else 0.0


def utilisation_of(run: SimulationRun) -> dict[str, float]:
    """Return the fraction of each resource that pods held, from the first submission to the last event."""
    span, used = run.end - run.start, used_of(run)
    capacities = {name: sum(getattr(node, name) for node in run.nodes) for name in used}
    return {
        name: round(float(used[name].sum()) / (capacity * span), 6)
        for name, capacity in capacities.items()
        if capacity and span > 0
    }


def used_of(run: SimulationRun) -> dict[str, Values]:
    """Return what each job used by resource, also in attempts that were interrupted: amounts times seconds."""
    table = run.jobs
    jobs = table.attempt_column("job").astype(np.int64)
    ended = table.attempt_column("ended")
    held = np.where(np.isnan(ended), run.end, ended) - table.attempt_column("started")
    seconds = np.bincount(jobs, held, len(table))
    return {name: np.asarray(table.column(name) * table.column("pods") * seconds, dtype=np.float64) for name in _UNITS}


def groups_of(table: JobTable, name: str) -> Iterator[tuple[str, Selected]]:
    """Yield the values of `queue`, `user` or `group` in order, each with the jobs that have it."""
    codes, texts = table.codes(name)
    for text, number in sorted((text, number) for number, text in enumerate(texts)):
        yield text, codes == number


def size_classes_of(table: JobTable) -> Iterator[tuple[str, Selected]]:
    """Yield the classes of sizes that have jobs: `0`, `1`, `2-4`, ..., `>256`."""
    sizes, low = sizes_of(table), 0.0
    if not sizes.all():
        yield "0", sizes == 0
    for bound in (*SIZE_BOUNDS, np.inf):
        chosen = (sizes > low) & (sizes <= bound)
        if chosen.any():
            yield _class_name(low, bound), chosen
        low = bound


def _class_name(low: float, bound: float) -> str:
    if bound == np.inf:
        return f">{low:g}"
    return f"{bound:g}" if bound == 1 else f"{low + 1:g}-{bound:g}"


def _figures(table: JobTable, used: Mapping[str, Values], chosen: Selected) -> dict[str, Any]:
    outcomes = table.column("outcome")[chosen]
    counts = np.bincount(outcomes, minlength=len(JobOutcome))
    sizes = sizes_of(table)[chosen]
    return {
        "jobs": len(outcomes),
        "outcomes": {each.name.lower(): int(counts[each]) for each in JobOutcome if counts[each]},
        "wait": _statistics(waits_of(table)[chosen]),
        "turnaround": _statistics(turnaround_of(table)[chosen]),
        "slowdown": _statistics(slowdown_of(table)[chosen]),
        "preemptions": int(table.column("preemptions")[chosen].sum()),
        "failures": int(table.column("failures")[chosen].sum()),
        "lostHours": _rounded(float((table.column("lost")[chosen] * sizes).sum()) / 3600),
        "usedHours": {
            name: _rounded(float(seconds[chosen].sum()) / (3600 * _UNITS[name])) for name, seconds in used.items()
        },
    }


def _statistics(values: Values) -> dict[str, float] | None:
    """Return mean, and nearest-rank percentiles; None without values."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return None
    ranks = {"median": 0.5, "p95": 0.95}
    named = {name: _rounded(float(known[max(int(np.ceil(rank * len(known))), 1) - 1])) for name, rank in ranks.items()}
    return {"mean": _rounded(float(known.mean())), **named, "max": _rounded(float(known[-1]))}


def _rounded(value: float) -> float:
    return round(value, 3)
