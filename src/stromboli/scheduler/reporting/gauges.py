"""Copies the counts of the scheduler's components into metrics, once per iteration of the loop."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from stromboli import kube
from stromboli.observability.metrics.scheduler import SchedulerMetrics

if TYPE_CHECKING:
    from stromboli.history.writer import HistoryWriter
    from stromboli.scheduler.wiring import Components


class GaugeUpdater:
    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics
        self._seen: Counter[tuple[str, str]] = Counter()

    def update(self, scheduler: Components) -> None:
        self._update_work(scheduler)
        self._update_watches(scheduler)
        self._update_requests(scheduler)
        self._metrics.events_dropped(self._growth("events", "dropped", scheduler.recorder.dropped))
        if scheduler.history is not None:
            self._update_history(scheduler.history.writer)
        if scheduler.shard is not None:
            claims = scheduler.shard.claims
            self._metrics.set_shard_nodes(len(claims.usable), len(claims.awaited), len(claims.leaving))
        cluster = scheduler.cluster
        self._metrics.set_cache_objects(
            {
                kube.Pod.kind_name: len(cluster.pods),
                kube.PodGroup.kind_name: len(cluster.groups),
                kube.KubeNode.kind_name: len(cluster.nodes.entries),
                kube.KubeQueue.kind_name: len(cluster.queues.entries),
                "Quarantined": len(scheduler.ingest.quarantine),
            }
        )

    def _update_work(self, scheduler: Components) -> None:
        work = {
            "bind": scheduler.executor.waiting,
            "evict": scheduler.evictors.waiting,
            "status": scheduler.writer.waiting,
            "resync": scheduler.resync.waiting,
            "recovery": scheduler.recovery.open,
        }
        for name, length in work.items():
            self._metrics.set_pending_work(name, length)

    def _update_watches(self, scheduler: Components) -> None:
        reflectors = scheduler.watches.reflectors
        events = Counter({reflector.resource.name: 0 for reflector in reflectors})
        relists, errors = events.copy(), events.copy()
        for reflector in reflectors:  # a resource may be watched in several versions
            events[reflector.resource.name] += reflector.events
            relists[reflector.resource.name] += reflector.relists
            errors[reflector.resource.name] += reflector.errors
        for name in events:
            self._metrics.watch_events(name, self._growth(name, "events", events[name]))
            self._metrics.relisted(name, self._growth(name, "relists", relists[name]))
            self._metrics.watch_failed(name, self._growth(name, "errors", errors[name]))
        now = time.monotonic()
        for reflector in scheduler.watches.required:
            is_up = reflector.synced.is_set() and not reflector.problem
            self._metrics.set_watch_up(reflector.resource.name, is_up)
            self._metrics.set_watch_staleness(reflector.resource.name, now - reflector.last_seen)

    def _update_history(self, writer: HistoryWriter) -> None:
        self._metrics.set_pending_work("history", writer.waiting)
        self._metrics.history_recorded("written", self._growth("history", "written", writer.written))
        self._metrics.history_recorded("dropped", self._growth("history", "dropped", writer.dropped))
        self._metrics.set_history(is_up=not writer.problem, size=writer.size)

    def _update_requests(self, scheduler: Components) -> None:
        for (method, code), number in scheduler.client.answers.items():
            self._metrics.api_requested(method, code, self._growth(method, code, number))

    def _growth(self, what: str, aspect: str, total: int) -> int:
        """Return how much a counter has grown since the last update."""
        grown = total - self._seen[what, aspect]
        self._seen[what, aspect] = total
        return grown
