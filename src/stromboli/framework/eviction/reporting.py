"""Why room could not be made, and what became of those who made it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from stromboli.framework.eviction.pool import Candidate, Pool
from stromboli.framework.eviction.terms import Terms
from stromboli.framework.session import Session
from stromboli.framework.waiting import counted
from stromboli.model.job import Job
from stromboli.model.reasons import Code, Reason
from stromboli.model.task import Task

#: So many candidates are looked at to say which rule spares them.
_LOOKED_AT = 500


def failure(session: Session, terms: Terms, pool: Pool, claimant: Task) -> Reason:
    """Which rule kept a claimant from getting room."""
    if claimant.never_preempts:
        detail = f"{terms.action}: {claimant.key} has preemptionPolicy Never"
        return Reason(Code.NEVER_PREEMPTS, detail)
    job = session.jobs[claimant.job]
    candidates = list(islice(pool.everybody_for(job), _LOOKED_AT))
    if not candidates:
        return Reason(Code.NO_LAWFUL_VICTIMS, f"{terms.action}: {_nobody(terms, job)}")
    tasks = [each.task for each in candidates]
    lawful = terms.lawful(claimant, tasks)
    if not lawful:
        return Reason(Code.NO_LAWFUL_VICTIMS, f"{terms.action}: {_spared(session, terms, claimant, candidates)}")
    if not any(session.ledger.budgets.may_spend((task.uid,)) for task in lawful):
        detail = f"disruption budgets keep {counted(len(lawful), 'pod')} that could be evicted"
        return Reason(Code.DISRUPTION_BUDGET, f"{terms.action}: {detail}")
    number = counted(len(lawful), "pod") if len(tasks) < _LOOKED_AT else "all pods"
    detail = f"evicting {number} that may go would not make the room that is needed"
    return Reason(Code.EVICTION_IN_VAIN, f"{terms.action}: {detail}")


def _nobody(terms: Terms, job: Job) -> str:
    where = f"queue {job.queue}" if terms.question == "preemptable" else "other queues"
    return f"no running pod of {where} may be evicted"


def _spared(session: Session, terms: Terms, claimant: Task, candidates: list[Candidate]) -> str:
    words = ", ".join(f"{name} spares {number}" for name, number in _objections(session, terms, claimant, candidates))
    return f"none of {counted(len(candidates), 'running pod')} may be evicted" + (f": {words}" if words else "")


def _objections(
    session: Session, terms: Terms, claimant: Task, candidates: list[Candidate]
) -> Iterator[tuple[str, int]]:
    tasks = [each.task for each in candidates]
    for name, answer in session.program.named(terms.question):
        victims = answer(claimant, tasks)
        if victims is not None and len(victims) < len(tasks):
            yield name, len(tasks) - len(victims)


class Notes:
    """What evictions are for: told in words when somebody asks."""

    def __init__(self, session: Session, terms: Terms) -> None:
        self._session = session
        self._rules = ", ".join(name for name, _ in session.program.named(terms.question)) or "nobody"

    def note(self, victim: Task, claimant: Task, row: int, spared: int) -> Callable[[], str]:
        """The words for one victim: who gets the room, what is freed, who was asked, and who was spared."""
        return partial(self._words, victim, claimant, row, spared)

    def _words(self, victim: Task, claimant: Task, row: int, spared: int) -> str:
        session = self._session
        freed = session.axis.describe(victim.task_class.request)
        words = f"{claimant.key} gets its room on {session.nodes.names[row]}; frees {freed}; allowed by {self._rules}"
        if session.ledger.row_of(victim) != row:
            return f"{words}; its gang goes whole"
        return f"{words}; {counted(spared, 'other pod')} there could stay" if spared else words
