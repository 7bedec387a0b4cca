"""Whole gangs as victims, those first that release most for their cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.plugin import Domain
from stromboli.core.model.jobs.job import Job, ready_in
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import PODS
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.units import EvictionUnit, UnitBuilder
from stromboli.core.session.session import Session

Amounts = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Need:
    """The minimum that a job needs in a domain."""

    job: Job
    tasks: Sequence[Task]
    domain: Domain
    #: By resource, the sum of the smallest requests that could suffice.
    amounts: Amounts
    #: The nodes on which released capacity is useful.
    useful: Mask


def need_of(session: Session, job: Job, tasks: Sequence[Task], domain: Domain) -> Need:
    number = min(session.tasks_until_ready(job), len(tasks))
    requests = [dict(task.task_class.request) for task in tasks]
    dimensions = sorted({dimension for request in requests for dimension in request})
    smallest = {d: sum(sorted(request.get(d, 0) for request in requests)[:number]) for d in dimensions}
    useful = np.zeros(len(session.nodes), dtype=np.bool_)
    for task_class in {task.task_class.number: task.task_class for task in tasks}.values():
        useful |= session.search.view(task_class).static.admitted
    if domain.inside is not None:
        useful &= domain.inside
    return Need(job, tasks, domain, {d: amount for d, amount in smallest.items() if amount}, useful)


class WholeGangs:
    """Gangs as units of eviction, in the order of eviction."""

    def __init__(self, session: Session, pool: CandidatePool, builder: UnitBuilder, *, whole: bool) -> None:
        """Without `whole`, only gangs that are already below their minimum may be evicted."""
        self._session = session
        self._pool = pool
        self._builder = builder
        self._whole = whole

    def in_order(self, need: Need) -> list[EvictionUnit]:
        """Less important gangs first; among these the broken ones, and last those that could shrink instead. Then by
        return, then those on the nodes with the smallest shortage.
        """
        units = list(self._units(need))
        places = self._places(need)
        first = {task.uid: place for place, task in enumerate(self._sorted(need.job, units))}

        def place(unit: EvictionUnit) -> tuple[Grade, int, float, tuple[int, int], int]:
            where = min(places.get(self._session.ledger.row_of(task), _NOWHERE) for task in unit.tasks)
            return unit.grade, self._surplus(unit), -self._return(need, unit), where, first[unit.tasks[0].uid]

        return sorted(units, key=place)

    def _sorted(self, job: Job, units: Sequence[EvictionUnit]) -> list[Task]:
        return self._session.victims_in_order([unit.tasks[0] for unit in units], job)

    def _units(self, need: Need) -> Iterator[EvictionUnit]:
        for candidate in self._one_of_each(need):
            job = self._session.jobs[candidate.task.job]
            if self._whole or ready_in(job.counts) < job.min_available:
                unit = self._builder.whole_gang(need.tasks[0], candidate)
                if unit is not None:
                    yield unit

    def _one_of_each(self, need: Need) -> Iterator[VictimCandidate]:
        """One candidate of every job that has any on a useful node."""
        seen = set()
        for row in sorted(self._pool.rows_for(need.job)):
            for candidate in self._pool.at(need.job, row) if need.useful[row] else ():
                if candidate.task.job not in seen:
                    seen.add(candidate.task.job)
                    yield candidate

    def _surplus(self, unit: EvictionUnit) -> int:
        """-1 for a gang that is below its minimum, 1 for one that is above."""
        job = self._session.jobs[unit.tasks[0].job]
        ready = ready_in(job.counts)
        return (ready > job.min_available) - (ready < job.min_available)

    def _return(self, need: Need, unit: EvictionUnit) -> float:
        """Return the fraction of the need that the gang releases on useful nodes, divided by what it holds anywhere."""
        here, anywhere = self.gain(need, unit), _held(unit.tasks)
        wanted = {d: amount for d, amount in need.amounts.items() if d != PODS}
        cost = sum(anywhere.get(d, 0) / amount for d, amount in wanted.items())
        return sum(min(here.get(d, 0), amount) / amount for d, amount in wanted.items()) / cost if cost else 0.0

    def gain(self, need: Need, unit: EvictionUnit) -> Amounts:
        """Return the amounts that the gang releases on useful nodes."""
        row_of = self._session.ledger.row_of
        return _held([task for task in unit.tasks if need.useful[row_of(task)]])

    def _places(self, need: Need) -> dict[int, tuple[int, int]]:
        """By node, its position in the order of lower cost bounds."""
        ranking = NodeRanking(self._session, self._pool, need.tasks[0], need.domain.inside, by_victims_alone=False)
        return {row: (place, row) for place, (_, row) in enumerate(ranking.following(ranking.size, ()))}

    def free(self, need: Need) -> dict[int, int]:
        """Return the amounts that will be free on useful nodes."""
        rows = self._session.ledger.all_rows

        def idle(dimension: int) -> NDArray[np.int64]:
            return np.maximum(rows.future_idle(dimension), 0)

        return {dimension: int(idle(dimension)[need.useful].sum()) for dimension in need.amounts}


_NOWHERE = (1 << 62, -1)


def _held(tasks: Sequence[Task]) -> dict[int, int]:
    held: dict[int, int] = {}
    for task in tasks:
        for dimension, amount in task.task_class.request:
            held[dimension] = held.get(dimension, 0) + amount
    return held
