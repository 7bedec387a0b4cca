"""priority: higher priority comes first, and may preempt lower priority."""

from collections.abc import Sequence

from stromboli.core.config.plugin import EvictionContext, Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session

#: The priority of tasks without a priority class.
_STANDARD = 1


class Priority(Plugin):
    name = "priority"

    def open(self, session: Session) -> None:
        self._jobs = session.jobs

    def job_order(self, job: Job) -> Key:
        return -job.priority

    def sub_job_order(self, sub_job: SubJob) -> Key:
        return -sub_job.priority

    def task_order(self, task: Task) -> Key:
        return -task.priority_in_job

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        """Jobs of lower priority, except members whose own priority is not lower than the preemptor's; within the
        preemptor's job, tasks of lower priority.
        """
        jobs, mine, in_job = self._jobs, preemptor.job, preemptor.priority_in_job
        own = jobs[mine].priority
        highest = max(own, preemptor.priority)
        return [
            task
            for task in candidates
            if (
                task.priority_in_job < in_job
                if task.job == mine
                else jobs[task.job].spec.priority < own and not _STANDARD < task.priority >= highest
            )
        ]

    def justification(self, preemptor: Task, victim: Task) -> str:
        """Priorities justify nothing between queues."""
        if victim.job == preemptor.job:
            return f"priority of the pod {victim.priority_in_job} < {preemptor.priority_in_job}"
        own, theirs = self._jobs[preemptor.job], self._jobs[victim.job]
        return f"priority {theirs.priority} < {own.priority}" if own.queue == theirs.queue else ""

    def veto(self, preemptor: Task, victim: Task) -> str:
        if victim.job == preemptor.job:
            return f"priority of the pod {victim.priority_in_job} is not below {preemptor.priority_in_job}"
        own, theirs = self._jobs[preemptor.job].priority, self._jobs[victim.job].priority
        if theirs >= own:
            return f"priority {theirs} is not below {own}"
        return f"priority of the pod {victim.priority} is not below {max(own, preemptor.priority)}"

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        if context.kind == "reclaim":
            return candidates
        own = context.job.priority
        return [
            task for task in candidates if self._jobs[task.job].priority < own and not _STANDARD < task.priority >= own
        ]

    def job_starving(self, job: Job) -> bool:
        return job.ready_count + job.pipelined_count < len(job.tasks)
