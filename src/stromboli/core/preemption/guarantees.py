"""Guarantees of queues: what a queue holds after a set of evictions for another queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.queues.queue import QueueUsage
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.session import Session


class QueueGuarantees:
    """The guarantees of queues, and with a hierarchy also of their ancestors."""

    def __init__(self, session: Session) -> None:
        self._jobs = session.jobs
        self._usage = session.ledger.queues
        self._guaranteed = {queue.name: queue.guarantee for queue in session.queues.values() if queue.guarantee}
        self._has_ancestors = any(plugin.hierarchy for plugin in session.program.plugins.values())

    def __bool__(self) -> bool:
        return bool(self._guaranteed)

    def protecting(self, preemptor: Job, victims: Sequence[Task]) -> str | None:
        """Return a queue that would hold less than its guarantee without all these victims; None if there is none.

        What a queue loses to its own jobs, or an ancestor to the queues below it, stays available to it.
        """
        own = {usage.name for usage in self._chain(preemptor)}
        lost: dict[str, dict[int, int]] = {}
        for task in victims:
            for usage in self._chain(self._jobs[task.job]):
                if usage.name in self._guaranteed and usage.name not in own:
                    _add(lost.setdefault(usage.name, {}), task.task_class.request)
        return next((name for name, amounts in lost.items() if self._is_below(name, amounts)), None)

    def _chain(self, job: Job) -> Sequence[QueueUsage]:
        chain = self._usage[job.queue].chain
        return chain if self._has_ancestors else chain[:1]

    def _is_below(self, name: str, lost: dict[int, int]) -> bool:
        allocated = self._usage[name].allocated
        return any(d in lost and allocated[d] - lost[d] < amount for d, amount in self._guaranteed[name])


def _add(amounts: dict[int, int], request: Iterable[tuple[int, int]]) -> None:
    for dimension, amount in request:
        amounts[dimension] = amounts.get(dimension, 0) + amount
