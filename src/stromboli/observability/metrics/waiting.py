"""Pending jobs by queue and reason, and how long they have waited."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session
from stromboli.observability.metrics.series import Labels, PrunedGauge


class PendingMetrics:
    def __init__(self, registry: CollectorRegistry, max_series: int) -> None:
        def pruned(name: str, documentation: str, *labels: str) -> PrunedGauge:
            return PrunedGauge(Gauge(f"stromboli_{name}", documentation, labels, registry=registry), max_series)

        self._jobs = pruned("pending_jobs", "Pending jobs by queue and reason code.", "queue", "reason")
        self._longest = pruned("longest_pending_seconds", "How long the oldest pending job has waited.", "queue")
        #: By key, since when a job is pending: the creation of its oldest task without a node, or its own.
        self._since: dict[str, float] = {}

    def update(self, session: Session) -> int:
        """Expose the jobs that a cycle left pending; return the number of omitted series."""
        waiting = [job for key in session.snapshot.waiting if _waits(session, job := session.jobs[key])]
        self._since = {job.key: self._since.get(job.key) or _since(session, job) for job in waiting}
        causes: Counter[Labels] = Counter((job.queue, _cause(session, job)) for job in waiting)
        longest: dict[Labels, float] = {}
        for job in waiting:
            seconds = max(session.now - self._since[job.key], 0.0)
            longest[job.queue,] = max(longest.get((job.queue,), 0.0), seconds)
        return self._jobs.update(causes) + self._longest.update(longest)


def _waits(session: Session, job: Job) -> bool:
    """Report whether the job has pending tasks, or has none yet."""
    return bool(job.pending_count) or session.statuses[job.key].waits


def _cause(session: Session, job: Job) -> str:
    """Return the reason code of a pending job: that of a request that cannot be satisfied, else that of its first
    unplaced class, else that of the job.

    NoPods counts only when it is the sole reason: pods are created when the job is admitted.
    """
    impossible = session.impossible.find(job)
    if impossible is not None:
        return impossible.code.value
    refusal = session.refusals.get(job.key)
    if refusal is not None and refusal.tasks:
        return _code_of(next(iter(refusal.tasks.values()))).value
    codes = [reason.code for reason in session.statuses[job.key].reasons]
    real = [code for code in codes if code is not Code.NO_PODS or len(codes) == 1]
    return real[0].value if real else ""


def _code_of(refusal: TaskRefusal) -> Code:
    """Return the code of most nodes, if nodes were filtered."""
    if refusal.nodes is None or not refusal.nodes.groups:
        return refusal.reason.code
    return max(refusal.nodes.groups, key=lambda group: len(group[1]))[0].code


def _since(session: Session, job: Job) -> float:
    pending = (task.created for task in job.tasks.values() if session.ledger.is_pending(task))
    return min(pending, default=job.spec.created)
