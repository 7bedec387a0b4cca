"""What happened to a job, in order: derived from its pods. Equal events of one second are one event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stromboli.history.query import JobHistory, PodHistory


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    moment: float
    #: submitted, started, succeeded, failed, evicted, deleted or lost.
    what: str
    details: str
    pods: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


def events_of(job: JobHistory, pods: Sequence[PodHistory]) -> list[HistoryEvent]:
    """Return the events of a job with these attempts, oldest first."""
    grouped: dict[tuple[int, int, str, str], list[tuple[float, PodHistory]]] = {}
    for moment, rank, what, details, pod in _single_events(pods):
        grouped.setdefault((int(moment), rank, what, details), []).append((moment, pod))
    events = [HistoryEvent(job.submitted, "submitted", _submission(job))]
    for (_, _, what, details), members in sorted(grouped.items(), key=lambda item: item[0]):
        names = tuple(sorted(pod.name for _, pod in members))
        nodes = tuple(sorted({pod.node for _, pod in members if pod.node}))
        events.append(HistoryEvent(min(moment for moment, _ in members), what, details, names, nodes))
    return events


def _submission(job: JobHistory) -> str:
    return f"to queue {job.queue}" + (f" by {job.user}" if job.user else "")


def _single_events(pods: Iterable[PodHistory]) -> Iterator[tuple[float, int, str, str, PodHistory]]:
    """Return moment, rank within a second, name and details of the events of each pod."""
    for pod in pods:
        if pod.started is not None:
            yield pod.started, 2, "started", "", pod
        if pod.evicted is not None:
            favour = f", in favour of {pod.preemptor}" if pod.preemptor else ""
            yield pod.evicted, 1, "evicted", f"{pod.reason or 'unknown reason'}{favour}", pod
        elif pod.ended is not None:
            what = {"Succeeded": "succeeded", "Failed": "failed", "Unknown": "lost"}.get(pod.outcome or "", "deleted")
            details = "ended while no scheduler recorded" if what == "lost" else pod.cause or ""
            yield pod.ended, 0, what, details, pod
