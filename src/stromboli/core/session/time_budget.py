"""The time budget of a cycle and of each job in it, by an injected stopwatch.

A job that needs more time than its budget would delay all others. Its turn ends with `TimeBudgetExceeded` at the next
check, which discards its open statement; the job gets no further turn in the cycle. When the cycle's budget is spent,
no further turn starts, so that the decisions made so far are carried out. Only the turns of jobs count, not the work of
a cycle for all jobs together.
"""

from __future__ import annotations

from math import inf

from stromboli.core.model.jobs.job import Job
from stromboli.core.session.measurements import Stopwatch


class TimeBudgetExceeded(Exception):
    """The job under work, or the cycle, has no time left."""


#: Shorter turns are charged to the cycle alone, which keeps them cheap. A job gets many of them only while each places
#: something.
_SHORT = 0.001


class TimeBudget:
    """Charges the time of a cycle to the jobs it is spent on. Limits are in seconds."""

    def __init__(self, stopwatch: Stopwatch = lambda: 0.0, *, cycle: float = inf, job: float = inf) -> None:
        self.cycle_limit = cycle
        self.job_limit = job
        #: Seconds by job key.
        self.spent: dict[str, float] = {}
        #: The jobs that have used up their own budget.
        self.exceeded: set[str] = set()
        #: Whether the budget of the cycle is used up.
        self.is_spent = False
        #: The job under work, in a turn or before, and the start of its turn; the watchdog reads them in its thread.
        self.current: Job | None = None
        self.since = 0.0
        self._stopwatch = stopwatch
        #: The job whose turn it is.
        self._job: Job | None = None
        self._deadline = inf
        #: The seconds of all turns until the last `end`, and when the first one after it began.
        self._total = 0.0
        self._resumed = 0.0
        self._cycle_end = inf

    def begin(self, job: Job) -> None:
        """Start a turn of a job; the time from now on is charged to it."""
        now = self._stopwatch()
        if self._job is None:
            self._resumed, self._cycle_end = now, now + self.cycle_limit - self._total
        elif now - self.since > _SHORT:
            self._charge(self._job, now)
        self.current = self._job = job
        self.since = now
        self._deadline = now + self.job_limit
        if self.spent or self._deadline > self._cycle_end:
            own = self._deadline - self.spent.get(job.spec.key, 0.0)
            self._deadline = min(own, self._cycle_end)
            self.is_spent = now > self._cycle_end

    def is_turn_of(self, job: Job) -> bool:
        return self._job is job

    def end(self) -> None:
        """End the turn: what follows is work for all jobs."""
        if self._job is not None:
            now = self._stopwatch()
            self._charge(self._job, now)
            self._total += now - self._resumed
        self.current, self._job, self._deadline = None, None, inf

    def check(self) -> None:
        """Raise TimeBudgetExceeded if the job under work has no time left. Called where its work may be abandoned."""
        now = self._stopwatch()
        if now > self._deadline and self._job is not None:
            self._charge(self._job, now)
            raise TimeBudgetExceeded(f"{self._job.key}: {self.describe(self._job.key)}")

    def _charge(self, job: Job, now: float) -> None:
        key = job.spec.key
        spent = self.spent[key] = self.spent.get(key, 0.0) + now - self.since
        self.since = now
        if spent > self.job_limit:
            self.exceeded.add(key)
        if now > self._cycle_end:
            self.is_spent = True

    def culprits(self) -> list[str]:
        """Return the jobs to set aside: those beyond their own budget and, if the cycle's is spent, the most expensive
        ones that took half of it together, so that the next cycle gets further.
        """
        found = sorted(self.exceeded)
        if not self.is_spent:
            return found
        half, taken = self.cycle_limit / 2, sum(self.spent[key] for key in found)
        for key in sorted(self.spent, key=lambda key: (-self.spent[key], key)):
            if taken >= half:
                break
            if key not in self.exceeded:
                taken += self.spent[key]
                found.append(key)
        return found

    def describe(self, key: str) -> str:
        """Describe what a job took, and of what."""
        spent = self.spent.get(key, 0.0)
        if key in self.exceeded:
            return f"scheduling it took {spent:.2f} s, its budget is {self.job_limit:g} s per cycle"
        return f"scheduling it took {spent:.2f} s of the {self.cycle_limit:g} s that a cycle has for all jobs"
