"""What came out of a simulation, as plain values: the keys are a contract, more may be added beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any

from stromboli.simulator.measurements import JobTimeline, Measurements, TimelineEntry

#: Into so many parts the time is divided for what was in use when.
PARTS = 24


@dataclass(frozen=True, slots=True)
class Waits:
    """How long jobs waited, in seconds, of those that started."""

    jobs: int
    mean: float
    median: float
    p95: float
    longest: float

    def as_plain(self) -> dict[str, float]:
        return {"jobs": self.jobs, "mean": self.mean, "median": self.median, "p95": self.p95, "max": self.longest}


def waits_of(stories: Iterable[JobTimeline]) -> Waits:
    waited = sorted(story.waited for story in stories if story.waited is not None)
    if not waited:
        return Waits(0, 0.0, 0.0, 0.0, 0.0)
    mean = sum(waited) / len(waited)
    return Waits(len(waited), round(mean, 3), _rank(waited, 0.5), _rank(waited, 0.95), waited[-1])


def _rank(ordered: Sequence[float], part: float) -> float:
    """The value that so large a part of all values does not exceed."""
    return ordered[max(ceil(part * len(ordered)), 1) - 1]


def by_queue(stories: Iterable[JobTimeline]) -> dict[str, list[JobTimeline]]:
    grouped: dict[str, list[JobTimeline]] = {}
    for story in stories:
        grouped.setdefault(story.queue, []).append(story)
    return dict(sorted(grouped.items()))


def report_of(
    measured: Measurements, why: Callable[[str], Sequence[str]] = lambda job: (), warnings: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything that was measured; `why` says why a job waits."""
    stories = list(measured.jobs.values())
    used, shares = measured.mean_use(measured.start, measured.end)
    return {
        "start": moment(measured.start),
        "end": moment(measured.end),
        "seconds": measured.end - measured.start,
        "cycles": measured.cycles,
        "waits": waits_of(stories).as_plain(),
        "utilisation": {"mean": _rounded(used), "overTime": _over_time(measured)},
        "queues": _queues(stories, shares),
        "jobs": {story.key: _job(story, why) for story in stories},
        "timeline": [_line(happened) for happened in in_order(measured.timeline)],
        "warnings": list(warnings),
    }


def in_order(timeline: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """By time; what happens at the same time as it was noted."""
    return sorted(timeline, key=lambda happened: happened.moment)


def _queues(stories: Sequence[JobTimeline], shares: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    grouped = by_queue(stories)
    return {
        name: {
            "waits": waits_of(grouped.get(name, ())).as_plain(),
            "waiting": sum(1 for story in grouped.get(name, ()) if story.started is None),
            "share": _rounded(shares.get(name, {})),
        }
        for name in sorted({*grouped, *shares})
    }


def _job(story: JobTimeline, why: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    return {
        "queue": story.queue,
        "minMember": story.minimum,
        "pods": story.pods,
        "arrived": moment(story.arrived),
        "started": moment(story.started),
        "ended": moment(story.ended),
        "promised": moment(story.promised),
        "waited": story.waited,
        "evictions": story.evictions,
        "lost": story.lost,
        "reasons": list(why(story.key)) if story.started is None else [],
    }


def _line(happened: TimelineEntry) -> dict[str, Any]:
    return {"time": moment(happened.moment), "what": happened.what, "job": happened.job, "pods": happened.pods}


def _over_time(measured: Measurements) -> list[dict[str, Any]]:
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
