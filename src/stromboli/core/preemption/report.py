"""Records of preemptions, made while they are decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import VictimCandidate
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.failure_report import FailureReport, summarize_objections
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.plugin_verdict import PluginVerdict, ask_plugins, grouped
from stromboli.core.preemption.selection import NodePlan, VictimSelection
from stromboli.core.preemption.units import EvictionUnit
from stromboli.core.session.decision_records import DecisionRecords, EvictionRecord, RejectedNode, RuleObjection
from stromboli.core.session.decisions import Eviction
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

#: The number of other nodes for which the report has a reason.
_MAX_REPORTED_NODES = 5
#: Rules by which an allowed victim may stay.
NOT_NEEDED = "not-needed"
MORE_IMPORTANT = "more-important"

_Reason = tuple[str, Callable[[], str], str]
#: A node that was evaluated, and the plan for it.
EvaluatedNode = tuple[int, NodePlan | None]


class EvictionReport:
    """Reports why a preemptor gets its capacity on the selected node."""

    def __init__(self, failures: FailureReport, records: DecisionRecords) -> None:
        self._session, self._rules = failures.session, failures.rules
        self._pool, self._builder = failures.pool, failures.builder
        self._failures = failures
        self.records = records
        self._by_row: dict[int, list[Task]] | None = None

    def evictions(
        self,
        selection: VictimSelection,
        preemptor: Task,
        plan: NodePlan,
        ranking: NodeRanking,
        evaluated_nodes: Sequence[EvaluatedNode],
    ) -> dict[str, EvictionRecord]:
        """The record of every victim of a plan that is about to be carried out."""
        job = self._session.jobs[preemptor.job]
        candidates = selection.preferred(preemptor, plan.row, ranking.candidates(job, plan.row), self._pool)
        verdict = ask_plugins(self._session, self._rules, preemptor, [each.task for each in candidates])
        protected = grouped(self._protected(preemptor, plan, candidates, verdict))
        considered = tuple(self._considered(preemptor, plan, ranking, evaluated_nodes))
        return {
            victim.uid: self._record_of(preemptor, plan, victim, verdict, protected, considered)
            for victim in plan.victims
        }

    def gang(self, preemptor: Task, gang: EvictionUnit) -> dict[str, EvictionRecord]:
        """The record of every member of a gang that is about to be evicted, without the receiver of its capacity."""
        records = {}
        for victim in gang.tasks:
            plain = basic_eviction_record(self._session, Eviction(victim, self._rules.action, preemptor.job))
            allowed_by = ask_plugins(self._session, self._rules, preemptor, [victim]).approvals(victim)
            records[victim.uid] = replace(plain, allowed_by=allowed_by, with_gang=len(gang.tasks) > 1)
        return records

    def _record_of(
        self,
        preemptor: Task,
        plan: NodePlan,
        victim: Task,
        verdict: PluginVerdict,
        protected: tuple[RuleObjection, ...],
        considered: tuple[RejectedNode, ...],
    ) -> EvictionRecord:
        unit = next(unit for unit in plan.units if victim in unit.tasks)
        if victim not in verdict.allowed or len(unit.tasks) > 1:
            verdict = ask_plugins(self._session, self._rules, preemptor, [victim])
        plain = basic_eviction_record(self._session, Eviction(victim, self._rules.action, preemptor.job))
        return replace(
            plain,
            preemptor_pod=preemptor.key,
            preemptor_node=self._session.nodes.names[plan.row],
            allowed_by=verdict.approvals(victim),
            with_gang=len(unit.tasks) > 1,
            protected=protected,
            considered=considered,
        )

    # -- on the same node ---------------------------------------------------------------------------------------

    def _protected(
        self, preemptor: Task, plan: NodePlan, candidates: Sequence[VictimCandidate], verdict: PluginVerdict
    ) -> Iterator[_Reason]:
        evicted = {victim.uid for victim in plan.victims}
        allowed = {task.uid for task in verdict.allowed}
        units = self._builder.units(preemptor, [each for each in candidates if each.task.uid in allowed])
        unit_of = {task.uid: unit for unit in units for task in unit.tasks}
        for task in [each.task for each in candidates if each.task.uid not in evicted]:
            if task.uid not in allowed:
                yield verdict.veto(task)
            elif task.uid in unit_of:
                yield self._reason_to_stay(task, unit_of[task.uid], plan.top)
            else:
                yield self._failures.reason_not_evictable(preemptor, task)
        yield from self._rejected_before(preemptor, plan.row, evicted | {each.task.uid for each in candidates})
        job = self._session.jobs[preemptor.job]
        for task in self._running_on(plan.row):
            reason = self._failures.reason_not_candidate(job, self._session.jobs[task.job], task)
            if reason is not None:
                yield reason

    def _reason_to_stay(self, task: Task, unit: EvictionUnit, top: Grade) -> _Reason:
        if unit.grade > top:
            queue_comes_later = unit.grade[0] != top[0]
            priority = max(self._session.jobs[task.job].priority, task.priority)
            queue = self._session.jobs[task.job].queue
            message = f"queue {queue} comes later in the victim order" if queue_comes_later else f"priority {priority}"
            return MORE_IMPORTANT, lambda: f"{message}; less important pods suffice", task.key
        return NOT_NEEDED, lambda: "there is enough capacity without it", task.key

    def _rejected_before(self, preemptor: Task, row: int, known: set[str]) -> Iterator[_Reason]:
        """Candidates that the plugins rejected before, and that were therefore not evaluated again."""
        there = [each.task for each in self._pool.at(self._session.jobs[preemptor.job], row)]
        left = [task for task in there if task.uid not in known]
        if left:
            verdict = ask_plugins(self._session, self._rules, preemptor, left)
            yield from (verdict.veto(task) for task in left if task.uid in verdict.vetoes)

    def _running_on(self, row: int) -> list[Task]:
        """All tasks that were on the node at the first call."""
        if self._by_row is None:
            ledger, self._by_row = self._session.ledger, {}
            for job in self._session.jobs.values():
                for task in job.tasks.values():
                    if ledger.status_of(task) in self._rules.statuses:
                        self._by_row.setdefault(ledger.row_of(task), []).append(task)
        return self._by_row.get(row, [])

    # -- on other nodes -----------------------------------------------------------------------------------------

    def _considered(
        self, preemptor: Task, plan: NodePlan, ranking: NodeRanking, evaluated_nodes: Sequence[EvaluatedNode]
    ) -> Iterator[RejectedNode]:
        """Nodes that were evaluated because they might have been cheaper, then those that could not be."""
        names, others = self._session.nodes.names, [each for each in evaluated_nodes if each[0] != plan.row]
        for row, other in others[:_MAX_REPORTED_NODES]:
            if other is None:
                why = self._why_not_there(preemptor, row)
            else:
                why = f"more expensive: {_describe_cost(len(other.victims), other.top)}"
            yield RejectedNode(names[row], why)
        seen = {plan.row, *(row for row, _ in evaluated_nodes)}
        following = ranking.following(_MAX_REPORTED_NODES - min(len(others), _MAX_REPORTED_NODES), seen)
        for bound, row in [each for each in following if each[0][1]]:
            yield RejectedNode(names[row], f"not cheaper: {_describe_cost(bound[1], bound[0])} at least")

    def _why_not_there(self, preemptor: Task, row: int) -> str:
        tasks = [each.task for each in self._pool.at(self._session.jobs[preemptor.job], row)]
        verdict = ask_plugins(self._session, self._rules, preemptor, tasks)
        allowed = {task.uid for task in verdict.allowed}
        objections = grouped(verdict.veto(task) for task in tasks if task.uid not in allowed)
        if not allowed:
            return f"no pod there may be evicted: {summarize_objections(objections)}"
        message = f"{counted(len(allowed), 'preemptable pod')} would not free enough capacity"
        return f"{message}: {summarize_objections(objections)}" if objections else message


def basic_eviction_record(session: Session, eviction: Eviction) -> EvictionRecord:
    """The record of any eviction, by any action."""
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


def _describe_cost(number: int, grade: Grade) -> str:
    return f"1 pod of priority {grade[1]}" if number == 1 else f"{number} pods up to priority {grade[1]}"
