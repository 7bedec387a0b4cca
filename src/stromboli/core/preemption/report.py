"""Accounts of what claims do, written while they do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import Candidate, Pool
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.failure_report import Failures, in_words
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.plugin_verdict import Judgement, grouped, judge
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.selection import Choice, NodePlan
from stromboli.core.preemption.units import Unit, UnitMaker
from stromboli.core.session.decision_records import Accounts, EvictionAccount, Objection, OtherNode
from stromboli.core.session.session import Eviction, Session
from stromboli.core.session.waiting_reasons import counted

#: Of so many other nodes it is told why they were not chosen.
_NODES_TOLD = 5
#: Rules by which a lawful victim may stay.
NOT_NEEDED = "not-needed"
MORE_IMPORTANT = "more-important"

_Reason = tuple[str, Callable[[], str], str]
#: A node that was looked at, and what could be done there.
Look = tuple[int, NodePlan | None]


class Narrator:
    """Tells why a claimant gets its room where it does."""

    def __init__(
        self, session: Session, terms: Terms, pool: Pool, maker: UnitMaker, failures: Failures, accounts: Accounts
    ) -> None:
        self._session = session
        self._terms = terms
        self._pool = pool
        self._maker = maker
        self._failures = failures
        self.accounts = accounts
        self._by_row: dict[int, list[Task]] | None = None

    def evictions(
        self, choice: Choice, claimant: Task, plan: NodePlan, ranking: NodeRanking, looks: Sequence[Look]
    ) -> dict[str, EvictionAccount]:
        """The account of every victim of a plan that is about to be carried out."""
        job = self._session.jobs[claimant.job]
        candidates = choice.preferred(claimant, plan.row, ranking.candidates(job, plan.row), self._pool)
        judgement = self._judge(claimant, [each.task for each in candidates])
        spared = grouped(self._spared(claimant, plan, candidates, judgement))
        considered = tuple(self._considered(claimant, plan, ranking, looks))
        return {
            victim.uid: self._account(claimant, plan, victim, judgement, spared, considered) for victim in plan.victims
        }

    def gang(self, claimant: Task, gang: Unit) -> dict[str, EvictionAccount]:
        """The account of every member of a gang that is about to go; who gets its room is known later."""
        return {victim.uid: self._account_of_member(claimant, victim, len(gang.tasks)) for victim in gang.tasks}

    def _account_of_member(self, claimant: Task, victim: Task, members: int) -> EvictionAccount:
        plain = plain_account(self._session, Eviction(victim, self._terms.action, claimant.job))
        allowed_by = self._judge(claimant, [victim]).consents(victim)
        return replace(plain, allowed_by=allowed_by, with_gang=members > 1)

    def _judge(self, claimant: Task, tasks: Sequence[Task]) -> Judgement:
        return judge(self._session, self._terms, claimant, tasks)

    def _account(
        self,
        claimant: Task,
        plan: NodePlan,
        victim: Task,
        judgement: Judgement,
        spared: tuple[Objection, ...],
        considered: tuple[OtherNode, ...],
    ) -> EvictionAccount:
        unit = next(unit for unit in plan.units if victim in unit.tasks)
        if victim not in judgement.lawful or len(unit.tasks) > 1:
            judgement = self._judge(claimant, [victim])
        plain = plain_account(self._session, Eviction(victim, self._terms.action, claimant.job))
        return replace(
            plain,
            claimant_pod=claimant.key,
            claimant_node=self._session.nodes.names[plan.row],
            allowed_by=judgement.consents(victim),
            with_gang=len(unit.tasks) > 1,
            spared=spared,
            considered=considered,
        )

    # -- on the same node ---------------------------------------------------------------------------------------

    def _spared(
        self, claimant: Task, plan: NodePlan, candidates: Sequence[Candidate], judgement: Judgement
    ) -> Iterator[_Reason]:
        going = {victim.uid for victim in plan.victims}
        lawful = {task.uid for task in judgement.lawful}
        units = self._maker.units(claimant, [each for each in candidates if each.task.uid in lawful])
        unit_of = {task.uid: unit for unit in units for task in unit.tasks}
        for task in [each.task for each in candidates if each.task.uid not in going]:
            if task.uid not in lawful:
                yield judgement.objection_to(task)
            elif task.uid in unit_of:
                yield self._not_taken(task, unit_of[task.uid], plan.top)
            else:
                yield self._failures.reason_to_stay(task)
        yield from self._refused_before(claimant, plan.row, going | {each.task.uid for each in candidates})
        job = self._session.jobs[claimant.job]
        for task in self._standing(plan.row):
            reason = self._failures.reason_never_asked(job, self._session.jobs[task.job], task)
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

    def _refused_before(self, claimant: Task, row: int, known: set[str]) -> Iterator[_Reason]:
        """Candidates that were not asked about again, as the plugins had objected to them before."""
        there = [each.task for each in self._pool.at(self._session.jobs[claimant.job], row)]
        left = [task for task in there if task.uid not in known]
        if left:
            judgement = self._judge(claimant, left)
            yield from (judgement.objection_to(task) for task in left if task.uid in judgement.objecting)

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
        self, claimant: Task, plan: NodePlan, ranking: NodeRanking, looks: Sequence[Look]
    ) -> Iterator[OtherNode]:
        """Nodes that were looked at because they might have been cheaper, then those that could not be."""
        names, others = self._session.nodes.names, [look for look in looks if look[0] != plan.row]
        for row, other in others[:_NODES_TOLD]:
            yield OtherNode(names[row], self._nothing_there(claimant, row) if other is None else _dearer(other))
        seen = {plan.row, *(row for row, _ in looks)}
        following = ranking.following(_NODES_TOLD - min(len(others), _NODES_TOLD), seen)
        for bound, row in [each for each in following if each[0][1]]:
            yield OtherNode(names[row], f"not cheaper: {_cost_in_words(bound[1], bound[0])} at least")

    def _nothing_there(self, claimant: Task, row: int) -> str:
        tasks = [each.task for each in self._pool.at(self._session.jobs[claimant.job], row)]
        judgement = self._judge(claimant, tasks)
        lawful = {task.uid for task in judgement.lawful}
        objections = grouped(judgement.objection_to(task) for task in tasks if task.uid not in lawful)
        if not lawful:
            return f"nobody there may go: {in_words(objections)}"
        words = f"{counted(len(lawful), 'pod')} that may go would not make room enough"
        return f"{words}: {in_words(objections)}" if objections else words


def plain_account(session: Session, eviction: Eviction) -> EvictionAccount:
    """What can be said of any eviction, whoever decided it."""
    axis, task, note = session.axis, eviction.task, session.eviction_notes.get(eviction.task.uid)
    claimant = session.jobs.get(eviction.claimant)
    return EvictionAccount(
        pod=task.key,
        job=task.job,
        queue=session.jobs[task.job].queue,
        action=eviction.reason,
        node=session.nodes.names[session.ledger.row_of(task)],
        frees={axis.names[d]: axis.format(d, amount) for d, amount in task.task_class.request if d != PODS},
        claimant=eviction.claimant,
        claimant_queue=claimant.queue if claimant else "",
        note=note() if note else "",
    )


def _dearer(plan: NodePlan) -> str:
    return f"dearer: {_cost_in_words(len(plan.victims), plan.top)}"


def _cost_in_words(number: int, grade: Grade) -> str:
    return f"1 pod of priority {grade[1]}" if number == 1 else f"{number} pods up to priority {grade[1]}"
