"""Jobs that are set aside because scheduling them took too much time, with growing pauses.

A job that is set aside gets no turn in ordinary cycles. When its pause is over, it is tried alone, in a cycle of its
own with a larger budget, right after an ordinary cycle: the others had their turns. Attempts together take at most a
tenth of the time. The list is saved as an annotation of the lease, so that it survives a change of the leader, also one
that was forced by a job that never ended.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from math import inf

import msgspec

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.values.times import format_timestamp
from stromboli.core.session.session import Session
from stromboli.core.session.time_budget import TimeBudget
from stromboli.kube.work.retry import RetryPolicy
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.reporting.announcer import EventAnnouncer

#: The annotation of the lease that holds the list.
ANNOTATION = "scheduling.stromboli.dev/set-aside"
#: The causes: the budget of the job, that of the cycle, or no end at all.
JOB, CYCLE, STUCK = "job", "cycle", "stuck"
#: The pause after a failed attempt, as a multiple of its duration, and its bounds, in seconds.
PAUSE_PER_SECOND = 10.0
MIN_PAUSE, MAX_PAUSE = 30.0, 6 * 3600.0
#: An attempt waits this long for binds in progress, in seconds.
BIND_WAIT = 60.0
#: Annotations of an object are limited to 256 KiB.
MAX_SAVED = 200

log = logging.getLogger("stromboli.scheduler")


class SetAsideJob(msgspec.Struct):
    """`until` is in seconds since the epoch, since it outlives the process."""

    uid: str
    cause: str
    detail: str
    failures: int
    until: float

    @property
    def message(self) -> str:
        attempts = "attempt" if self.failures == 1 else f"{self.failures} attempts"
        return f"{self.detail}; set aside after {attempts} until {format_timestamp(self.until)}, then tried alone"


class SetAsideJobs:
    def __init__(
        self,
        cluster: Cluster,
        metrics: SchedulerMetrics,
        announcer: EventAnnouncer,
        options: SchedulerOptions,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._announcer = announcer
        self._options = options
        self._wall_clock = wall_clock
        self.jobs: dict[str, SetAsideJob] = {}
        #: No attempt before this time.
        self._rests_until = 0.0
        #: Saves the list, and returns what was saved last; without an election nothing is saved.
        self.save: Callable[[str], None] = lambda text: None
        self.saved: Callable[[], str] = lambda: ""

    # -- budgets ------------------------------------------------------------------------------------------------

    def budget(self, only: str = "") -> TimeBudget:
        """The budget of an ordinary cycle, or of one for a single job: it doubles with every failure."""
        job, cycle = self._options.job_budget or inf, self._options.cycle_budget or inf
        if only:
            job = cycle = max(job, min(job * 2.0 ** min(self.jobs[only].failures, 30), cycle))
        return TimeBudget(time.perf_counter, cycle=cycle, job=job)

    # -- attempts -----------------------------------------------------------------------------------------------

    def due(self, *, is_binding: bool) -> str | None:
        """Return the job to try alone now, if any: the one that has waited longest."""
        now = self._wall_clock() - (BIND_WAIT if is_binding else 0.0)
        self._forget_gone()
        ready = [(each.until, key) for key, each in self.jobs.items() if each.until <= now]
        return min(ready)[1] if ready and self._rests_until <= now else None

    def _forget_gone(self) -> None:
        groups = self._cluster.groups
        gone = [key for key, each in self.jobs.items() if key not in groups or groups[key].metadata.uid != each.uid]
        for key in gone:
            self.remove(key)

    # -- changes ------------------------------------------------------------------------------------------------

    def update(self, session: Session) -> None:
        """Set aside what a cycle found too expensive."""
        budget = session.time_budget
        for key, detail in session.too_expensive.items():
            cause = JOB if key in budget.exceeded else CYCLE
            self._add(key, cause, detail, budget.spent.get(key, 0.0))
            self._announce(key)

    def attempted(self, only: str, session: Session | None, seconds: float) -> None:
        """Conclude an attempt that took so long; without a session it was aborted."""
        self._rests_until = self._wall_clock() + seconds * PAUSE_PER_SECOND
        if session is None and only in self.jobs:
            self._add(only, self.jobs[only].cause, self.jobs[only].detail, seconds)
        elif session is not None and only not in session.too_expensive:
            self.remove(only)

    def blame(self, key: str, seconds: float) -> None:
        """Set aside a job whose turn has not ended. Called by the watchdog when this process is about to exit: the next
        leader announces it.
        """
        self._add(
            key, STUCK, f"scheduling it had not ended after {seconds:.0f} s, and the scheduler restarted", seconds
        )

    def remove(self, key: str) -> None:
        if self.jobs.pop(key, None) is not None:
            self._publish()

    def _add(self, key: str, cause: str, detail: str, seconds: float) -> None:
        if key not in self._cluster.groups:
            return
        uid, known = self._cluster.groups[key].metadata.uid, self.jobs.get(key)
        failures = known.failures + 1 if known is not None and known.uid == uid else 1
        first = max(MIN_PAUSE, seconds * PAUSE_PER_SECOND)
        policy = RetryPolicy(min_delay=first, max_delay=MAX_PAUSE, factor=2.0, jitter=False)
        until = self._wall_clock() + policy.delay(failures - 1)
        self.jobs[key] = SetAsideJob(uid, cause, detail, failures, until)
        self._publish()

    def _announce(self, key: str) -> None:
        entry = self.jobs.get(key)
        group = self._cluster.groups.get(key)
        if entry is None or group is None:
            return
        self._metrics.job_set_aside(entry.cause)
        self._announcer.job_set_aside(group, entry.message)
        log.warning("job set aside", extra={"job": key, "cause": entry.cause, "detail": entry.message})

    # -- persistence --------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Apply the list from the next cycle on, and save it."""
        self._cluster.assumptions.set_aside = {key: each.message for key, each in self.jobs.items()}
        self._metrics.set_jobs_set_aside(len(self.jobs))
        self.save(self.as_text())

    def as_text(self) -> str:
        """The list as JSON: the jobs with most failures, as far as there is space."""
        worst = sorted(self.jobs, key=lambda key: (-self.jobs[key].failures, key))[:MAX_SAVED]
        return msgspec.json.encode({key: self.jobs[key] for key in worst}).decode() if worst else ""

    def load(self) -> None:
        """Take over the list of the previous leader. An unreadable one is ignored."""
        text = self.saved()
        try:
            found = msgspec.json.decode(text, type=dict[str, SetAsideJob]) if text else {}
        except msgspec.DecodeError as error:
            log.warning("list of set-aside jobs ignored", extra={"annotation": ANNOTATION, "error": str(error)})
            found = {}
        limit = self._wall_clock() + MAX_PAUSE  # of another clock
        for each in found.values():
            each.until = min(each.until, limit)
        new = [key for key in found if key not in self.jobs]
        self.jobs = found
        self._forget_gone()
        self._publish()
        for key in new:
            self._announce(key)
