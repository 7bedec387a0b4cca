"""Units of eviction: a spare member of a gang, or a whole gang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.core.model.jobs.job import Job, ready_in, role_ready
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.guarantees import QueueGuarantees
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.session.session import Session

_HOLDING = frozenset(status.value for status in ALLOCATED_STATUSES)


@dataclass(slots=True, eq=False)
class EvictionUnit:
    """Tasks that are evicted together or not at all."""

    tasks: Sequence[Task]
    grade: Grade


class SpareMembers:
    """The number of tasks a job can lose before it is below its minimum."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._left = job.spare_count
        self._roles: dict[str, int] = {}
        self._sub_jobs: dict[str, int] = {}

    def take(self, task: Task) -> bool:
        """Report whether this task is spare as well; if so, it counts as evicted."""
        if self._left <= 0 or not self._role_can_spare(task) or not self._sub_job_can_spare(task):
            return False
        self._left -= 1
        self._roles[task.role] = self._roles.get(task.role, 0) + 1
        self._sub_jobs[task.sub_job] = self._sub_jobs.get(task.sub_job, 0) + 1
        return True

    def _role_can_spare(self, task: Task) -> bool:
        job = self._job
        minimum = job.spec.min_task_member.get(task.role, 0) if job.role_minimums_apply else 0
        return minimum <= 0 or role_ready(job.role_counts[task.role]) - self._roles.get(task.role, 0) > minimum

    def _sub_job_can_spare(self, task: Task) -> bool:
        """Report whether the sub-job can lose the task: a required one keeps its minimum, unless already below it."""
        sub_job = self._job.sub_jobs.get(task.sub_job)
        if sub_job is None or sub_job.policy is None or not sub_job.policy.minimum:
            return True
        if self._surplus(task.sub_job) != 0:
            return True
        whole = [each for each in self._job.sub_jobs_of(sub_job.policy) if self._surplus(each.key) >= 0]
        return len(whole) > sub_job.policy.minimum

    def _surplus(self, key: str) -> int:
        sub_job = self._job.sub_jobs[key]
        return ready_in(sub_job.counts) - self._sub_jobs.get(key, 0) - sub_job.min_available


class UnitBuilder:
    """Builds units out of allowed victims."""

    def __init__(self, session: Session, rules: PreemptionRules, pool: CandidatePool) -> None:
        self._session = session
        self._rules = rules
        self._pool = pool
        self._budgets = session.ledger.budgets
        self._guarantees = QueueGuarantees(session)
        #: Whether sets of victims are limited: between queues by guarantees, and by disruption budgets.
        self.limits_sets = bool(self._budgets.of_task) or (bool(self._guarantees) and not rules.own_queue)

    def units(self, preemptor: Task, victims: Sequence[VictimCandidate]) -> list[EvictionUnit]:
        """The units among these victims. A gang that would be broken appears once, with all its members."""
        spares: dict[str, SpareMembers] = {}
        whole = {preemptor.job}
        units = []
        jobs = self._session.jobs
        for victim in victims:
            task = victim.task
            if self.limits_sets and not self.may_lose(preemptor, (task,)):
                continue
            job = jobs[task.job]
            if len(job.tasks) == 1 or (task.job == preemptor.job and not job.spec.evicted_whole):
                units.append(EvictionUnit((task,), victim.grade))
                continue
            spare = spares.get(task.job)
            if spare is None:
                spare = spares[task.job] = SpareMembers(job)
            if spare.take(task):
                units.append(EvictionUnit((task,), victim.grade))
            elif self._rules.evicts_whole_gangs and task.job not in whole:
                whole.add(task.job)
                gang = self.whole_gang(preemptor, victim)
                if gang is not None:
                    units.append(gang)
        return units

    def are_single_and_equal(self, preemptor: Task, victims: Sequence[VictimCandidate]) -> bool:
        """Report whether all are the only tasks of other jobs, of one class and one grade, and no set is limited."""
        if self.limits_sets:
            return False
        jobs, (first, grade) = self._session.jobs, victims[0]
        task_class, own = first.task_class, preemptor.job
        for task, its_grade in victims:
            job = task.job
            if task.task_class is not task_class or its_grade != grade or job == own or len(jobs[job].tasks) > 1:
                return False
        return True

    def whole_gang(self, preemptor: Task, first: VictimCandidate) -> EvictionUnit | None:
        """All members of a gang, if they may be evicted together."""
        session = self._session
        preemptor_job = session.jobs[preemptor.job]
        members = self.members(session.jobs[first.task.job])
        if not all(self._pool.is_candidate(task) for task in members):
            return None
        members = session.victims_in_order(members, preemptor_job)
        if not self.may_evict_all(preemptor, members):
            return None
        top = max(self._pool.candidate(preemptor_job, task).grade for task in members)
        return EvictionUnit(members, (*top[:-2], True, top[-1]))

    def members(self, job: Job) -> list[Task]:
        """The tasks of a job that hold capacity."""
        codes = self._session.ledger.codes
        return [task for task in job.tasks.values() if codes[task.row] in _HOLDING]

    def may_evict_all(self, preemptor: Task, members: Sequence[Task]) -> bool:
        """Report whether these members of a job may be evicted together: the spare ones one after the other, then the
        rest as one, like a single large task.
        """
        if not self.may_lose(preemptor, members):
            return False
        spare_members, allowed = SpareMembers(self._session.jobs[members[0].job]), self._rules.allowed
        spare = [task for task in members if spare_members.take(task)]
        if not spare:
            return all(allowed(preemptor, [task]) for task in members)
        if len(allowed(preemptor, spare)) < len(spare):
            return False
        uids = {task.uid for task in spare}
        with self._session.statement() as trial:
            trial.evict_all(spare, self._rules.action, preemptor.job)
            return all(allowed(preemptor, [task]) for task in members if task.uid not in uids)

    def may_lose(self, preemptor: Task, victims: Sequence[Task]) -> bool:
        """Report whether disruption budgets and the guarantees of queues allow to evict all of these."""
        if not self.limits_sets:
            return True
        if not self._budgets.may_spend([task.uid for task in victims]):
            return False
        return self.guarantee_protecting(preemptor, victims) is None

    def guarantee_protecting(self, preemptor: Task, victims: Sequence[Task]) -> str | None:
        """Return the queue whose guarantee protects one of the victims, or their gang; None if there is none."""
        if self._rules.own_queue or not self._guarantees:
            return None
        return self._guarantees.protecting(self._session.jobs[preemptor.job], victims)
