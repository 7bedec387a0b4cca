"""Messages about moves, and about failed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from stromboli.core.actions.consolidate.pending_preemptions import PendingPreemption, PendingPreemptions
from stromboli.core.config.plugin import EvictionContext, Plugin
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import CandidatePool
from stromboli.core.preemption.failure_report import MAX_CANDIDATES, summarize_objections
from stromboli.core.preemption.plugin_verdict import grouped, plugin_message
from stromboli.core.preemption.report import basic_eviction_record
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.session.decision_records import PluginApproval, PreemptionFailure, RuleObjection
from stromboli.core.session.decisions import Eviction
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

#: The rule that pods stay that other actions evict.
PENDING = "pending-preemption"


def report_moves(
    session: Session, action: str, victims: Sequence[Task], moves: Mapping[str, int], preemptors: Mapping[str, Task]
) -> None:
    """Record for every evicted task the node with a place for it, if there is one, and the pod that gets its
    capacity.
    """
    names = session.nodes.names
    gangs = [victim.job for victim in victims]
    guards = tuple(PluginApproval(name) for name, _ in _guards(session))
    for victim in victims:
        row = moves.get(victim.uid, -1)
        stays = row == session.ledger.row_of(victim) and victim.task_class.devices is not None
        session.eviction_notes[victim.uid] = partial(_message, names[row] if row >= 0 else "", stays)
        if session.records is not None:
            preemptor = preemptors[victim.uid]
            plain = basic_eviction_record(session, Eviction(victim, action, preemptor.job))
            session.records.evictions[victim.uid] = replace(
                plain,
                preemptor_pod=preemptor.key,
                preemptor_node=session.ledger.node_name(preemptor),
                allowed_by=guards,
                with_gang=gangs.count(victim.job) > 1,
            )


def _message(node: str, stays: bool) -> str:
    if not node:
        return "reclaimed from its queue: no node has capacity for it"
    return f"node {node} has capacity for it{' on another device' if stays else ''}"


def refusal_of(
    session: Session,
    rules: PreemptionRules,
    pool: CandidatePool,
    pending: PendingPreemptions,
    preemptor: Task,
    max_moves: int | None,
) -> Reason:
    """Return why no plan exists for a task; `max_moves` is set when the limit of moved pods was exceeded."""
    reason, objections = _why(session, rules, pool, pending, preemptor, max_moves)
    if session.records is not None:
        session.records.refuse(preemptor.job, PreemptionFailure(rules.action, preemptor.key, reason, objections))
    return reason


def _why(
    session: Session,
    rules: PreemptionRules,
    pool: CandidatePool,
    pending: PendingPreemptions,
    preemptor: Task,
    max_moves: int | None,
) -> tuple[Reason, tuple[RuleObjection, ...]]:
    if preemptor.never_preempts:
        return _reason(rules, Code.NEVER_PREEMPTS, f"{preemptor.key} has preemptionPolicy Never"), ()
    if max_moves is not None:
        detail = f"the plan would move more pods than allowed in a cycle ({max_moves} left)"
        return _reason(rules, Code.PREEMPTION_INSUFFICIENT, detail), ()
    job = session.jobs[preemptor.job]
    tasks = [each.task for each in islice(pool.all_candidates(job), MAX_CANDIDATES)]
    if not tasks:
        return _reason(rules, Code.NO_PREEMPTABLE_PODS, "no running pod may be moved for it"), ()
    guarded = grouped(_protected_tasks(session, rules, pending, preemptor, tasks))
    if sum(len(each.objects) for each in guarded) == len(tasks):
        detail = f"none of {counted(len(tasks), 'running pod')} may be moved: {summarize_objections(guarded)}"
        return _reason(rules, Code.NO_PREEMPTABLE_PODS, detail), guarded
    detail = "moving all movable pods would not free enough capacity"
    return _reason(rules, Code.PREEMPTION_INSUFFICIENT, detail), guarded


def _reason(rules: PreemptionRules, code: Code, detail: str) -> Reason:
    return Reason(code, f"{rules.action}: {detail}")


def _protected_tasks(
    session: Session,
    rules: PreemptionRules,
    pending: PendingPreemptions,
    preemptor: Task,
    tasks: Sequence[Task],
) -> list[tuple[str, Callable[[], str], str]]:
    """The protected tasks: the first plugin that protects each, or the pending preemption that takes it."""
    context, left = EvictionContext(rules.action, session.jobs[preemptor.job]), list(tasks)
    protected: list[tuple[str, Callable[[], str], str]] = []
    for name, plugin in _guards(session):
        evictable = plugin.evictable(context, left)
        allowed = {task.uid for task in (left if evictable is None else evictable)}
        kept = [task for task in left if task.uid not in allowed]
        protected += [(name, partial(plugin_message, plugin.veto, preemptor, task), task.key) for task in kept]
        left = [task for task in left if task.uid in allowed]
    for task in left:
        taking = pending.taking(task)
        if taking is not None:
            protected.append((PENDING, partial(_taken, taking), task.key))
    return protected


def _taken(pending: PendingPreemption) -> str:
    return f"{pending.action} evicts it for {pending.preemptor}"


def _guards(session: Session) -> list[tuple[str, Plugin]]:
    """The plugins that protect tasks from being moved."""
    program = session.program
    answering = program.answering["evictable"]
    return [(name, plugin) for name, plugin in program.plugins.items() if plugin.guards_victims and name in answering]
