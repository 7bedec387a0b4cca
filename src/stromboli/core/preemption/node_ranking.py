"""Nodes in the order of their lower cost bounds, for one kind of preemptor.

The bounds are computed from amounts alone. The caller takes the first node, passes its candidates to the plugins, and
continues with the next one as long as that could be cheaper. When the accounting of a node changes, its bound is
computed again.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.resources import Request
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.cost import Bound, Grade
from stromboli.core.preemption.cost_bounds import exceeds_running, min_costs, shortage
from stromboli.core.session.session import Session

_Entry = tuple[Bound, int, int]
_FREE: Bound = (), 0, 0.0, 0


class NodeRanking:
    """All nodes on which preemption is possible for preemptors that no rule distinguishes."""

    def __init__(
        self,
        session: Session,
        pool: CandidatePool,
        preemptor: Task,
        within: Mask | None = None,
        *,
        by_victims_alone: bool,
    ) -> None:
        self._session = session
        admitted = session.search.view(preemptor.task_class).static.admitted
        self._admitted: Mask = admitted if within is None else admitted & within
        #: Whether free capacity does not help: an eviction is necessary in any case.
        self._by_victims_alone = by_victims_alone
        self._ledger = session.ledger
        self._pool = pool
        self._preemptor = preemptor
        self._request: Request = preemptor.task_class.request
        self._versions: dict[int, int] = {}
        #: Victims that plugins rejected for this kind of preemptor.
        self._refused: set[str] = set()
        #: Rows and uids added since the last `settle`; removed again after a rollback.
        self._lately_dropped: list[int] = []
        self._lately_refused: list[str] = []
        #: Rows that were removed because their nodes are about to change.
        self._to_recompute: list[int] = []
        self._fresh = self._ledger.log.position
        self._heap: list[_Entry] = [(bound, row, 0) for row, bound in self._first_bounds()]
        heapq.heapify(self._heap)
        #: The number of nodes on which preemption is possible.
        self.size = len(self._heap)

    @property
    def _job(self) -> Job:
        return self._session.jobs[self._preemptor.job]

    def _possible(self) -> list[int]:
        """Nodes that would have enough capacity without all candidates."""
        ledger, rows = self._ledger, self._ledger.all_rows
        fits = self._admitted.copy()
        dimensions = [dimension for dimension, _ in self._request]
        releasable = self._pool.releasable(self._job, dimensions)
        for place, (dimension, amount) in enumerate(self._request):
            fits &= rows.future_idle(dimension) + releasable[place] >= amount
        occupied = np.zeros(len(ledger.nodes), dtype=np.bool_)
        occupied[list(self._pool.rows_for(self._job))] = True
        for_free = np.ones(len(ledger.nodes), dtype=np.bool_)
        for dimension, amount in self._request:
            for_free &= rows.future_idle(dimension) >= amount
        possible: list[int] = np.flatnonzero(fits & (occupied | for_free)).tolist()
        return possible

    def _first_bounds(self) -> Iterable[tuple[int, Bound]]:
        """The bounds of all nodes. Where candidates depend on the preemptor, they are computed one by one."""
        possible = self._possible()
        if self._pool.depends_on_preemptor(self._job) or not possible:
            return [(row, bound) for row in possible if (bound := self.bound(row)) is not None]
        return self._bounds_over_columns(possible)

    def _bounds_over_columns(self, possible: list[int]) -> Iterator[tuple[int, Bound]]:
        rows, asked = self._ledger.all_rows, np.zeros(len(self._ledger.nodes), dtype=np.bool_)
        asked[possible] = True
        missing = [amount - rows.future_idle(dimension) for dimension, amount in self._request]
        if not self._by_victims_alone:
            free = np.all([short <= 0 for short in missing], axis=0)
            yield from ((row, _FREE) for row in np.flatnonzero(asked & free).tolist())
            asked &= ~free
        candidates, grades = self._pool.candidates(self._job, [dimension for dimension, _ in self._request])
        costs = min_costs(candidates.on(asked), missing)
        columns = (costs.rows, costs.ranks, costs.victims, costs.ages, costs.numbers)
        for row, rank, victims, age, number in zip(*(column.tolist() for column in columns), strict=True):
            yield row, (grades[rank], victims, age, -number)

    # -- bounds -------------------------------------------------------------------------------------------------

    def candidates(self, preemptor: Job, row: int) -> list[VictimCandidate]:
        """The candidates on a node that were not rejected before."""
        found, refused = self._pool.at(preemptor, row), self._refused
        return [each for each in found if each.task.uid not in refused] if refused else found

    def bound(self, row: int) -> Bound | None:
        """The lower cost bound of the node; None when preemption is impossible there."""
        short = shortage(self._ledger, self._request, row)
        if not short:
            return self._cheapest(row) if self._by_victims_alone else _FREE
        if exceeds_running(self._ledger, short, row):
            return None
        freed = dict.fromkeys((dimension for dimension, _ in short), 0)
        largest = dict(freed)
        candidates = self.candidates(self._job, row)
        for place, each in enumerate(candidates):
            for dimension, amount in each.task.task_class.request:
                if dimension in freed:
                    freed[dimension] += amount
                    largest[dimension] = max(largest[dimension], amount)
            if all(freed[dimension] >= missing for dimension, missing in short):
                return self._priced(short, largest, candidates, place)
        return None

    def _cheapest(self, row: int) -> Bound | None:
        """The bound where any single eviction may suffice."""
        candidates = self.candidates(self._job, row)
        if not candidates:
            return None
        return _bound(candidates, candidates[0].grade, 1)

    def _priced(
        self, short: Request, largest: dict[int, int], candidates: Sequence[VictimCandidate], place: int
    ) -> Bound:
        """The bound, when the candidates up to `place` suffice: all of its grade may be among the victims."""
        grade = candidates[place].grade
        for each in candidates[place + 1 :]:
            if each.grade != grade:
                break
            for dimension, amount in each.task.task_class.request:
                if dimension in largest:
                    largest[dimension] = max(largest[dimension], amount)
        number = max(-(-missing // largest[dimension]) for dimension, missing in short)
        return _bound(candidates, grade, number)

    # -- order --------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Recompute the nodes that have changed."""
        log = self._ledger.log
        if log.position == self._fresh and not self._to_recompute:
            return
        changed = {*log.since(self._fresh).tolist(), *self._to_recompute}
        self._fresh = log.position
        self._to_recompute.clear()
        for row in changed:
            if self._admitted[row]:
                self._put(row)

    def _put(self, row: int) -> None:
        version = self._versions[row] = self._versions.get(row, 0) + 1
        bound = self.bound(row)
        if bound is not None:
            heapq.heappush(self._heap, (bound, row, version))

    def first(self) -> tuple[Bound, int] | None:
        """The cheapest node; it stays in the ranking."""
        heap, versions = self._heap, self._versions
        while heap:
            bound, row, version = heap[0]
            if versions.get(row, 0) == version:
                return bound, row
            heapq.heappop(heap)
        return None

    def following(self, number: int, besides: Collection[int]) -> list[tuple[Bound, int]]:
        """The cheapest nodes besides some. They are found from the top of the heap downwards, without changing it."""
        heap, versions, found = self._heap, self._versions, list[tuple[Bound, int]]()
        open_places = [(heap[0], 0)] if heap else []
        while open_places and len(found) < number:
            (bound, row, version), place = heapq.heappop(open_places)
            if versions.get(row, 0) == version and row not in besides:
                found.append((bound, row))
            for below in range(2 * place + 1, min(2 * place + 3, len(heap))):
                heapq.heappush(open_places, (heap[below], below))
        return found

    def take(self) -> None:
        """Remove the first node."""
        heapq.heappop(self._heap)

    def put_back(self, bound: Bound, row: int) -> None:
        heapq.heappush(self._heap, (bound, row, self._versions.get(row, 0)))

    def recompute(self, row: int) -> None:
        """Compute the bound of the node that was removed, and will now change, at the next `refresh`."""
        self._to_recompute.append(row)

    def drop(self, row: int) -> None:
        """Record that preemption is impossible on the node that was removed."""
        self._lately_dropped.append(row)

    def refuse(self, refused: Sequence[Task]) -> None:
        """Record that the plugins reject all of these victims."""
        for task in refused:
            if task.uid not in self._refused:
                self._refused.add(task.uid)
                self._lately_refused.append(task.uid)

    # -- commit and undo ----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Keep the nodes and victims recorded as impossible."""
        if self._lately_dropped or self._lately_refused:
            self._lately_dropped, self._lately_refused = [], []

    def forget(self) -> None:
        """Remove what was recorded for a plan that is rolled back."""
        self._refused.difference_update(self._lately_refused)
        for row in self._lately_dropped:
            self._put(row)
        self.settle()


def _bound(candidates: Sequence[VictimCandidate], grade: Grade, number: int) -> Bound:
    """The bound for this number of victims up to a grade."""
    tasks = [each.task for each in candidates if each.grade <= grade]
    ages = sorted(-task.created for task in tasks)
    return grade, number, sum(ages[:number]), -max(task.order[1] for task in tasks)
