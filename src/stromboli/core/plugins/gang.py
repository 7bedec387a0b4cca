"""gang: a job runs with at least its minimum of tasks, or not at all."""

from collections import defaultdict
from collections.abc import Sequence

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import EvictionContext, Key, Plugin, Victims
from stromboli.core.model.jobs.job import Job, SubJob, role_pipelined, role_ready, valid_in
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import too_few_tasks

_PARTLY_READY, _WAITING, _READY, _BEYOND_MINIMUM = range(4)


class GangPluginArguments(Arguments):
    grows_in_turn: bool = Argument(
        "growInTurn", False, "Serve jobs with just their minimum before those with members beyond it."
    )


class Gang(Plugin):
    name = "gang"
    arguments = GangPluginArguments()

    def open(self, session: Session) -> None:
        self._jobs = session.jobs

    def job_valid(self, job: Job) -> Reason | None:
        if not job.tasks and job.min_available > 0:
            return Reason(Code.NO_PODS, f"no pods exist yet, {job.min_available} must start together")
        roles = job.roles_short(valid_in) if job.spec.min_task_member else ()
        if roles:
            names = ", ".join(sorted(roles))
            detail = f"Not enough valid pods of each task for gang-scheduling: {names}"
            return Reason(Code.NOT_ENOUGH_PODS_OF_ROLE, detail, short=f"too few pods of task {names}")
        groups = job.groups_short(lambda _: True) if job.spec.policies else ()
        if groups:
            names = ", ".join(sorted(groups))
            detail = f"Not enough valid subGroups of each task for gang-scheduling: {names}"
            return Reason(Code.NOT_ENOUGH_SUB_GROUPS, detail, short=f"too few sub-groups of {names}")
        if job.valid_count < job.min_available:
            return too_few_tasks(job)
        return None

    def job_order(self, job: Job) -> Key:
        """Gangs with a part of their minimum come first: what they hold is idle until the rest is placed."""
        placed, needed = job.ready_count, job.spec.min_available
        if placed + job.pending_best_effort_count >= needed:
            return _BEYOND_MINIMUM if placed > needed and self.arguments.grows_in_turn else _READY
        return _PARTLY_READY if placed else _WAITING

    def sub_job_order(self, sub_job: SubJob) -> Key:
        return sub_job.is_ready

    def job_ready(self, job: Job) -> bool:
        return job.has_minimum(role_ready)

    def tasks_until_ready(self, job: Job) -> int:
        return job.tasks_missing

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        return sub_job.is_ready

    def job_pipelined(self, job: Job) -> Vote | Reason:
        short = job.roles_short(role_pipelined) or job.groups_short(lambda s: s.is_pipelined)
        return Vote.PERMIT if job.is_pipelined and not short else _NOT_YET

    def sub_job_pipelined(self, sub_job: SubJob) -> Vote | Reason:
        return Vote.PERMIT if sub_job.is_pipelined else _NOT_YET

    def job_starving(self, job: Job) -> bool:
        return job.is_starving

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._above_minimum(candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return self._above_minimum(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return candidates

    def veto(self, preemptor: Task, victim: Task) -> str:
        job = self._jobs[victim.job]
        detail = f"PodGroup {job.key} has {job.ready_count} pods and needs {job.min_available}"
        return f"{detail}: other members are evicted first" if job.ready_count > job.min_available else detail

    def _above_minimum(self, candidates: Sequence[Task]) -> list[Task]:
        """Victims that leave every job its minimum, and those of jobs that are evicted as a whole anyway."""
        taken: dict[str, int] = defaultdict(int)
        victims = []
        for task in candidates:
            job = self._jobs[task.job]
            if job.spec.evicted_whole or job.spare_count > taken[task.job]:
                taken[task.job] += 1
                victims.append(task)
        return victims


_NOT_YET = Reason(Code.GANG_DOES_NOT_FIT, "fewer tasks are placed than must start together")
