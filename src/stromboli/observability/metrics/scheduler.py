"""The numbers of the process, in a registry of their own.

Whoever does something tells it here in one call. Nothing here may fail a cycle or grow without limit: series of
queues and jobs go with their subjects, and what there is no room for is counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from stromboli import __version__
from stromboli.core.session.session import Session
from stromboli.observability.metrics.cycles import CycleMetrics, CycleSeconds
from stromboli.observability.metrics.histograms import MILLISECONDS, SECONDS, TallyHistogram
from stromboli.observability.metrics.jobs import JobMetrics
from stromboli.observability.metrics.queues import QueueMetrics
from stromboli.observability.metrics.shards import ShardMetrics
from stromboli.observability.metrics.waiting import WaitingMetrics

__all__ = ["CycleSeconds", "SchedulerMetrics"]

#: The most series of one name about queues or jobs.
MAX_SERIES_PER_METRIC = 1000


class SchedulerMetrics:
    """All metrics of a scheduler. Safe to read from another thread."""

    def __init__(self, *, max_series: int = MAX_SERIES_PER_METRIC) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._cycle = CycleMetrics(self.registry)
        self._queues = QueueMetrics(self.registry, max_series)
        self._jobs = JobMetrics(self.registry, max_series)
        self._waiting = WaitingMetrics(self.registry, max_series)
        self.shard = ShardMetrics(self.registry)
        self._series_left_out = self._gauge("metric_series_left_out", "series of queues and jobs without room")
        self._bind_seconds = TallyHistogram(
            "stromboli_bind_duration_seconds", "a binding, from decision to answer", "result", SECONDS, self.registry
        )
        self._stage_ms = TallyHistogram(
            "volcano_scheduling_stage_duration_milliseconds", "a stage of a pod's way to its node", "stage",
            MILLISECONDS, self.registry,
        )  # fmt: skip
        self._binds = self._counter("binds", "pods by how their binding ended", "result")
        self._requests_created = self._counter("bind_requests_created", "bind requests that were written")
        self._requests_ended = self._counter("bind_requests_ended", "bind requests by how they ended", "result")
        self._requests_open = self._gauge("bind_requests_open", "bind requests of this scheduler that have no end yet")
        self._evictions = self._counter("evictions", "pods by how their eviction ended", "result")
        self._watch_events = self._counter("watch_events", "events of watches", "resource")
        self._relists = self._counter("relists", "lists that replaced a watch", "resource")
        self._watch_errors = self._counter("watch_errors", "watches that ended with an error", "resource")
        self._watch_up = self._gauge("watch_up", "whether a watch is up to date: 1 or 0", "resource")
        self._watch_silence = self._gauge("watch_silence_seconds", "since a watch was last heard of", "resource")
        self._requests = self._counter("api_requests", "requests to the API server by its answer", "method", "code")
        self._unreadable = self._counter("unreadable_objects", "objects that could not be decoded", "resource")
        self._work = self._gauge("work_pending", "entries that wait to be worked on", "work")
        self._resyncs = self._counter("resyncs", "objects read again from the server, by reason", "reason")
        self._clean_ups = self._counter("clean_ups", "leftovers removed, by kind", "kind")
        self._audits = self._counter("audits", "audits of the cache", "kind")
        self._audit_differences = self._counter("audit_differences", "differences that audits found", "kind")
        self._audit_seconds = Histogram(
            "stromboli_audit_duration_seconds", "an audit of the cache", ("kind",), buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._cache_objects = self._gauge("cache_objects", "objects in the cache", "kind")
        self._leader = self._gauge("leader", "whether this process leads: 1 or 0")
        self._reloads = self._counter("configuration_reloads", "reloads of the configuration", "result")
        self._refused = self._gauge("configuration_refused", "whether the file cannot be used as it is: 1 or 0")
        self._dropped_events = self._counter("events_dropped", "events that were not written")
        self._gauge("build", "the version that runs, always 1", "version").labels(__version__).set(1)
        self._initialize_labels()

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"stromboli_{name}", documentation, labels, registry=self.registry)

    def _initialize_labels(self) -> None:
        """Alerts watch counters grow: one that appears only with its first case hides that case from them."""
        for counter, values in (
            (self._binds, ("bound", "refused", "unknown", "dropped")),
            (self._requests_ended, ("succeeded", "failed", "withdrawn")),
            (self._evictions, ("done", "impossible", "unknown", "dropped")),
            (self._resyncs, ("bind", "evict")),
            (self._clean_ups, ("job", "pod", "class", "cluster")),
            (self._reloads, ("accepted", "refused")),
        ):
            for value in values:
                counter.labels(value)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(f"stromboli_{name}", documentation, labels, registry=self.registry)

    # -- cycles -------------------------------------------------------------------------------------------------

    def observe_cycle(self, session: Session, spent: CycleSeconds) -> None:
        """A session has run and was closed."""
        self._cycle.observe(session, spent)
        self._series_left_out.set(sum(kind.show(session) for kind in (self._queues, self._jobs, self._waiting)))

    def cycle_failed(self, reason: str) -> None:
        """A cycle came to no end: `plugin`, `books`, `error`."""
        self._cycle.failed(reason)

    # -- what becomes of decisions ------------------------------------------------------------------------------

    def bind_finished(self, result: str, seconds: float, *, waited: float, pods: int = 1) -> None:
        """Pods were bound, or not (`bound`, `refused`, `unknown`, ...), `waited` seconds after they were created."""
        self._binds.labels(result).inc(pods)
        self._bind_seconds.observe(result, seconds, pods)
        if result == "bound":
            self._stage_ms.observe("Bind", seconds * 1000, pods)
            self._jobs.task_latency.observe("Bound", max(waited, 0.0) * 1000, pods)

    def requests_written(self, number: int) -> None:
        self._requests_created.inc(number)

    def request_ended(self, result: str) -> None:
        """A bind request `succeeded`, `failed`, or was `withdrawn`: nobody carried it out."""
        self._requests_ended.labels(result).inc()

    def set_open_requests(self, number: int) -> None:
        self._requests_open.set(number)

    def eviction_finished(self, result: str) -> None:
        self._evictions.labels(result).inc()

    def events_dropped(self, number: int) -> None:
        self._dropped_events.inc(number)

    # -- the cache and its sources ------------------------------------------------------------------------------

    def watch_events(self, resource: str, number: int) -> None:
        self._watch_events.labels(resource).inc(number)

    def relisted(self, resource: str, number: int) -> None:
        self._relists.labels(resource).inc(number)

    def watch_failed(self, resource: str, number: int) -> None:
        self._watch_errors.labels(resource).inc(number)

    def set_watch(self, resource: str, *, is_up: bool, silence: float) -> None:
        """Whether a watch is up to date, and for how many seconds nothing was heard of it."""
        self._watch_up.labels(resource).set(is_up)
        self._watch_silence.labels(resource).set(silence)

    def requested(self, method: str, code: str, number: int) -> None:
        """The API server was asked so many times and answered with this code; `none` for no answer."""
        self._requests.labels(method, code).inc(number)

    def unreadable(self, resource: str) -> None:
        self._unreadable.labels(resource).inc()

    def resynced(self, reason: str) -> None:
        self._resyncs.labels(reason).inc()

    def cleaned_up(self, kind: str, number: int = 1) -> None:
        self._clean_ups.labels(kind).inc(number)

    def audited(self, kind: str, seconds: float, differences: int) -> None:
        """The cache was audited: `sample`, `full` or `comparison`."""
        self._audits.labels(kind).inc()
        self._audit_differences.labels(kind).inc(differences)
        self._audit_seconds.labels(kind).observe(seconds)

    def set_cache_objects(self, numbers: Mapping[str, int]) -> None:
        for kind, number in numbers.items():
            self._cache_objects.labels(kind).set(number)

    # -- the process --------------------------------------------------------------------------------------------

    def set_pending_work(self, work: str, length: int) -> None:
        """How much waits to be done: `bind`, `evict`, `status`, `event`, ..."""
        self._work.labels(work).set(length)

    def set_leader(self, leads: bool) -> None:
        self._leader.set(leads)

    def configuration_loaded(self, result: str) -> None:
        """The configuration was read again: `accepted` or `refused`."""
        self._reloads.labels(result).inc()
        self._refused.set(result == "refused")

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The text that a Prometheus server reads, and its content type, in the form it accepts."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
