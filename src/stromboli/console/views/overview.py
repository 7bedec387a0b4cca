"""The state of the cluster in numbers, now and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from stromboli.console.cache.series import STEP_SECONDS, FigureSeries
from stromboli.console.documents.overview import (
    ConsoleAlarm,
    ConsoleOverview,
    ResourceTotal,
    TimeSeries,
    WaitingReason,
)
from stromboli.console.views.view import PersonView

_MAX_REASONS = 50


def overview_of(view: PersonView, now: float, alarms: list[ConsoleAlarm]) -> ConsoleOverview:
    """Return the state of the cluster."""
    frame = view.frame
    waiting = [row.entry for row in frame.rows.values() if row.entry.waits]
    oldest = min((entry.created for entry in waiting if entry.created), default=now)
    ready = sum(status == "Ready" for status in frame.nodes.statuses) if frame.nodes else 0
    return ConsoleOverview(
        instance=view.instance,
        version=frame.version,
        time=now,
        resources=_resources(view),
        nodes=len(frame.nodes.names) if frame.nodes else 0,
        nodes_ready=ready,
        waiting=frame.counts.get("waiting", 0),
        running=frame.counts.get("running", 0),
        completed=frame.counts.get("completed", 0),
        waiting_pods=frame.waiting_pods,
        longest_wait=max(now - oldest, 0.0),
        reasons=_reasons(view),
        alarms=alarms,
    )


def _resources(view: PersonView) -> list[ResourceTotal]:
    nodes = view.frame.nodes
    if nodes is None:
        return []
    free = {name: np.maximum(column - nodes.used[name], 0.0) for name, column in nodes.capacity.items()}
    return [
        ResourceTotal(
            resource=name,
            capacity=float(column.sum()),
            used=float(nodes.used[name].sum()),
            free=float(free[name].sum()),
            reserved=float(nodes.reserved[name].sum()) if name in nodes.reserved else 0.0,
            fragmented=float(free[name][nodes.fragmented].sum()),
        )
        for name, column in nodes.capacity.items()
    ]


def _reasons(view: PersonView) -> list[WaitingReason]:
    counts = Counter(row.entry.reason for _, row in view.rows() if row.entry.waits and row.entry.reason)
    shown: Counter[str] = Counter()
    for reason, count in counts.items():
        shown[view.text(reason)] += count
    return [WaitingReason(reason=reason, jobs=count) for reason, count in shown.most_common(_MAX_REASONS)]


def series_of(view: PersonView, series: FigureSeries, since: float) -> TimeSeries:
    """Return the kept points since a time."""
    points = [point for point in series.points if point.time >= since]
    resources = _ordered(point.utilisation for point in points)
    queues = [name for name in _ordered(point.shares for point in points) if name in view.queues]
    return TimeSeries(
        times=[point.time for point in points],
        utilisation={name: [point.utilisation.get(name) for point in points] for name in resources},
        waiting=[point.waiting for point in points],
        running=[point.running for point in points],
        queues={name: [point.shares.get(name) for point in points] for name in queues},
        step=STEP_SECONDS,
    )


def _ordered(groups: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))
