"""What the parts of the scheduler count for themselves, shown as metrics now and then."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from stromboli import kube
from stromboli.observability.metrics.scheduler import SchedulerMetrics

if TYPE_CHECKING:
    from stromboli.scheduler.wiring import Components


class GaugeUpdater:
    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics
        self._seen: Counter[tuple[str, str]] = Counter()

    def update(self, scheduler: Components) -> None:
        self._show_work(scheduler)
        self._show_watches(scheduler)
        self._show_requests(scheduler)
        self._metrics.events_dropped(self._news("events", "dropped", scheduler.recorder.dropped))
        if scheduler.shard is not None:
            claims = scheduler.shard.claims
            self._metrics.shard.show(len(claims.usable), len(claims.awaited), len(claims.leaving))
        cluster = scheduler.cluster
        self._metrics.set_cache_objects(
            {
                kube.Pod.kind_name: cluster.count_pods(),
                kube.PodGroup.kind_name: len(cluster.groups),
                kube.KubeNode.kind_name: len(cluster.structure.nodes),
                kube.KubeQueue.kind_name: len(cluster.structure.queues),
                "Quarantined": len(scheduler.mirror.quarantine),
            }
        )

    def _show_work(self, scheduler: Components) -> None:
        work = {
            "bind": scheduler.executor.waiting,
            "evict": scheduler.evictors.waiting,
            "status": scheduler.writer.waiting,
            "resync": scheduler.resync.waiting,
            "heal": scheduler.recovery.open,
        }
        for name, length in work.items():
            self._metrics.set_pending_work(name, length)

    def _show_watches(self, scheduler: Components) -> None:
        reflectors = scheduler.watches.reflectors
        events = Counter({reflector.resource.name: 0 for reflector in reflectors})
        relists, errors = events.copy(), events.copy()
        for reflector in reflectors:  # a resource may be followed in several versions
            events[reflector.resource.name] += reflector.events
            relists[reflector.resource.name] += reflector.relists
            errors[reflector.resource.name] += reflector.errors
        for name in events:
            self._metrics.watch_events(name, self._news(name, "events", events[name]))
            self._metrics.relisted(name, self._news(name, "relists", relists[name]))
            self._metrics.watch_failed(name, self._news(name, "errors", errors[name]))
        now = time.monotonic()
        for reflector in scheduler.watches.required:
            is_up = reflector.synced.is_set() and not reflector.problem
            self._metrics.set_watch(reflector.resource.name, is_up=is_up, silence=now - reflector.last_seen)

    def _show_requests(self, scheduler: Components) -> None:
        for (method, code), number in scheduler.client.answers.items():
            self._metrics.requested(method, code, self._news(method, code, number))

    def _news(self, what: str, aspect: str, total: int) -> int:
        """How much a counter has grown since it was last looked at."""
        grown = total - self._seen[what, aspect]
        self._seen[what, aspect] = total
        return grown
