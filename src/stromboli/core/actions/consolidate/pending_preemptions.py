"""Pending preemptions: the waiting jobs for which other actions evict pods, in this cycle or in the next one.

A pod that is moved now and evicted for such a job when it runs again would lose its work twice. It is left where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from stromboli.core.config.action import PreemptingAction, PreemptionTrial
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session


class PendingPreemption(NamedTuple):
    action: str
    trial: PreemptionTrial
    preemptor: Task


class PendingPreemptions:
    """Those found so far. Empty unless the configuration has an action that preempts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._actions = {
            action.name: action for action in session.program.actions if isinstance(action, PreemptingAction)
        }
        self._found: list[PendingPreemption] = []

    @cached_property
    def _trials(self) -> dict[str, PreemptionTrial]:
        return {name: action.trial(self._session) for name, action in self._actions.items()}

    def starving(self) -> list[Job]:
        """The jobs that wait for an action that preempts. Those with nominated capacity have had their evictions."""
        nominations = self._session.nominations
        waiting = self._session.starving() if self._actions else []
        return [job for job in waiting if not nominations.has_nominations_for(job)]

    def add(self, starving: Sequence[Job], moved: Sequence[Task]) -> bool:
        """Add the starving jobs for which pods will be evicted, perhaps moved ones; report whether there are any."""
        before = len(self._found)
        for job, preemptor in self._kinds(starving):
            for name, trial in self._trials.items():
                if self._may_evict(trial, preemptor, moved) and trial.could_preempt_for(job):
                    self._found.append(PendingPreemption(name, trial, preemptor))
        return len(self._found) > before

    def _kinds(self, starving: Sequence[Job]) -> Iterator[tuple[Job, Task]]:
        """The first of the jobs that no rule distinguishes, each with its first task."""
        known = set[tuple[object, ...]]()
        for job in starving:
            tasks = self._session.pending(job, best_effort=True)
            if tasks:
                kind = job.queue, job.priority, tasks[0].priority, tasks[0].task_class.number, len(tasks)
                if kind not in known:
                    known.add(kind)
                    yield job, tasks[0]

    def _may_evict(self, trial: PreemptionTrial, preemptor: Task, tasks: Sequence[Task]) -> bool:
        """Report whether one of the tasks may be evicted for a preemptor, each seen alone."""
        return any(trial.evictable(preemptor, [task]) for task in tasks)

    def taking(self, task: Task) -> PendingPreemption | None:
        """The first one for which a task may be evicted."""
        return next((each for each in self._found if each.trial.evictable(each.preemptor, [task])), None)
