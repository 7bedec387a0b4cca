"""Accounts of what claims do, written while they do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import Candidate, Pool
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.failure_report import FailureReport, in_words
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.plugin_verdict import PluginVerdict, grouped, judge
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.selection import Choice, NodePreemptionPlan
from stromboli.core.preemption.units import Unit, UnitBuilder
from stromboli.core.session.decision_records import DecisionRecords, EvictionRecord, Objection, RejectedNode
from stromboli.core.session.session import Eviction, Session
from stromboli.core.session.waiting_reasons import counted

#: Of so many other nodes it is told why they were not chosen.
_MAX_REPORTED_NODES = 5
#: Rules by which a lawful victim may stay.
NOT_NEEDED = "not-needed"
MORE_IMPORTANT = "more-important"

_Reason = tuple[str, Callable[[], str], str]
#: A node that was looked at, and what could be done there.
Look = tuple[int, NodePreemptionPlan | None]


class EvictionReport:
    """Tells why a claimant gets its room where it does."""

    def __init__(
        self,
        session: Session,
        terms: Terms,
        pool: Pool,
        maker: UnitBuilder,
        failures: FailureReport,
        accounts: DecisionRecords,
    ) -> None:
        self._session = session
        self._terms = terms
        self._pool = pool
        self._maker = maker
        self._failures = failures
        self.accounts = accounts
        self._by_row: dict[int, list[Task]] | None = None

    def evictions(
        self, choice: Choice, preemptor: Task, plan: NodePreemptionPlan, ranking: NodeRanking, looks: Sequence[Look]
    ) -> dict[str, EvictionRecord]:
        """The account of every victim of a plan that is about to be carried out."""
        job = self._session.jobs[preemptor.job]
        candidates = choice.preferred(preemptor, plan.row, ranking.candidates(job, plan.row), self._pool)
        verdict = self._judge(preemptor, [each.task for each in candidates])
        spared = grouped(self._spared(preemptor, plan, candidates, verdict))
        considered = tuple(self._considered(preemptor, plan, ranking, looks))
        return {
            victim.uid: self._account(preemptor, plan, victim, verdict, spared, considered) for victim in plan.victims
        }

    def gang(self, preemptor: Task, gang: Unit) -> dict[str, EvictionRecord]:
        """The account of every member of a gang that is about to go; who gets its room is known later."""
        return {victim.uid: self._account_of_member(preemptor, victim, len(gang.tasks)) for victim in gang.tasks}

    def _account_of_member(self, preemptor: Task, victim: Task, members: int) -> EvictionRecord:
        plain = basic_eviction_record(self._session, Eviction(victim, self._terms.action, preemptor.job))
        allowed_by = self._judge(preemptor, [victim]).consents(victim)
        return replace(plain, allowed_by=allowed_by, with_gang=members > 1)

    def _judge(self, preemptor: Task, tasks: Sequence[Task]) -> PluginVerdict:
        return judge(self._session, self._terms, preemptor, tasks)

    def _account(
        self,
        preemptor: Task,
        plan: NodePreemptionPlan,
        victim: Task,
        verdict: PluginVerdict,
        spared: tuple[Objection, ...],
        considered: tuple[RejectedNode, ...],
    ) -> EvictionRecord:
        unit = next(unit for unit in plan.units if victim in unit.tasks)
        if victim not in verdict.allowed or len(unit.tasks) > 1:
            verdict = self._judge(preemptor, [victim])
        plain = basic_eviction_record(self._session, Eviction(victim, self._terms.action, preemptor.job))
        return replace(
            plain,
            preemptor_pod=preemptor.key,
            preemptor_node=self._session.nodes.names[plan.row],
            allowed_by=verdict.consents(victim),
            with_gang=len(unit.tasks) > 1,
            spared=spared,
            considered=considered,
        )

    # -- on the same node ---------------------------------------------------------------------------------------

    def _spared(
        self, preemptor: Task, plan: NodePreemptionPlan, candidates: Sequence[Candidate], verdict: PluginVerdict
    ) -> Iterator[_Reason]:
        going = {victim.uid for victim in plan.victims}
        allowed = {task.uid for task in verdict.allowed}
        units = self._maker.units(preemptor, [each for each in candidates if each.task.uid in allowed])
        unit_of = {task.uid: unit for unit in units for task in unit.tasks}
        for task in [each.task for each in candidates if each.task.uid not in going]:
            if task.uid not in allowed:
                yield verdict.veto(task)
            elif task.uid in unit_of:
                yield self._not_taken(task, unit_of[task.uid], plan.top)
            else:
                yield self._failures.reason_not_evictable(task)
        yield from self._refused_before(preemptor, plan.row, going | {each.task.uid for each in candidates})
        job = self._session.jobs[preemptor.job]
        for task in self._standing(plan.row):
            reason = self._failures.reason_not_candidate(job, self._session.jobs[task.job], task)
            if reason is not None:
                yield reason

    def _not_taken(self, task: Task, unit: Unit, top: Grade) -> _Reason:
        if unit.grade > top:
            queue_comes_later = unit.grade[0] != top[0]
            priority = max(self._session.jobs[task.job].priority, task.priority)
            queue = self._session.jobs[task.job].queue
            words = f"queue {queue} loses later" if queue_comes_later else f"priority {priority}"
            return MORE_IMPORTANT, lambda: f"{words}; less important pods are enough", task.key
        return NOT_NEEDED, lambda: "there is room enough without it", task.key

    def _refused_before(self, preemptor: Task, row: int, known: set[str]) -> Iterator[_Reason]:
        """Candidates that were not asked about again, as the plugins had objected to them before."""
        there = [each.task for each in self._pool.at(self._session.jobs[preemptor.job], row)]
        left = [task for task in there if task.uid not in known]
        if left:
            verdict = self._judge(preemptor, left)
            yield from (verdict.veto(task) for task in left if task.uid in verdict.objecting)

    def _standing(self, row: int) -> list[Task]:
        """Everybody who stood on the node when somebody first asked."""
        if self._by_row is None:
            ledger, self._by_row = self._session.ledger, {}
            for job in self._session.jobs.values():
                for task in job.tasks.values():
                    if ledger.status_of(task) in self._terms.statuses:
                        self._by_row.setdefault(ledger.row_of(task), []).append(task)
        return self._by_row.get(row, [])

    # -- on other nodes -----------------------------------------------------------------------------------------

    def _considered(
        self, preemptor: Task, plan: NodePreemptionPlan, ranking: NodeRanking, looks: Sequence[Look]
    ) -> Iterator[RejectedNode]:
        """Nodes that were looked at because they might have been cheaper, then those that could not be."""
        names, others = self._session.nodes.names, [look for look in looks if look[0] != plan.row]
        for row, other in others[:_MAX_REPORTED_NODES]:
            yield RejectedNode(names[row], self._nothing_there(preemptor, row) if other is None else _dearer(other))
        seen = {plan.row, *(row for row, _ in looks)}
        following = ranking.following(_MAX_REPORTED_NODES - min(len(others), _MAX_REPORTED_NODES), seen)
        for bound, row in [each for each in following if each[0][1]]:
            yield RejectedNode(names[row], f"not cheaper: {_cost_in_words(bound[1], bound[0])} at least")

    def _nothing_there(self, preemptor: Task, row: int) -> str:
        tasks = [each.task for each in self._pool.at(self._session.jobs[preemptor.job], row)]
        verdict = self._judge(preemptor, tasks)
        allowed = {task.uid for task in verdict.allowed}
        objections = grouped(verdict.veto(task) for task in tasks if task.uid not in allowed)
        if not allowed:
            return f"nobody there may go: {in_words(objections)}"
        words = f"{counted(len(allowed), 'pod')} that may go would not make room enough"
        return f"{words}: {in_words(objections)}" if objections else words


def basic_eviction_record(session: Session, eviction: Eviction) -> EvictionRecord:
    """What can be said of any eviction, whoever decided it."""
    axis, task, note = session.axis, eviction.task, session.eviction_notes.get(eviction.task.uid)
    preemptor = session.jobs.get(eviction.preemptor)
    return EvictionRecord(
        pod=task.key,
        job=task.job,
        queue=session.jobs[task.job].queue,
        action=eviction.reason,
        node=session.nodes.names[session.ledger.row_of(task)],
        frees={axis.names[d]: axis.format(d, amount) for d, amount in task.task_class.request if d != PODS},
        preemptor=eviction.preemptor,
        preemptor_queue=preemptor.queue if preemptor else "",
        note=note() if note else "",
    )


def _dearer(plan: NodePreemptionPlan) -> str:
    return f"dearer: {_cost_in_words(len(plan.victims), plan.top)}"


def _cost_in_words(number: int, grade: Grade) -> str:
    return f"1 pod of priority {grade[1]}" if number == 1 else f"{number} pods up to priority {grade[1]}"
