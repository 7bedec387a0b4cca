"""Pending preemptions: the pods that other actions would evict for waiting jobs if no pod were moved.

A pod that is moved now and evicted for such a job when it runs again would lose its work twice. It is left where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import NamedTuple

from stromboli.core.config.action import PreemptingAction, PreemptionTrial
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session
from stromboli.core.session.statement import OperationKind, Statement


class PendingPreemption(NamedTuple):
    action: str
    preemptor: str


class PendingPreemptions:
    """Those found so far, by victim. None unless the configuration has an action that preempts."""

    def __init__(self, session: Session, max_jobs: int) -> None:
        """At most `max_jobs` waiting jobs are tried."""
        self._session = session
        self._max_jobs = max_jobs
        self._actions = {
            action.name: action for action in session.program.actions if isinstance(action, PreemptingAction)
        }
        self._victims: dict[str, PendingPreemption] = {}

    @cached_property
    def _trials(self) -> dict[str, PreemptionTrial]:
        return {name: action.trial(self._session) for name, action in self._actions.items()}

    def taking(self, task: Task) -> PendingPreemption | None:
        """The one that evicts a task."""
        return self._victims.get(task.uid)

    def starving(self) -> list[Job]:
        """The jobs that wait for an action that preempts. Those with nominated capacity have had their evictions."""
        session = self._session
        waiting = session.starving() if self._actions else []
        waiting = [job for job in waiting if not session.nominations.has_nominations_for(job)]
        return sorted(waiting, key=session.job_order_key)[: self._max_jobs]

    def has_plan_for(self, job: Job) -> bool:
        """Report whether an action that preempts would serve the job without moves."""
        with self._session.serving(job), self._session.statement() as statement:
            return any(trial.try_for(job, statement) for trial in self._trials.values())

    def add(self, starving: Sequence[Job], moved: Sequence[Task]) -> bool:
        """Add what is evicted for these jobs, one after the other; report whether moved pods are among it."""
        with ExitStack() as undo:
            for job in starving:
                undo.enter_context(self._session.serving(job))
                statement = self._session.statement()
                undo.callback(statement.rollback, 0)
                self._try_for(job, statement)
        return any(task.uid in self._victims for task in moved)

    def _try_for(self, job: Job, statement: Statement) -> None:
        for name, trial in self._trials.items():
            if trial.try_for(job, statement):
                for operation in statement.operations:
                    if operation.kind is OperationKind.EVICT:
                        victims = [task.uid for task in operation.entry.tasks]
                        self._victims |= dict.fromkeys(victims, PendingPreemption(name, job.key))
                return
