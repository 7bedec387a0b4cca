"""How long jobs and tasks wait, and how many of them, under the names that Volcano's dashboards ask for."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as PrometheusCounter

from stromboli.core.model.jobs.job import Job
from stromboli.core.session.session import Session
from stromboli.observability.metrics.histograms import MILLISECONDS, TallyHistogram
from stromboli.observability.metrics.series import Labels, PrunedGauge

_OF_JOB = ("job_name", "queue", "job_namespace")


class JobMetrics:
    def __init__(self, registry: CollectorRegistry, most: int) -> None:
        def gauge(name: str, documentation: str, *labels: str) -> Gauge:
            return Gauge(f"volcano_{name}", documentation, labels, registry=registry)

        self.task_latency = TallyHistogram(
            "volcano_task_scheduling_latency_milliseconds",
            "from the creation of a pod until it was decided on (Assumed) and until its binding was written (Bound)",
            "stage", MILLISECONDS, registry,
        )  # fmt: skip
        self._job_latency = TallyHistogram(
            "volcano_e2e_job_scheduling_latency_milliseconds",
            "from the creation of a PodGroup until tasks of it were decided on",
            "queue", MILLISECONDS, registry,
        )  # fmt: skip
        self._duration = PrunedGauge(gauge("e2e_job_scheduling_duration", "milliseconds a job took", *_OF_JOB), most)
        self._start = PrunedGauge(gauge("e2e_job_scheduling_start_time", "created, seconds", *_OF_JOB), most)
        self._last = PrunedGauge(gauge("e2e_job_scheduling_last_time", "last decision, seconds", *_OF_JOB), most)
        self._unscheduled = PrunedGauge(gauge("unschedule_task_count", "tasks of a job that wait", "job_id"), most)
        self._retries = PrunedGauge(gauge("job_retry_counts", "cycles in which a job had to wait", "job_id"), most)
        self._unscheduled_jobs = gauge("unschedule_job_count", "jobs of which tasks wait")
        self._attempts = PrometheusCounter(
            "volcano_schedule_attempts", "pods that a cycle decided on, or could not place",
            ("result",), registry=registry,
        )  # fmt: skip
        #: By key, of the jobs that were decided on last: labels, when created, when decided on.
        self._decided: dict[str, tuple[Labels, float, float]] = {}
        self._waited: Counter[str] = Counter()
        self._most = most

    def show(self, session: Session) -> int:
        """Tell the jobs of a cycle. The answer is how many series there was no room for."""
        self._record_decisions(session)
        return self._update_decided(session) + self._update_waiting(session)

    def _record_decisions(self, session: Session) -> None:
        for statement in session.decisions.binds:
            if not statement:
                continue
            job = session.jobs[statement[0].job]
            for created, tasks in Counter(job.tasks[each.uid].created for each in statement).items():
                self.task_latency.observe("Assumed", _milliseconds(session.now - created), tasks)
            self._job_latency.observe(job.queue, _milliseconds(session.now - job.spec.created))
            self._decided.pop(job.key, None)
            self._decided[job.key] = (_labels(job), job.spec.created, session.now)
            self._attempts.labels("scheduled").inc(len(statement))

    def _update_decided(self, session: Session) -> int:
        """Jobs that are still there; of too many, those that were decided on last."""
        there = [(key, entry) for key, entry in self._decided.items() if key in session.jobs]
        self._decided = dict(there[-self._most :])
        entries = self._decided.values()
        self._duration.show({labels: _milliseconds(last - start) for labels, start, last in entries})
        self._start.show({labels: start for labels, start, _ in entries})
        self._last.show({labels: last for labels, _, last in entries})
        return len(there) - len(self._decided)

    def _update_waiting(self, session: Session) -> int:
        waiting = {key: session.jobs[key].pending_count for key in session.snapshot.waiting}
        waiting = {key: count for key, count in waiting.items() if count}
        self._attempts.labels("unschedulable").inc(sum(waiting.values()))
        self._unscheduled_jobs.set(len(waiting))
        self._waited = Counter({key: self._waited[key] + 1 for key in waiting})
        left_out = self._unscheduled.show({(key,): count for key, count in waiting.items()})
        self._retries.show({(key,): count for key, count in self._waited.items()})
        return left_out


def _labels(job: Job) -> Labels:
    return job.spec.name, job.queue, job.spec.namespace


def _milliseconds(seconds: float) -> float:
    """Never below nothing: clocks of two machines need not agree."""
    return max(seconds, 0.0) * 1000
