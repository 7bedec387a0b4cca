"""The metrics of a scheduler.

Nothing here may fail a cycle or grow without limit: series of queues and jobs are removed with their subjects, and
series beyond the limit are omitted and counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.core.session.session import Session
from stromboli.observability.metrics.cycles import CycleMetrics, CycleSeconds
from stromboli.observability.metrics.forecasts import ForecastMetrics
from stromboli.observability.metrics.histograms import STAGE_BOUNDS, TallyHistogram
from stromboli.observability.metrics.jobs import JobMetrics
from stromboli.observability.metrics.past_usage import PastUsageMetrics
from stromboli.observability.metrics.process import ProcessMetrics
from stromboli.observability.metrics.queues import QueueMetrics
from stromboli.observability.metrics.shares import ShareMetrics
from stromboli.observability.metrics.waiting import PendingMetrics

__all__ = ["CycleSeconds", "SchedulerMetrics"]

#: The most series of one name about queues or jobs.
MAX_SERIES_PER_METRIC = 1000
#: The states of a shard's nodes: usable, claimed by others, about to be released.
SHARD_STATES = ("in_use", "awaited", "leaving")


class SchedulerMetrics(ProcessMetrics):
    """All metrics of a scheduler."""

    def __init__(self, *, max_series: int = MAX_SERIES_PER_METRIC) -> None:
        super().__init__()
        self._define_watching()
        self._cycle = CycleMetrics(self.registry)
        self._queues = QueueMetrics(self.registry, max_series)
        self._jobs = JobMetrics(self.registry, max_series)
        self._pending = PendingMetrics(self.registry, max_series)
        self._shares = ShareMetrics(self.registry, max_series)
        self._past_usage = PastUsageMetrics(self.registry, max_series)
        self._series_omitted = self._gauge("metric_series_omitted", "Series of queues and jobs beyond the limit.")
        self._define_decisions()
        self._define_cache()
        self._shard_nodes = self._gauge("shard_nodes", "Nodes of this scheduler's shard, by state.", "state")
        self._reloads = self._counter("configuration_reloads", "Reloads of the configuration, by result.", "result")
        self._invalid = self._gauge("configuration_invalid", "1 while the configuration file is invalid, else 0.")
        self._warnings = self._gauge("configuration_warnings", "Warnings of the active configuration.")
        self._dropped_events = self._counter("events_dropped", "Events that were not written.")
        self._set_aside = self._counter("job_set_asides", "Jobs set aside because they took too much time.", "cause")
        self._jobs_set_aside = self._gauge("jobs_set_aside", "Jobs that are set aside now.")
        self._overcommitted = self._gauge("overcommitted_nodes", "Nodes whose pods request more than they offer.")
        self.forecasts = ForecastMetrics(self.registry, max_series)
        self._history_up = self._gauge("history_up", "1 while the history is written, else 0.")
        self._history_bytes = self._gauge("history_bytes", "Bytes in use by the history.")
        self._history_records = self._counter("history_records", "Records of the history, by result.", "result")
        self._initialize(self._history_records, "written", "dropped")
        self._initialize(self._set_aside, "job", "cycle", "stuck")
        self._initialize(self._reloads, "accepted", "rejected")
        self.set_shard_nodes(0, 0, 0)

    def _define_decisions(self) -> None:
        self._binds = self._counter("binds", "Pods by the result of their binding.", "result")
        self._bind_seconds = self._tally(
            "bind_duration", "Time from the decision to the result of a binding.", "result"
        )
        self._stage_ms = TallyHistogram(
            "volcano_scheduling_stage_duration_milliseconds", "Time of a stage of scheduling a pod.", "stage",
            STAGE_BOUNDS, self.registry,
        )  # fmt: skip
        self._requests_created = self._counter("bind_requests_created", "Bind requests written.")
        self._requests_finished = self._counter("bind_requests_finished", "Bind requests, by result.", "result")
        self._requests_pending = self._gauge(
            "bind_requests_pending", "This scheduler's bind requests without a result."
        )
        self._evictions = self._counter("evictions", "Pods by the result of their eviction.", "result")
        self._resyncs = self._counter("pod_resyncs", "Pods read again because a call's outcome is unknown.", "reason")
        self._initialize(self._binds, "bound", "rejected", "unknown", "dropped")
        self._initialize(self._requests_finished, "succeeded", "failed", "withdrawn")
        self._initialize(self._evictions, "done", "impossible", "unknown", "dropped")
        self._initialize(self._resyncs, "bind", "evict")

    def _define_cache(self) -> None:
        self._watch_events = self._counter("watch_events", "Events received by watches.", "resource")
        self._relists = self._counter("watch_relists", "Lists that replaced a watch.", "resource")
        self._watch_errors = self._counter("watch_errors", "Watches that ended with an error.", "resource")
        self._staleness = self._gauge("watch_staleness_seconds", "Time since the last message of a watch.", "resource")
        self._requests = self._counter(
            "api_requests", "Requests to the API server, by response code.", "method", "code"
        )
        self._cleanups = self._counter("cache_cleanups", "Records of removed objects that were dropped.", "kind")
        self._audits = self._counter("cache_audits", "Audits of the cache.", "kind")
        self._differences = self._counter("cache_audit_differences", "Differences found by audits.", "kind")
        self._audit_seconds = self._seconds("cache_audit_duration", "Time of an audit of the cache.", "kind")
        self._cache_objects = self._gauge("cache_objects", "Objects in the cache.", "kind")
        self._initialize(self._cleanups, "job", "pod", "class", "cluster")

    # -- cycles -------------------------------------------------------------------------------------------------

    def observe_cycle(self, session: Session, spent: CycleSeconds) -> None:
        """Record a session that has run and was closed."""
        self._cycle.observe(session, spent)
        kinds = (self._queues, self._jobs, self._pending, self._shares, self._past_usage)
        self._series_omitted.set(sum(kind.update(session) for kind in kinds))

    def cycle_failed(self, reason: str) -> None:
        """Record an aborted cycle: `plugin`, `accounting`, `error`."""
        self._cycle.failed(reason)

    def job_set_aside(self, cause: str) -> None:
        """Record a job beyond the budget of a `job` or of its `cycle`, or at which the loop was `stuck`."""
        self._set_aside.labels(cause).inc()

    def set_overcommitted_nodes(self, number: int) -> None:
        self._overcommitted.set(number)

    def set_jobs_set_aside(self, number: int) -> None:
        self._jobs_set_aside.set(number)

    # -- decisions ----------------------------------------------------------------------------------------------

    def bind_finished(self, result: str, seconds: float, *, waited: float, pods: int = 1) -> None:
        """Record binds (`bound`, `rejected`, `unknown`, ...), `waited` seconds after the pods were created."""
        self._binds.labels(result).inc(pods)
        self._bind_seconds.observe(result, seconds, pods)
        if result == "bound":
            self._stage_ms.observe("Bind", seconds * 1000, pods)
            self._jobs.task_latency.observe("Bound", max(waited, 0.0) * 1000, pods)

    def requests_written(self, number: int) -> None:
        self._requests_created.inc(number)

    def request_ended(self, result: str) -> None:
        """Record a bind request that `succeeded`, `failed`, or was `withdrawn` because no binder handled it."""
        self._requests_finished.labels(result).inc()

    def set_open_requests(self, number: int) -> None:
        self._requests_pending.set(number)

    def eviction_finished(self, result: str) -> None:
        self._evictions.labels(result).inc()

    def resynced(self, reason: str) -> None:
        self._resyncs.labels(reason).inc()

    def events_dropped(self, number: int) -> None:
        self._dropped_events.inc(number)

    def set_shard_nodes(self, in_use: int, awaited: int, leaving: int) -> None:
        for state, number in zip(SHARD_STATES, (in_use, awaited, leaving), strict=True):
            self._shard_nodes.labels(state).set(number)

    def history_recorded(self, result: str, number: int) -> None:
        """Record records that were `written` to the history, or `dropped` because too many waited."""
        self._history_records.labels(result).inc(number)

    def set_history(self, *, is_up: bool, size: int) -> None:
        self._history_up.set(is_up)
        self._history_bytes.set(size)

    # -- the cache and its watches ------------------------------------------------------------------------------

    def watch_events(self, resource: str, number: int) -> None:
        self._watch_events.labels(resource).inc(number)

    def relisted(self, resource: str, number: int) -> None:
        self._relists.labels(resource).inc(number)

    def watch_failed(self, resource: str, number: int) -> None:
        self._watch_errors.labels(resource).inc(number)

    def set_watch_staleness(self, resource: str, seconds: float) -> None:
        self._staleness.labels(resource).set(seconds)

    def api_requested(self, method: str, code: str, number: int) -> None:
        """Record requests to the API server by response code; `none` without a response."""
        self._requests.labels(method, code).inc(number)

    def cleaned_up(self, kind: str, number: int = 1) -> None:
        self._cleanups.labels(kind).inc(number)

    def audited(self, kind: str, seconds: float, differences: int) -> None:
        """Record an audit of the cache: `sample`, `full` or `comparison`."""
        self._audits.labels(kind).inc()
        self._differences.labels(kind).inc(differences)
        self._audit_seconds.labels(kind).observe(seconds)

    def set_cache_objects(self, numbers: Mapping[str, int]) -> None:
        for kind, number in numbers.items():
            self._cache_objects.labels(kind).set(number)

    def configuration_loaded(self, result: str, warnings: int) -> None:
        """Record a reload of the configuration, `accepted` or `rejected`, and the warnings of the active one."""
        self._reloads.labels(result).inc()
        self._warnings.set(warnings)
        self._invalid.set(result == "rejected")
