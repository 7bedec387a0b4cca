"""shortfirst: short jobs before long ones, with a limit for how much later ones may go first.

Each job has a date: its creation, and a multiple of its run time, at most the limit. Jobs are ordered by date. No job
goes before one that was created earlier by more than the limit, so that none waits indefinitely for shorter ones; for
jobs of unknown run time, `wholeCluster` is the limit. The date does not change while a job waits, and neither does the
order of two jobs.
"""

from __future__ import annotations

from math import inf

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Key, Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.values.times import parse_duration
from stromboli.core.session.session import Session


class ShortFirstArguments(Arguments):
    factor: float = Argument("shortfirst.factor", 2.0, "Multiple of the run time after the creation.", minimum=0)
    limit: float = Argument("shortfirst.limit", "8h", "The multiple is at most this time.", parse=parse_duration)
    whole_cluster: float = Argument(
        "shortfirst.wholeCluster", "24h", "For unknown run times: the part of it that a job requests of the cluster.",
        parse=parse_duration,
    )  # fmt: skip


class ShortFirst(Plugin):
    name = "shortfirst"
    arguments = ShortFirstArguments()

    def open(self, session: Session) -> None:
        self._total = session.shareable

    def job_order(self, job: Job) -> Key:
        options, tasks = self.arguments, job.tasks.values()
        run_time = max((task.run_time for task in tasks), default=inf)
        if run_time < inf:
            return job.spec.created + min(options.factor * run_time, options.limit)
        return job.spec.created + options.whole_cluster * self._share(job)

    def _share(self, job: Job) -> float:
        """Return the largest fraction of a resource of the cluster that the job requests."""
        total = self._total
        requested = dict.fromkeys(range(len(total)), 0.0)
        for task in job.tasks.values():
            for dimension, amount in task.task_class.request:
                requested[dimension] += amount
        return max((min(amount / total[each], 1.0) for each, amount in requested.items() if total[each]), default=0.0)
