"""shortest-remaining: the job with the shortest remaining run time comes first, and preempts longer ones.

SRTF, the yardstick of policies that do not know run times. It needs them: `simulate --trace --estimates actual`, or the
annotation `scheduling.stromboli.dev/run-time` of pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from stromboli.api import Job, Key, Plugin, Session, Task, Victims


class ShortestRemaining(Plugin):
    name = "shortest-remaining"

    def open(self, session: Session) -> None:
        self._jobs, self._now = session.jobs, session.now

    def job_order(self, job: Job) -> Key:
        return self._remaining(job)

    def job_starving(self, job: Job) -> bool:
        return job.is_starving

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        own = self._remaining(self._jobs[preemptor.job])
        return [task for task in candidates if self._remaining(self._jobs[task.job]) > own]

    def _remaining(self, job: Job) -> float:
        """Return the seconds until the last pod of the job ends."""
        return max((task.run_time - self._has_run(task) for task in job.tasks.values()), default=0.0)

    def _has_run(self, task: Task) -> float:
        return self._now - task.placed_at if task.placed_at else 0.0
