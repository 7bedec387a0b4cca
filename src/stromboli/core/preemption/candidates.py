"""Who could be evicted, by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.cost_bounds import CandidateColumns
from stromboli.core.preemption.rules import Terms
from stromboli.core.preemption.running_tasks import Standing, has_spare_members
from stromboli.core.search.shard_filter import is_in_excluded_shard
from stromboli.core.session.session import Session


class Candidate(NamedTuple):
    task: Task
    grade: Grade


def _grade_of(candidate: Candidate) -> Grade:
    return candidate.grade


def _grade(place: Grade, job: Job, task: Task) -> Grade:
    return place, job.spec.priority, task.priority, not has_spare_members(job)


class Pool:
    """The tasks that stand on nodes and may be asked to leave, as they were when the action began.

    Whether one still stands is asked anew each time: others may have taken it since.
    """

    def __init__(self, session: Session, terms: Terms, jobs: Iterable[Job]) -> None:
        self._session = session
        self._codes = session.ledger.codes
        self._statuses = frozenset(status.value for status in terms.statuses)
        self._terms = terms
        self._graded: dict[tuple[str, int], list[Candidate]] = {}
        self._reached: dict[str, list[str]] = {}
        self._places: dict[tuple[str, str], Grade] = {}
        by_queue: dict[str, list[Job]] = {}
        for job in jobs:
            by_queue.setdefault(job.spec.queue, []).append(job)
        self._by_queue = {
            name: Standing(session, terms.statuses, members)
            for name, members in by_queue.items()
            if name in session.queues
        }

    def stands(self, task: Task) -> bool:
        """Whether the task is on a node within reach, and neither protected by its owner nor already on its way out."""
        return (
            self._codes[task.row] in self._statuses
            and task.preemptable
            and not is_in_excluded_shard(self._session, task)
        )

    def queues_for(self, preemptor: Job) -> list[str]:
        """The queues from which the claimant may take something."""
        known = self._reached.get(preemptor.queue)
        if known is None:
            known = [name for name in self._by_queue if self._reaches_queue(preemptor, name)]
            self._reached[preemptor.queue] = known
        return known

    def _reaches_queue(self, preemptor: Job, name: str) -> bool:
        if self._terms.own_queue:
            return name == preemptor.queue
        return name != preemptor.queue and self._session.queues[name].reclaimable

    def at(self, preemptor: Job, row: int) -> list[Candidate]:
        """The candidates on a node by grade, those first that lose first."""
        graded = self._graded.get((preemptor.queue, row))
        if graded is None:
            graded = self._graded[preemptor.queue, row] = self._grade(preemptor, row)
        codes, statuses = self._codes, self._statuses
        standing = [each for each in graded if codes[each.task.row] in statuses]
        jobs, reaches, thrash_guard = self._session.jobs, self._terms.reaches, self._terms.thrash_guard
        if thrash_guard:
            standing = [each for each in standing if not thrash_guard.protects(jobs[each.task.job], preemptor)]
        if not self._terms.own_queue:
            return standing
        return [each for each in standing if reaches(preemptor, jobs[each.task.job])]

    def _grade(self, preemptor: Job, row: int) -> list[Candidate]:
        jobs, graded = self._session.jobs, list[Candidate]()
        for name in self.queues_for(preemptor):
            place, tasks = self._place(preemptor.queue, name), self._by_queue[name].on(row)
            graded += [Candidate(task, _grade(place, jobs[task.job], task)) for task in tasks]
        graded.sort(key=_grade_of)
        return graded

    def in_order(self, preemptor: Job, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Candidates by grade, and within a grade as the plugins order them."""
        if len(candidates) < 2:
            return list(candidates)
        grades = {each.task.uid: each for each in candidates}
        tasks = self._session.victims_in_order([each.task for each in candidates], preemptor)
        return sorted((grades[task.uid] for task in tasks), key=_grade_of)

    def candidate(self, preemptor: Job, task: Task) -> Candidate:
        job = self._session.jobs[task.job]
        return Candidate(task, _grade(self._place(preemptor.queue, job.queue), job, task))

    def _place(self, preemptor: str, queue: str) -> Grade:
        """Where a queue stands among those that lose something to the claimant's."""
        known = self._places.get((preemptor, queue))
        if known is None:
            queues = self._session.queues
            known = () if queue == preemptor else self._session.victim_queue_order_key(queues[queue], queues[preemptor])
            self._places[preemptor, queue] = known
        return known

    def depends_on_preemptor(self, preemptor: Job) -> bool:
        """Whether some candidates of the queues in reach are none for this claimant."""
        return bool(self._terms.thrash_guard) or any(self.stands(task) for task in preemptor.tasks.values())

    def rows_for(self, preemptor: Job) -> set[int]:
        return {row for name in self.queues_for(preemptor) for row in self._by_queue[name].rows.tolist()}

    def releasable(self, preemptor: Job, dimensions: list[int]) -> NDArray[np.int64]:
        """What all candidates of a node hold at most, one row per dimension."""
        total = np.zeros((len(dimensions), len(self._session.nodes)), dtype=np.int64)
        for name in self.queues_for(preemptor):
            for place, dimension in enumerate(dimensions):
                total[place] += self._by_queue[name].held(dimension)
        return total

    def candidates(self, preemptor: Job, dimensions: list[int]) -> tuple[CandidateColumns, list[Grade]]:
        """All candidates in columns, with the grades that their ranks stand for."""
        parts = [(name, self._by_queue[name]) for name in self.queues_for(preemptor)]
        grades: set[Grade] = set()
        of_parts = []
        for name, part in parts:
            place, (worths, which) = self._place(preemptor.queue, name), part.worths
            of_part = [(place, *each) for each in worths]
            of_parts.append((of_part, which))
            grades.update(of_part)
        ordered = sorted(grades)
        rank_of = {grade: rank for rank, grade in enumerate(ordered)}
        ranks = [np.array([rank_of[grade] for grade in of_part], dtype=np.int64)[which] for of_part, which in of_parts]
        standing = [part for _, part in parts]
        columns = CandidateColumns(
            rows=_joined(part.rows for part in standing),
            ranks=_joined(ranks),
            created=_joined(part.created for part in standing),
            numbers=_joined(part.numbers for part in standing),
            amounts=[_joined(part.amounts(dimension) for part in standing) for dimension in dimensions],
        )
        return columns, ordered

    def all_candidates(self, preemptor: Job) -> Iterator[Candidate]:
        """All candidates of all nodes."""
        for row in sorted(self.rows_for(preemptor)):
            yield from self.at(preemptor, row)


def _joined(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """One column out of several, or of none."""
    given = list(parts)
    return np.concatenate(given) if given else np.zeros(0, dtype=np.int64)
