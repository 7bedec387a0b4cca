"""Whole gangs that could go for the sake of another, those first whose end gives most for what it costs."""

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
from stromboli.core.preemption.candidates import Candidate, Pool
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.node_ranking import NodeRanking
from stromboli.core.preemption.units import Unit, UnitBuilder
from stromboli.core.session.session import Session

Amounts = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Need:
    """What a job asks of a domain, at least."""

    job: Job
    tasks: Sequence[Task]
    domain: Domain
    #: By resource, what the smallest tasks take that could be enough.
    amounts: Amounts
    #: The nodes on which what leaves is of use.
    useful: Mask


def need_of(session: Session, job: Job, tasks: Sequence[Task], domain: Domain) -> Need:
    number = min(session.tasks_until_ready(job), len(tasks))
    requests = [dict(task.task_class.request) for task in tasks]
    dimensions = sorted({dimension for request in requests for dimension in request})
    least = {d: sum(sorted(request.get(d, 0) for request in requests)[:number]) for d in dimensions}
    useful = np.zeros(len(session.nodes), dtype=np.bool_)
    for task_class in {task.task_class.number: task.task_class for task in tasks}.values():
        useful |= session.search.view(task_class).static.admitted
    if domain.inside is not None:
        useful &= domain.inside
    return Need(job, tasks, domain, {d: amount for d, amount in least.items() if amount}, useful)


class WholeGangs:
    """Gangs as units of eviction, in the order in which they go."""

    def __init__(self, session: Session, pool: Pool, maker: UnitBuilder, *, whole: bool) -> None:
        """Unless `whole` gangs may go, only those do that are below their minimum anyway."""
        self._session = session
        self._pool = pool
        self._maker = maker
        self._whole = whole

    def in_order(self, need: Need) -> list[Unit]:
        """Less important gangs first; among these those that are broken already, and those last that could shrink
        instead. Then by what they return, then those on the nodes where least is missing.
        """
        units = list(self._units(need))
        places = self._places(need)
        first = {task.uid: place for place, task in enumerate(self._sorted(need.job, units))}

        def place(unit: Unit) -> tuple[Grade, int, float, tuple[int, int], int]:
            where = min(places.get(self._session.ledger.row_of(task), _NOWHERE) for task in unit.tasks)
            return unit.grade, self._surplus(unit), -self._return(need, unit), where, first[unit.tasks[0].uid]

        return sorted(units, key=place)

    def _sorted(self, job: Job, units: Sequence[Unit]) -> list[Task]:
        return self._session.victims_in_order([unit.tasks[0] for unit in units], job)

    def _units(self, need: Need) -> Iterator[Unit]:
        for candidate in self._one_of_each(need):
            job = self._session.jobs[candidate.task.job]
            if self._whole or ready_in(job.counts) < job.min_available:
                unit = self._maker.whole_gang(need.tasks[0], candidate)
                if unit is not None:
                    yield unit

    def _one_of_each(self, need: Need) -> Iterator[Candidate]:
        """One candidate of every job that has any where it is of use."""
        seen = set()
        for row in sorted(self._pool.rows_for(need.job)):
            for candidate in self._pool.at(need.job, row) if need.useful[row] else ():
                if candidate.task.job not in seen:
                    seen.add(candidate.task.job)
                    yield candidate

    def _surplus(self, unit: Unit) -> int:
        """-1 for a gang that is below its minimum, 1 for one that is above."""
        job = self._session.jobs[unit.tasks[0].job]
        ready = ready_in(job.counts)
        return (ready > job.min_available) - (ready < job.min_available)

    def _return(self, need: Need, unit: Unit) -> float:
        """What the gang leaves behind where it is of use, as part of the need, for each part of the need that it holds
        anywhere. One whose members are all of use, and that holds no more than is needed, has 1.
        """
        here, anywhere = self.gain(need, unit), _held(unit.tasks)
        wanted = {d: amount for d, amount in need.amounts.items() if d != PODS}
        cost = sum(anywhere.get(d, 0) / amount for d, amount in wanted.items())
        return sum(min(here.get(d, 0), amount) / amount for d, amount in wanted.items()) / cost if cost else 0.0

    def gain(self, need: Need, unit: Unit) -> Amounts:
        """What the gang leaves behind where it is of use."""
        row_of = self._session.ledger.row_of
        return _held([task for task in unit.tasks if need.useful[row_of(task)]])

    def _places(self, need: Need) -> dict[int, tuple[int, int]]:
        """By node, its place in the order of what room on it costs at least."""
        ranking = NodeRanking(self._session, self._pool, need.tasks[0], need.domain.inside, by_victims_alone=False)
        return {row: (place, row) for place, (_, row) in enumerate(ranking.following(ranking.size, ()))}

    def free(self, need: Need) -> dict[int, int]:
        """What will be free where it is of use."""
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
