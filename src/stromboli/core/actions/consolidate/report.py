"""What is said about moves, and about those that could not be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from stromboli.core.config.plugin import EvictionContext, Plugin
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import Pool
from stromboli.core.preemption.failure_report import in_words
from stromboli.core.preemption.plugin_verdict import grouped, words_of
from stromboli.core.preemption.report import basic_eviction_record
from stromboli.core.preemption.rules import Terms
from stromboli.core.session.decision_records import Objection, PluginApproval, PreemptionFailure
from stromboli.core.session.session import Eviction, Session
from stromboli.core.session.waiting_reasons import counted

#: So many candidates are looked at to say who guards them.
_MAX_CANDIDATES = 500


def report_moves(
    session: Session, action: str, victims: Sequence[Task], moves: Mapping[str, int], preemptors: Mapping[str, Task]
) -> None:
    """Note for everybody who moves where there is room for them, and who gets theirs."""
    names = session.nodes.names
    gangs = [victim.job for victim in victims]
    guards = tuple(PluginApproval(name) for name, _ in _guards(session))
    for victim in victims:
        session.eviction_notes[victim.uid] = partial(_words, names[moves[victim.uid]])
        if session.accounts is not None:
            preemptor = preemptors[victim.uid]
            plain = basic_eviction_record(session, Eviction(victim, action, preemptor.job))
            session.accounts.evictions[victim.uid] = replace(
                plain,
                preemptor_pod=preemptor.key,
                preemptor_node=session.ledger.node_name(preemptor),
                allowed_by=guards,
                with_gang=gangs.count(victim.job) > 1,
            )


def _words(node: str) -> str:
    return f"there is room for it on {node}"


def refusal_of(session: Session, terms: Terms, pool: Pool, preemptor: Task, most: int | None) -> Reason:
    """Why no room could be made for a task; `most` is given when more would have had to move."""
    reason, objections = _why(session, terms, pool, preemptor, most)
    if session.accounts is not None:
        session.accounts.refuse(preemptor.job, PreemptionFailure(terms.action, preemptor.key, reason, objections))
    return reason


def _why(
    session: Session, terms: Terms, pool: Pool, preemptor: Task, most: int | None
) -> tuple[Reason, tuple[Objection, ...]]:
    if preemptor.never_preempts:
        return _reason(terms, Code.NEVER_PREEMPTS, f"{preemptor.key} has preemptionPolicy Never"), ()
    if most is not None:
        detail = f"more pods would have to be moved than may be moved in a cycle ({most} are left)"
        return _reason(terms, Code.PREEMPTION_INSUFFICIENT, detail), ()
    job = session.jobs[preemptor.job]
    tasks = [each.task for each in islice(pool.all_candidates(job), _MAX_CANDIDATES)]
    if not tasks:
        return _reason(terms, Code.NO_PREEMPTABLE_PODS, "there is no running pod that may be moved for it"), ()
    guarded = grouped(_guarded(session, terms, preemptor, tasks))
    if sum(len(each.objects) for each in guarded) == len(tasks):
        detail = f"none of {counted(len(tasks), 'running pod')} may be moved: {in_words(guarded)}"
        return _reason(terms, Code.NO_PREEMPTABLE_PODS, detail), guarded
    detail = "moving pods that may be moved, and for which there is room elsewhere, would not make the room"
    return _reason(terms, Code.PREEMPTION_INSUFFICIENT, detail), guarded


def _reason(terms: Terms, code: Code, detail: str) -> Reason:
    return Reason(code, f"{terms.action}: {detail}")


def _guarded(
    session: Session, terms: Terms, preemptor: Task, tasks: Sequence[Task]
) -> list[tuple[str, Callable[[], str], str]]:
    """Who guards whom: the first plugin that does not let a task go."""
    context, left = EvictionContext(terms.action, session.jobs[preemptor.job]), list(tasks)
    told: list[tuple[str, Callable[[], str], str]] = []
    for name, plugin in _guards(session):
        let_go = plugin.evictable(context, left)
        going = {task.uid for task in (left if let_go is None else let_go)}
        kept = [task for task in left if task.uid not in going]
        told += [(name, partial(words_of, plugin.veto, preemptor, task), task.key) for task in kept]
        left = [task for task in left if task.uid in going]
    return told


def _guards(session: Session) -> list[tuple[str, Plugin]]:
    """The plugins that have a say in who may be moved."""
    program = session.program
    answering = program.answering["evictable"]
    return [(name, plugin) for name, plugin in program.plugins.items() if plugin.guards_victims and name in answering]
