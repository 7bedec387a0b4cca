"""shuffle: evict running pods that plugins select for moving, without a preemptor.

Plugins select the pods; protections and disruption budgets apply. The controller of an evicted pod creates it again,
and it is scheduled anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stromboli.core.config.action import Action
from stromboli.core.config.plugin import EvictionContext
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES, Task, TaskStatus
from stromboli.core.search.fixed_filters import is_in_excluded_shard
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

_RUNNING = TaskStatus.RUNNING.value
_HOLDING = frozenset(status.value for status in ALLOCATED_STATUSES)


class Shuffle(Action):
    name = "shuffle"

    def execute(self, session: Session) -> None:
        if not session.program.answering["victim_tasks"]:
            return
        named = session.victim_tasks(list(_running(session)))
        kept = self._evict(session, list(_approved_victims(session, named)))
        if kept:
            message = f"{self.name}: disruption budgets protect {counted(len(kept), 'pod')} that should be moved"
            session.warnings.append(f"{message}: {', '.join(task.key for task in kept)}")

    def _evict(self, session: Session, victims: Sequence[Sequence[Task]]) -> list[Task]:
        """Evict as many units as budgets allow, in order; return the tasks that a budget protects."""
        kept, rules = list[Task](), ", ".join(name for name, _ in session.program.named("victim_tasks"))
        with session.statement() as statement:
            for unit in victims:
                if not session.ledger.budgets.may_spend([task.uid for task in unit]):
                    kept += unit
                    continue
                for task in unit:
                    session.eviction_notes.setdefault(task.uid, lambda: f"selected by {rules}")
                    statement.evict(task, self.name)
            statement.commit()
        return kept


def _running(session: Session) -> Iterator[Task]:
    """All running tasks in an order that depends on their names only: of a job, the last to be served first."""
    for key in sorted(session.jobs):
        tasks = [task for task in session.jobs[key].tasks.values() if _is_within_reach(session, task)]
        if len(tasks) > 1:
            tasks.sort(key=session.task_order_key, reverse=True)
        yield from tasks


def _is_within_reach(session: Session, task: Task) -> bool:
    """Report whether the task runs on a node of this shard."""
    ledger = session.ledger
    is_on_node = ledger.codes[task.row] == _RUNNING and ledger.row_of(task) >= 0
    return is_on_node and not is_in_excluded_shard(session, task)


def _approved_victims(session: Session, named: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """The tasks that no guard protects, in units that are evicted together; guards evaluate the pods of each job
    together. Where a job is evicted as a whole, its other pods follow the named ones, or no pod is evicted.
    """
    guards, _, _ = session.program.guarded("evictable")
    ledger = session.ledger
    by_job: dict[str, list[Task]] = {}
    for task in named:
        by_job.setdefault(task.job, []).append(task)
    for key, tasks in by_job.items():
        is_whole = session.jobs[key].spec.evicted_whole
        if is_whole:
            tasks = [task for task in session.jobs[key].tasks.values() if ledger.codes[task.row] in _HOLDING]
        number = len(tasks)
        for guard in guards:
            victims = guard(EvictionContext(Shuffle.name, session.jobs[key]), tasks)
            tasks = tasks if victims is None else list(victims)
        if not is_whole:
            yield from ((task,) for task in tasks)
        elif len(tasks) == number and all(task.preemptable and _is_within_reach(session, task) for task in tasks):
            yield tasks
