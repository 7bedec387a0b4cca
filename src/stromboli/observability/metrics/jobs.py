"""Latencies and counts of jobs and tasks, under the names that Volcano's dashboards use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as PrometheusCounter

from stromboli.core.model.jobs.job import Job
from stromboli.core.session.session import Session
from stromboli.observability.metrics.histograms import JOB_BOUNDS, TASK_BOUNDS, TallyHistogram
from stromboli.observability.metrics.series import Labels, PlainCounter, PrunedGauge

_OF_JOB = ("job_name", "queue", "job_namespace")


class JobMetrics:
    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        def gauge(name: str, documentation: str, *labels: str) -> Gauge:
            return Gauge(f"volcano_{name}", documentation, labels, registry=registry)

        self.task_latency = TallyHistogram(
            "volcano_task_scheduling_latency_milliseconds",
            "Time from the creation of a pod to its decision (Assumed) and to its binding (Bound).",
            "stage", TASK_BOUNDS, registry,
        )  # fmt: skip
        self._job_latency = TallyHistogram(
            "volcano_e2e_job_scheduling_latency_milliseconds",
            "Time from the creation of a PodGroup to a decision on its tasks.",
            "", JOB_BOUNDS, registry,
        )  # fmt: skip
        self._queue_latency = TallyHistogram(
            "stromboli_job_scheduling_duration_seconds",
            "Time from the creation of a PodGroup to a decision on its tasks, by queue.",
            "queue", [bound / 1000 for bound in JOB_BOUNDS], registry,
        )  # fmt: skip
        self._duration = PrunedGauge(
            gauge("e2e_job_scheduling_duration", "Scheduling time of a job in milliseconds.", *_OF_JOB), max_series
        )
        self._start = PrunedGauge(
            gauge("e2e_job_scheduling_start_time", "Creation of a job in seconds.", *_OF_JOB), max_series
        )
        self._last = PrunedGauge(
            gauge("e2e_job_scheduling_last_time", "Last decision on a job in seconds.", *_OF_JOB), max_series
        )
        self._unscheduled = PrunedGauge(gauge("unschedule_task_count", "Pending tasks of a job.", "job_id"), max_series)
        self._retries = PlainCounter(
            "volcano_job_retry_counts", "Cycles that left a job pending.", ("job_id",), registry
        )
        self._unscheduled_jobs = gauge("unschedule_job_count", "Jobs with pending tasks.")
        self._attempts = PrometheusCounter(
            "volcano_schedule_attempts", "Pods that a cycle placed or left pending.",
            ("result",), registry=registry,
        )  # fmt: skip
        #: By key, the jobs with the latest decisions: labels, creation, decision.
        self._decided: dict[str, tuple[Labels, float, float]] = {}
        #: By key, the jobs that were last left pending, with the number of cycles that did so.
        self._retried: dict[str, int] = {}
        self._max_series = max_series

    def update(self, session: Session) -> int:
        """Expose the jobs of a cycle; return the number of omitted series."""
        self._record_decisions(session)
        self._queue_latency.keep(session.queues)
        return self._update_decided(session) + self._update_waiting(session)

    def _record_decisions(self, session: Session) -> None:
        for statement in session.decisions.binds:
            if not statement:
                continue
            job = session.jobs[statement[0].job]
            for created, tasks in Counter(job.tasks[each.uid].created for each in statement).items():
                self.task_latency.observe("Assumed", _milliseconds(session.now - created), tasks)
            waited = _milliseconds(session.now - job.spec.created)
            self._job_latency.observe("", waited)
            self._queue_latency.observe(job.queue, waited / 1000)
            self._decided.pop(job.key, None)
            self._decided[job.key] = (_labels(job), job.spec.created, session.now)
            self._attempts.labels("scheduled").inc(len(statement))

    def _update_decided(self, session: Session) -> int:
        """Expose the decided jobs that still exist; beyond the limit, the latest ones."""
        there = [(key, entry) for key, entry in self._decided.items() if key in session.jobs]
        self._decided = dict(there[-self._max_series :])
        entries = self._decided.values()
        self._duration.update({labels: _milliseconds(last - start) for labels, start, last in entries})
        self._start.update({labels: start for labels, start, _ in entries})
        self._last.update({labels: last for labels, _, last in entries})
        return len(there) - len(self._decided)

    def _update_waiting(self, session: Session) -> int:
        waiting = {key: session.jobs[key].pending_count for key in session.snapshot.waiting}
        waiting = {key: count for key, count in waiting.items() if count}
        self._attempts.labels("unschedulable").inc(sum(waiting.values()))
        self._unscheduled_jobs.set(len(waiting))
        self._update_retries(session, waiting)
        return self._unscheduled.update(_by_name(session, waiting))

    def _update_retries(self, session: Session, waiting: Iterable[str]) -> None:
        """Count for the waiting jobs; expose those that still exist, beyond the limit the ones that waited last."""
        for key in waiting:
            self._retried[key] = self._retried.pop(key, 0) + 1
        there = [(key, count) for key, count in self._retried.items() if key in session.jobs]
        self._retried = dict(there[-self._max_series :])
        self._retries.values = _by_name(session, self._retried)


def _by_name(session: Session, counts: Mapping[str, int]) -> dict[Labels, float]:
    """Sum the counts of jobs by the name of their PodGroup, which is Volcano's `job_id`."""
    sums: Counter[Labels] = Counter()
    for key, count in counts.items():
        sums[session.jobs[key].spec.name,] += count
    return dict(sums)


def _labels(job: Job) -> Labels:
    return job.spec.name, job.queue, job.spec.namespace


def _milliseconds(seconds: float) -> float:
    """Convert to milliseconds; never negative, since clocks of machines differ."""
    return max(seconds, 0.0) * 1000
