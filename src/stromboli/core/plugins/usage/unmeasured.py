"""The unmeasured load: estimated use of pods that the last measurement of their node does not cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session


def _milli(text: str) -> int:
    return parse_quantity(text, milli=True)


def _bytes(text: str) -> int:
    return parse_quantity(text, milli=False)


class EstimatorArguments(Arguments):
    request_ratio: float = Argument("request_ratio", 0.7, "The used fraction of the request of a pod.", minimum=0)
    burst_ratio: float = Argument("burst_ratio", 0.0, "The used fraction between request and limit.", minimum=0)
    risk_threshold: float = Argument("risk_threshold", 0.6, "The load from which the risk factor applies.", minimum=0)
    risk_factor: float = Argument("risk_factor", 1.2, "The factor on estimates on loaded nodes.", minimum=0)
    best_effort_cpu: int = Argument("be_cpu", "250m", "The cpu of a pod without requests.", parse=_milli)
    best_effort_memory: int = Argument("be_mem", "200Mi", "The memory of a pod without requests.", parse=_bytes)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cpu and memory use of a pod of a class, on nodes below and above the risk threshold."""

    calm: tuple[int, int]
    at_risk: tuple[int, int]

    def columns(self, at_risk: Mask) -> tuple[Amount, Amount]:
        """Return the estimates per node, as whole numbers, so that batched and single placements have equal sums."""
        cpu, memory = (np.where(at_risk, hungry, calm) for calm, hungry in zip(self.calm, self.at_risk, strict=True))
        return cpu, memory


class Estimator:
    def __init__(self, arguments: EstimatorArguments) -> None:
        self._arguments = arguments
        self._best_effort = (arguments.best_effort_cpu, arguments.best_effort_memory)

    def of(self, task_class: TaskClass) -> Estimate:
        return Estimate(self._used(task_class, 1.0), self._used(task_class, self._arguments.risk_factor))

    def _used(self, task_class: TaskClass, factor: float) -> tuple[int, int]:
        if task_class.best_effort:
            cpu, memory = (round(amount * factor) for amount in self._best_effort)
            return cpu, memory
        requested = dict(task_class.request)
        request: Sequence[int] = (requested.get(CPU, 0), requested.get(MEMORY, 0))
        cpu, memory = (self._part(*pair, factor) for pair in zip(request, task_class.limits, strict=True))
        return cpu, memory

    def _part(self, request: int, limit: int | None, factor: float) -> int:
        """Return a fraction of the request and of the burst above it, never more than the limit."""
        beyond = 0 if limit is None else max(limit - request, 0)
        ratios = self._arguments
        used = round((request * ratios.request_ratio + beyond * ratios.burst_ratio) * factor)
        return used if limit is None else min(used, limit)


#: A pod that has run for less than this, in seconds, barely contributes to an average.
SETTLING = 30.0
_ON_THE_WAY = frozenset(
    status.value for status in (TaskStatus.ALLOCATED, TaskStatus.PIPELINED, TaskStatus.BINDING, TaskStatus.BOUND)
)
_RUNNING = TaskStatus.RUNNING.value


class UnmeasuredLoad:
    """The unmeasured load of all nodes, computed for the first score and updated by every operation."""

    def __init__(self, session: Session, estimator: Estimator, known: Mask, measured_at: Vector, at_risk: Mask) -> None:
        self._session = session
        self._estimator = estimator
        self._at_risk = at_risk
        #: Pods that run since before this are covered by the measurement of their node; infinity for nodes without one.
        self._seen_since = np.where(known, np.minimum(measured_at, session.now - SETTLING), np.inf)
        self._estimates: dict[TaskClass, tuple[Amount, Amount]] = {}
        self._counted: set[str] = set()
        self.cpu: Amount = np.zeros(len(session.nodes), dtype=np.int64)
        self.memory: Amount = np.zeros(len(session.nodes), dtype=np.int64)
        self._count_all()

    def _count_all(self) -> None:
        """Count all pods; the cheap checks come first because they run for every pod."""
        ledger, oldest = self._session.ledger, float(self._seen_since.min(initial=np.inf))
        codes = ledger.codes
        for job in self._session.jobs.values():
            for task in job.tasks.values():
                if (task.placed_at > oldest or codes[task.row] in _ON_THE_WAY) and self._is_unseen(task):
                    self._count(task, ledger.row_of(task), 1)

    def of(self, task_class: TaskClass) -> tuple[Amount, Amount]:
        """Return the estimated cpu and memory of a pod of the class on each node."""
        known = self._estimates.get(task_class)
        if known is None:
            known = self._estimates[task_class] = self._estimator.of(task_class).columns(self._at_risk)
        return known

    def _is_unseen(self, task: Task) -> bool:
        ledger = self._session.ledger
        code, row = ledger.codes[task.row], ledger.row_of(task)
        if row < 0:
            return False
        return code in _ON_THE_WAY or (code == _RUNNING and task.placed_at > self._seen_since[row])

    def add(self, event: Event) -> None:
        self._update([task for task in event.tasks if self._is_unseen(task)], event, 1)

    def take_away(self, event: Event) -> None:
        self._update([task for task in event.tasks if task.uid in self._counted], event, -1)

    def _update(self, tasks: Sequence[Task], event: Event, sign: int) -> None:
        if tasks:
            index = self._session.nodes.index
            rows = {task.uid: index[node] for task, node in zip(event.tasks, event.nodes, strict=True)}
            for task in tasks:
                self._count(task, rows[task.uid], sign)

    def _count(self, task: Task, row: int, sign: int) -> None:
        cpu, memory = self.of(task.task_class)
        self.cpu[row] += sign * cpu[row]
        self.memory[row] += sign * memory[row]
        (self._counted.add if sign > 0 else self._counted.discard)(task.uid)
