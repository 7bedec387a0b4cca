"""Eviction headroom: what a job could gain by preemption at most, to decide whether to admit it."""

from __future__ import annotations

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.resources.resources import Amounts, Request
from stromboli.core.preemption.rules import ON_NODE
from stromboli.core.session.session import Session

#: The actions that preempt within a queue, and between queues.
_PREEMPTING, _RECLAIMING = frozenset(("preempt", "gangpreempt")), frozenset(("reclaim", "gangreclaim"))
_ON_NODE = frozenset(status.value for status in ON_NODE)


class EvictionHeadroom:
    """The amounts held by less important jobs of a queue, and by queues above their share. Computed on first use."""

    def __init__(self, session: Session) -> None:
        self._session = session
        names = {action.name for action in session.program.actions}
        self._preempts, self._reclaims = bool(names & _PREEMPTING), bool(names & _RECLAIMING)
        self._held: dict[str, dict[int, Amounts]] | None = None
        self._excesses: dict[str, Amounts] = {}
        self._total: Amounts | None = None

    def can_free(self, job: Job, wanted: Request) -> bool:
        """Report whether the job could preempt as much as it needs."""
        if not (self._preempts or self._reclaims):
            return False
        gain = self._gain(job)
        return all(gain[dimension] >= amount for dimension, amount in wanted)

    def _gain(self, job: Job) -> Amounts:
        gain = [0] * self._session.snapshot.size
        if self._preempts:
            for priority, held in self._by_priority(job.queue).items():
                if priority < job.priority:
                    _add(gain, held)
        if self._reclaims:
            _add(gain, self._all_excess())
            _add(gain, [-amount for amount in self._excesses.get(job.queue, ())])
        return gain

    def _all_excess(self) -> Amounts:
        """Return the sum of the amounts that queues have above their share; constant while jobs are admitted."""
        if self._total is None:
            self._total = [0] * self._session.snapshot.size
            for name, queue in self._session.queues.items():
                if queue.reclaimable:
                    self._excesses[name] = self._excess(name)
                    _add(self._total, self._excesses[name])
        return self._total

    def _by_priority(self, queue: str) -> dict[int, Amounts]:
        if self._held is None:
            self._held = self._sums()
        return self._held.get(queue, {})

    def _sums(self) -> dict[str, dict[int, Amounts]]:
        session, sums = self._session, dict[str, dict[int, Amounts]]()
        codes = session.ledger.codes
        for job in session.jobs.values():
            for task in job.tasks.values():
                if codes[task.row] in _ON_NODE and task.preemptable:
                    of_queue = sums.setdefault(job.queue, {})
                    held = of_queue.setdefault(job.priority, [0] * session.snapshot.size)
                    for dimension, amount in task.task_class.request:
                        held[dimension] += amount
        return sums

    def _excess(self, queue: str) -> Amounts:
        """Return the amounts of preemptable pods of a queue, limited to the excess of the queue above its share."""
        session = self._session
        facts = session.queue_facts(session.queues[queue])
        held = [0] * session.snapshot.size
        for each in self._by_priority(queue).values():
            _add(held, each)
        if facts is None:
            return held
        allocated = session.ledger.queues[queue].allocated
        return [
            min(amount, max(0, has - deserved))
            for amount, has, deserved in zip(held, allocated, facts.deserved, strict=True)
        ]


def _add(amounts: Amounts, more: Amounts) -> None:
    for dimension, amount in enumerate(more):
        amounts[dimension] += amount
