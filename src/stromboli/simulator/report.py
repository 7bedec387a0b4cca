"""The results of a simulation as plain values for JSON: the keys are stable, and keys may be added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any

from stromboli.simulator.measurements import JobTimeline, SimulationMeasurements, TimelineEntry

#: Number of intervals of the utilisation over time.
PARTS = 24


@dataclass(frozen=True, slots=True)
class Waits:
    """Waiting times of started jobs, in seconds."""

    jobs: int
    mean: float
    median: float
    p95: float
    longest: float

    def as_plain(self) -> dict[str, float]:
        return {"jobs": self.jobs, "mean": self.mean, "median": self.median, "p95": self.p95, "max": self.longest}


def waits_of(records: Iterable[JobTimeline]) -> Waits:
    waited = sorted(record.waited for record in records if record.waited is not None)
    if not waited:
        return Waits(0, 0.0, 0.0, 0.0, 0.0)
    mean = sum(waited) / len(waited)
    return Waits(len(waited), round(mean, 3), _rank(waited, 0.5), _rank(waited, 0.95), waited[-1])


def _rank(ordered: Sequence[float], part: float) -> float:
    """Return the nearest-rank percentile."""
    return ordered[max(ceil(part * len(ordered)), 1) - 1]


def by_queue(records: Iterable[JobTimeline]) -> dict[str, list[JobTimeline]]:
    grouped: dict[str, list[JobTimeline]] = {}
    for record in records:
        grouped.setdefault(record.queue, []).append(record)
    return dict(sorted(grouped.items()))


def report_of(
    measured: SimulationMeasurements, why: Callable[[str], Sequence[str]] = lambda job: (), warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Return all measurements; `why` returns the reasons of a waiting job."""
    records = list(measured.jobs.values())
    used, shares = measured.mean_use(measured.start, measured.end)
    return {
        "start": moment(measured.start),
        "end": moment(measured.end),
        "seconds": measured.end - measured.start,
        "cycles": measured.cycles,
        "waits": waits_of(records).as_plain(),
        "utilisation": {"mean": _rounded(used), "overTime": _over_time(measured)},
        "queues": _queues(records, shares, measured.used_hours()),
        "jobs": {record.key: _job(record, why) for record in records},
        "timeline": [
            {"time": moment(each.moment), "what": each.what, "job": each.job, "pods": each.pods}
            for each in in_order(measured.timeline)
        ],
        "warnings": list(warnings),
    }


def in_order(timeline: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """Sort by time; simultaneous entries keep their order."""
    return sorted(timeline, key=lambda entry: entry.moment)


def _queues(
    records: Sequence[JobTimeline], shares: Mapping[str, Mapping[str, float]], hours: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    grouped = by_queue(records)
    return {
        name: {
            "waits": waits_of(grouped.get(name, ())).as_plain(),
            "waiting": sum(1 for record in grouped.get(name, ()) if record.started is None),
            "share": _rounded(shares.get(name, {})),
            "usedHours": _rounded(hours.get(name, {})),
        }
        for name in sorted({*grouped, *shares})
    }


def _job(record: JobTimeline, why: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    return {
        "queue": record.queue,
        "minMember": record.minimum,
        "pods": record.pods,
        "arrived": moment(record.arrived),
        "started": moment(record.started),
        "ended": moment(record.ended),
        "reserved": moment(record.reserved),
        "waited": record.waited,
        "evictions": record.evictions,
        "lost": record.lost,
        "reasons": list(why(record.key)) if record.started is None else [],
    }


def _over_time(measured: SimulationMeasurements) -> list[dict[str, Any]]:
    length = (measured.end - measured.start) / PARTS
    begins = [measured.start + number * length for number in range(PARTS if length > 0 else 0)]
    parts = []
    for begin in begins:
        used, shares = measured.mean_use(begin, begin + length)
        queues = {name: _rounded(share) for name, share in sorted(shares.items())}
        parts.append({"from": moment(begin), "used": _rounded(used), "queues": queues})
    return parts


def _rounded(parts: Mapping[str, float]) -> dict[str, float]:
    return {name: round(part, 4) for name, part in parts.items()}


def moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z").replace(".000Z", "Z")
