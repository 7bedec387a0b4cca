"""The compared figures: where each is in the statistics of a run, its unit, and what of it is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SECONDS, RATIO, FRACTION, COUNT, HOURS = "s", "ratio", "fraction", "count", "hours"
LOWER, HIGHER = -1, 1


@dataclass(frozen=True, slots=True)
class Metric:
    path: tuple[str, ...]
    title: str
    unit: str
    #: Whether lower or higher values are better; 0 for neither.
    better: int

    @property
    def key(self) -> str:
        return ".".join(self.path)

    def of(self, statistics: Mapping[str, Any]) -> float | None:
        value: Any = statistics
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value if isinstance(value, int | float) else None


def _durations(name: str, title: str, *keys: str) -> Iterator[Metric]:
    for key in keys:
        yield Metric((name, key), f"{key} {title}", SECONDS, LOWER)


#: The figures of all jobs, and those that groups of jobs have, too.
GROUP_METRICS = (
    Metric(("jobs",), "jobs", COUNT, 0),
    *_durations("wait", "wait", "mean", "median", "p95", "max"),
    Metric(("turnaround", "mean"), "mean turnaround", SECONDS, LOWER),
    Metric(("slowdown", "mean"), "mean bounded slowdown", RATIO, LOWER),
    Metric(("slowdown", "p95"), "p95 bounded slowdown", RATIO, LOWER),
    Metric(("preemptions",), "preemptions", COUNT, LOWER),
    Metric(("lostHours",), "lost hours", HOURS, LOWER),
)
METRICS = (
    *GROUP_METRICS,
    Metric(("failures",), "failures", COUNT, LOWER),
    Metric(("makespan",), "makespan", SECONDS, LOWER),
    Metric(("utilisation", "cpu"), "cpu utilisation", FRACTION, HIGHER),
    Metric(("utilisation", "memory"), "memory utilisation", FRACTION, HIGHER),
    Metric(("utilisation", "gpu"), "GPU utilisation", FRACTION, HIGHER),
    Metric(("allocation", "whileWaiting"), "allocation while jobs wait", FRACTION, HIGHER),
    Metric(("fragmentation", "mean"), "GPU fragmentation", FRACTION, LOWER),
    Metric(("fragmentation", "whileWaiting"), "GPU fragmentation while jobs wait", FRACTION, LOWER),
    Metric(("waitingJobs", "mean"), "mean waiting jobs", COUNT, LOWER),
    Metric(("fairness", "jainQueues"), "Jain index of queues", RATIO, HIGHER),
    Metric(("fairness", "jainUsers"), "Jain index of users", RATIO, HIGHER),
    Metric(("fairness", "deviation"), "deviation from deserved", FRACTION, LOWER),
)


def values_of(metric: Metric, runs: Sequence[Mapping[str, Any]]) -> list[float] | None:
    """Return the values of all runs; None if one does not have it."""
    values = [value for run in runs if (value := metric.of(run)) is not None]
    return values if values and len(values) == len(runs) else None
