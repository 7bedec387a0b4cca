"""What waits, why, and for how long, by queue: the first question of whoever is called at night."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.reasons import Code
from stromboli.core.session.refusals import TaskRefusal
from stromboli.core.session.session import Session
from stromboli.observability.metrics.series import Labels, PrunedGauge


class WaitingMetrics:
    def __init__(self, registry: CollectorRegistry, most: int) -> None:
        def passing(name: str, documentation: str, *labels: str) -> PrunedGauge:
            return PrunedGauge(Gauge(f"stromboli_{name}", documentation, labels, registry=registry), most)

        self._jobs = passing("waiting_jobs", "jobs that wait, by queue and code of the reason", "queue", "reason")
        self._longest = passing("longest_wait_seconds", "how long the job that waits longest has waited", "queue")
        #: By key, since when a job waits: from its oldest task without a node, or from its own creation.
        self._since: dict[str, float] = {}

    def show(self, session: Session) -> int:
        """Tell the jobs that a cycle left waiting. The answer is how many series there was no room for."""
        waiting = [job for key in session.snapshot.waiting if _waits(session, job := session.jobs[key])]
        self._since = {job.key: self._since.get(job.key) or _since(session, job) for job in waiting}
        causes: Counter[Labels] = Counter((job.queue, _cause(session, job)) for job in waiting)
        longest: dict[Labels, float] = {}
        for job in waiting:
            seconds = max(session.now - self._since[job.key], 0.0)
            longest[job.queue,] = max(longest.get((job.queue,), 0.0), seconds)
        return self._jobs.show(causes) + self._longest.show(longest)


def _waits(session: Session, job: Job) -> bool:
    """Whether tasks of the job want a node, or it was not let in and has none yet."""
    conditions = session.statuses[job.key].conditions
    return bool(job.pending_count) or any(condition.type == "Unschedulable" for condition in conditions)


def _cause(session: Session, job: Job) -> str:
    """The code of what keeps the job waiting: that of the first class without a place, else of the job as a whole.

    That a job has no pods is told when nothing else is: pods come when it is let in.
    """
    refusal = session.refusals.get(job.key)
    if refusal is not None and refusal.tasks:
        return _code_of(next(iter(refusal.tasks.values()))).value
    codes = [reason.code for reason in session.statuses[job.key].reasons]
    real = [code for code in codes if code is not Code.NO_PODS or len(codes) == 1]
    return real[0].value if real else ""


def _code_of(refusal: TaskRefusal) -> Code:
    """What most nodes said, where nodes were asked."""
    if refusal.nodes is None or not refusal.nodes.groups:
        return refusal.reason.code
    return max(refusal.nodes.groups, key=lambda group: len(group[1]))[0].code


def _since(session: Session, job: Job) -> float:
    pending = (task.created for task in job.tasks.values() if session.ledger.is_pending(task))
    return min(pending, default=job.spec.created)
