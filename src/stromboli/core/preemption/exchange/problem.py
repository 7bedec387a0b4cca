"""A complete plan in numbers, as far as amounts and units of eviction matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.candidates import CandidatePool, VictimCandidate
from stromboli.core.preemption.cost import Grade
from stromboli.core.preemption.exchange.search import Amounts, VictimOption, VictimProblem
from stromboli.core.preemption.pruning import future_idle
from stromboli.core.preemption.rules import PreemptionRules
from stromboli.core.preemption.units import EvictionUnit, SpareMembers, UnitBuilder
from stromboli.core.session.session import Session


def importance(grade: Grade) -> Grade:
    """The part of a grade that counts before the number of victims: all but whether the victim is a spare member."""
    return *grade[:3], *grade[4:]


@dataclass(frozen=True)
class ProblemBuilder:
    """States problems for the preemptors of one job, in the state before its plan."""

    session: Session
    rules: PreemptionRules
    pool: CandidatePool
    builder: UnitBuilder
    preemptors: Sequence[Task]
    rows: Sequence[int]

    def problem(self, options: Sequence[VictimOption]) -> VictimProblem:
        """The problem in which these are the only victims."""
        members = [list[Amounts]() for _ in self.rows]
        for task in {task.uid: task for option in options for task in option.unit.tasks}.values():
            place = self._places.get(self.session.ledger.row_of(task))
            if place is not None:
                members[place].append(self._amounts(task))
        return VictimProblem(
            requests=[self._amounts(task) for task in self.preemptors],
            allowed=[self._allowed(task) for task in self.preemptors],
            free=[self._free(row) for row in self.rows],
            members=members,
            options=options,
            spare={option.job: self._spare_count(option.job) for option in options},
        )

    def could_suffice(self) -> bool:
        """Report whether the nodes have enough for all preemptors together without any candidate."""
        rows, job = list(self.rows), self.session.jobs[self.preemptors[0].job]
        releasable = self.pool.releasable(job, self._dimensions)
        for place, dimension in enumerate(self._dimensions):
            have = sum(future_idle(self.session.ledger, dimension, row) + releasable[place][row] for row in rows)
            if have < sum(dict(task.task_class.request).get(dimension, 0) for task in self.preemptors):
                return False
        return bool(rows)

    @cached_property
    def _dimensions(self) -> list[int]:
        return sorted({dimension for task in self.preemptors for dimension, _ in task.task_class.request})

    @cached_property
    def _places(self) -> dict[int, int]:
        return {row: place for place, row in enumerate(self.rows)}

    def _spare_count(self, key: str) -> int:
        job = self.session.jobs[key]
        return 1 if len(job.tasks) == 1 else job.spare_count

    def _amounts(self, task: Task) -> Amounts:
        held = dict(task.task_class.request)
        return tuple(held.get(dimension, 0) for dimension in self._dimensions)

    def _free(self, row: int) -> Amounts:
        return [future_idle(self.session.ledger, dimension, row) for dimension in self._dimensions]

    def _allowed(self, task: Task) -> list[int]:
        admitted = self.session.search.view(task.task_class).static.admitted
        return [place for place, row in enumerate(self.rows) if admitted[row]]

    def options(self) -> list[VictimOption]:
        """The members on these nodes that may be evicted alone, and the gangs that may be evicted whole."""
        preemptor, job = self.preemptors[0], self.session.jobs[self.preemptors[0].job]
        candidates = [each for row in self.rows for each in self.pool.at(job, row)]
        options, gangs = list[VictimOption](), dict[str, VictimCandidate]()
        for each in candidates:
            if each.task.job == job.key:
                continue
            gangs.setdefault(each.task.job, each)
            if self._is_spare(each.task) and self._may_go_alone(preemptor, each.task):
                options.append(self._option(EvictionUnit((each.task,), each.grade), is_whole=False))
        for first in gangs.values():
            victim = self.session.jobs[first.task.job]
            if len(victim.tasks) > 1 and self.rules.evicts_whole_gangs:
                unit = self.builder.whole_gang(preemptor, first)
                if unit is not None:
                    options.append(self._option(unit, is_whole=True))
        return options

    def _is_spare(self, task: Task) -> bool:
        job = self.session.jobs[task.job]
        return len(job.tasks) == 1 or SpareMembers(job).take(task)

    def _may_go_alone(self, preemptor: Task, task: Task) -> bool:
        return self.builder.may_lose(preemptor, (task,)) and bool(self.rules.allowed(preemptor, [task]))

    def _option(self, unit: EvictionUnit, *, is_whole: bool) -> VictimOption:
        releases: dict[int, list[int]] = {}
        for task in unit.tasks:
            place = self._places.get(self.session.ledger.row_of(task))
            if place is not None:
                held = releases.setdefault(place, [0] * len(self._dimensions))
                for position, amount in enumerate(self._amounts(task)):
                    held[position] += amount
        job = unit.tasks[0].job
        kind = job, is_whole, *((place, *amounts) for place, amounts in sorted(releases.items()))
        return VictimOption(unit, job, is_whole, len(unit.tasks), dict(releases), kind)
