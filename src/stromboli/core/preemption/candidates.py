"""Candidates for eviction, by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.cost_bounds import CandidateColumns
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.running_tasks import RunningTasks, worth_of
from stromboli.core.search.fixed_filters import is_in_excluded_shard
from stromboli.core.session.session import Session

#: The victim order of queues is computed again after the eviction of one in so many candidates.
_MAX_REFRESHES = 400


class VictimCandidate(NamedTuple):
    task: Task
    grade: Grade


_candidate = VictimCandidate._make
_grade_of = attrgetter("grade")


class CandidatePool:
    """The evictable tasks on nodes when the action began; their status is checked at each use."""

    def __init__(self, session: Session, rules: PreemptionRules, jobs: Iterable[Job]) -> None:
        self._session = session
        self._codes = session.ledger.codes
        self._statuses = frozenset(status.value for status in rules.statuses)
        self._rules = rules
        self._graded: dict[tuple[str, int], list[VictimCandidate]] = {}
        self._target_queues: dict[str, list[str]] = {}
        #: By the preemptor's queue, the positions of the others in its victim order.
        self._places: dict[str, dict[str, Grade]] = {}
        #: By the preemptor's queue, the number of evictions in this cycle after which that order is computed again.
        self._refresh_at: dict[str, int] = {}
        by_queue: dict[str, list[Job]] = {}
        protected = session.protected_jobs
        for job in jobs:
            spec = job.spec
            if spec.key not in protected:
                by_queue.setdefault(spec.queue, []).append(job)
        self._by_queue = {
            name: RunningTasks(session, rules.statuses, members, order=rules.order)
            for name, members in by_queue.items()
            if name in session.queues
        }

    def is_candidate(self, task: Task) -> bool:
        """Report whether the task is on a node of this shard, preemptable, and not already being evicted."""
        return (
            self._codes[task.row] in self._statuses
            and task.preemptable
            and not is_in_excluded_shard(self._session, task)
        )

    def queues_for(self, preemptor: Job) -> list[str]:
        """The queues whose tasks the preemptor may evict."""
        known = self._target_queues.get(preemptor.queue)
        if known is None:
            own, queues = preemptor.queue, self._session.queues
            if self._rules.own_queue:
                known = [own] if own in self._by_queue else []
            else:
                known = [name for name in self._by_queue if name != own and queues[name].reclaimable]
            self._target_queues[own] = known
        return known

    def at(self, preemptor: Job, row: int) -> list[VictimCandidate]:
        """The candidates on a node by grade, the first victims first."""
        where = preemptor.spec.queue, row
        graded = self._graded.get(where)
        if graded is None:
            graded = self._graded[where] = self._grade(preemptor, row)
        codes, statuses, own = self._codes, self._statuses, preemptor.spec.key
        jobs, may_target, thrash_guard = self._session.jobs, self._rules.may_target, self._rules.thrash_guard
        if may_target is None:
            current = [each for each in graded if codes[each.task.row] in statuses and each.task.job != own]
        else:
            targets = {key: may_target(preemptor, jobs[key]) for key in {each.task.job for each in graded}}
            current = [each for each in graded if codes[each.task.row] in statuses and targets[each.task.job]]
        if thrash_guard:
            current = [each for each in current if not thrash_guard.protects(jobs[each.task.job], preemptor)]
        return current

    def _grade(self, preemptor: Job, row: int) -> list[VictimCandidate]:
        graded = list[VictimCandidate]()
        for name in self.queues_for(preemptor):
            place, tasks = self._place(preemptor.spec.queue, name), self._by_queue[name].on(row)
            graded += [_candidate((task, (place, *worth))) for task, worth in tasks]
        graded.sort(key=_grade_of)
        return graded

    def in_order(self, preemptor: Job, candidates: Sequence[VictimCandidate]) -> list[VictimCandidate]:
        """Candidates by grade, and within a grade as the plugins order them."""
        if len(candidates) < 2:
            return list(candidates)
        grades = {each.task.uid: each for each in candidates}
        tasks = self._session.victims_in_order([each.task for each in candidates], preemptor)
        return sorted((grades[task.uid] for task in tasks), key=_grade_of)

    def candidate(self, preemptor: Job, task: Task) -> VictimCandidate:
        job = self._session.jobs[task.job]
        place = self._place(preemptor.queue, job.queue)
        return VictimCandidate(task, (place, *worth_of(job, task, self._rules.order)))

    def _place(self, preemptor: str, queue: str) -> Grade:
        """The position of a queue in the victim order of the preemptor's queue; queues that lose nothing are equal."""
        if self._rules.own_queue or queue == preemptor:
            return ()
        known = self._places.get(preemptor)
        if known is None:
            known = self._places[preemptor] = self._victim_order(preemptor)
        return known[queue]

    def _victim_order(self, preemptor: str) -> dict[str, Grade]:
        queues, key_of = self._session.queues, self._session.victim_queue_order_key
        keys = {name: key_of(queues[name], queues[preemptor]) for name in self._by_queue if name != preemptor}
        ordered = sorted(keys, key=keys.__getitem__)
        places, place = dict[str, Grade](), 0
        for name, before in zip(ordered, [*ordered[:1], *ordered], strict=False):
            place += keys[name] != keys[before]
            places[name] = (place,)
        return places

    def refresh(self, preemptor: Job) -> bool:
        """Report whether the victim order has changed because queues have lost tasks. Grades follow it."""
        if self._rules.own_queue:
            return False
        name, evicted = preemptor.queue, len(self._session.decisions.evictions)
        if evicted < self._refresh_at.get(name, 0):
            return False
        size = sum(len(part.tasks) for part in self._by_queue.values())
        self._refresh_at[name] = evicted + 1 + size // _MAX_REFRESHES
        known, self._places[name] = self._places.get(name), self._victim_order(name)
        if known in (None, self._places[name]):
            return False
        self._graded = {where: graded for where, graded in self._graded.items() if where[0] != name}
        return True

    def depends_on_preemptor(self, preemptor: Job) -> bool:
        """Report whether some candidates of the target queues are none for this preemptor."""
        return bool(self._rules.thrash_guard) or any(self.is_candidate(task) for task in preemptor.tasks.values())

    def rows_for(self, preemptor: Job) -> set[int]:
        return {row for name in self.queues_for(preemptor) for row in np.unique(self._by_queue[name].rows).tolist()}

    def releasable(self, preemptor: Job, dimensions: list[int]) -> NDArray[np.int64]:
        """Return upper bounds of the amounts that all candidates of a node hold, one row per dimension."""
        total = np.zeros((len(dimensions), len(self._session.nodes)), dtype=np.int64)
        for name in self.queues_for(preemptor):
            for place, dimension in enumerate(dimensions):
                total[place] += self._by_queue[name].held(dimension)
        return total

    def candidates(self, preemptor: Job, dimensions: list[int]) -> tuple[CandidateColumns, list[Grade]]:
        """All candidates in columns, with the grades of their ranks."""
        parts = [(name, self._by_queue[name]) for name in self.queues_for(preemptor)]
        grades: set[Grade] = set()
        of_parts = []
        for name, part in parts:
            place, (worths, which) = self._place(preemptor.queue, name), part.worths()
            of_part = [(place, *each) for each in worths]
            of_parts.append((of_part, which))
            grades.update(of_part)
        ordered = sorted(grades)
        rank_of = {grade: rank for rank, grade in enumerate(ordered)}
        ranks = [np.array([rank_of[grade] for grade in of_part], dtype=np.int64)[which] for of_part, which in of_parts]
        current = [part for _, part in parts]
        columns = CandidateColumns(
            rows=_joined(part.rows for part in current),
            ranks=_joined(ranks),
            created=_joined(part.created for part in current),
            numbers=_joined(part.numbers for part in current),
            amounts=[_joined(part.amounts(dimension) for part in current) for dimension in dimensions],
        )
        return columns, ordered

    def all_candidates(self, preemptor: Job) -> Iterator[VictimCandidate]:
        """All candidates of all nodes."""
        for row in sorted(self.rows_for(preemptor)):
            yield from self.at(preemptor, row)


def _joined(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate columns; without any, an empty one."""
    columns = list(parts)
    return np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
