"""rescheduling: move pods from overutilised nodes to underutilised ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, NodeTable, Vector
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import LIMITS, TaskClass
from stromboli.core.model.values.times import parse_duration
from stromboli.core.preemption.units import SpareMembers
from stromboli.core.session.session import Session

#: The measured resources, in the order of the columns.
MEASURED = (CPU, MEMORY, PODS)
NAMES = ("cpu", "memory", "pods")
#: For resources without a threshold: no node is above it.
_NO_THRESHOLD = 100.0

Percent = NDArray[np.float64]


class PercentArguments(Arguments):
    cpu: float = Argument("cpu", _NO_THRESHOLD, "Per cent.", minimum=0)
    memory: float = Argument("memory", _NO_THRESHOLD, "Per cent.", minimum=0)
    pods: float = Argument("pods", _NO_THRESHOLD, "Per cent.", minimum=0)

    def as_list(self) -> list[float]:
        return [self.cpu, self.memory, self.pods]


class ThresholdPairArguments(Arguments):
    low: PercentArguments = Argument("thresholds", {}, "Below all: underutilised.", entries=PercentArguments)
    high: PercentArguments = Argument("targetThresholds", {}, "Above one: overutilised.", entries=PercentArguments)


class ParameterArguments(ThresholdPairArguments):
    nested: ThresholdPairArguments = Argument(
        "nodeResourceUtilizationThresholds", {}, "Both of them.", entries=ThresholdPairArguments
    )


@dataclass(frozen=True, slots=True)
class Thresholds:
    """In per cent: below all of `low` a node is underutilised, above one of `high` it is overutilised."""

    low: Sequence[float]
    high: Sequence[float]

    @classmethod
    def of(cls, parameters: ParameterArguments) -> Thresholds:
        """Read the parameters of a strategy; values of its own precede the nested ones."""
        nested, own = parameters.nested, parameters.configured
        low = parameters.low if "thresholds" in own else nested.low
        high = parameters.high if "targetThresholds" in own else nested.high
        return cls(low.as_list(), high.as_list())


class Balance:
    """The nodes as they were measured, and the moves between them."""

    def __init__(self, thresholds: Thresholds, usage: UsageTable, rows: Rows, known: Mask, open_to_pods: Mask) -> None:
        self._thresholds = thresholds
        self._whole = np.array([rows.allocatable(dimension) for dimension in MEASURED], dtype=np.float64)
        #: A column per node: how much it uses, in the units of the resources.
        self._used = np.array([usage.cpu * self._whole[0], usage.memory * self._whole[1], rows.used(PODS)])
        percent = self.percent
        with np.errstate(invalid="ignore"):
            self.low: Mask = known & open_to_pods & (percent < np.array([thresholds.low]).T).all(axis=0)
            self.high: Mask = known & (percent > np.array([thresholds.high]).T).any(axis=0)
        self.high &= ~self.low
        self._headroom = self._headroom_below_thresholds()

    @property
    def percent(self) -> Percent:
        return self._used * 100.0 / np.maximum(self._whole, 1.0)

    def _headroom_below_thresholds(self) -> list[float]:
        """Return how much underutilised nodes may take before one of them is overutilised."""
        threshold = np.array([self._thresholds.high]).T / 100.0
        headroom = np.maximum(threshold * self._whole - self._used, 0.0)[:, self.low]
        return [float(amount) for amount in headroom.sum(axis=1)]

    @property
    def is_uneven(self) -> bool:
        return bool(self.low.any() and self.high.any())

    def busiest_first(self) -> list[int]:
        """The rows of overutilised nodes, the busiest first."""
        load: Vector = self.percent[0] + self.percent[1]
        return sorted(np.flatnonzero(self.high).tolist(), key=lambda row: (-load[row], row))

    def is_busy(self, row: int) -> bool:
        return bool((self.percent[:, row] > self._thresholds.high).any())

    def fits_on(self, task_class: TaskClass) -> bool:
        return all(
            amount <= headroom for amount, headroom in zip(_assumed_use(task_class), self._headroom, strict=True)
        )

    def move(self, task_class: TaskClass, row: int) -> None:
        """Subtract a moved pod from its node and from the headroom of underutilised nodes."""
        for place, amount in enumerate(_assumed_use(task_class)):
            self._used[place, row] -= amount
            self._headroom[place] -= amount

    def why(self, row: int) -> str:
        """Describe why a node is overutilised."""
        over = zip(NAMES, self.percent[:, row], self._thresholds.high, strict=True)
        return ", ".join(
            f"{used:.0f}% of its {name} (above {threshold:g}%)" for name, used, threshold in over if used > threshold
        )


def _assumed_use(task_class: TaskClass) -> tuple[int, int, int]:
    """Return the assumed use of a pod, which is not measured: its request, or what scorers assume of a container
    without one.
    """
    return *task_class.scored_request, 1


_STRATEGY = "lowNodeUtilization"
_CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"


class StrategyEntryArguments(Arguments):
    name: str = Argument("name", _STRATEGY, "The strategy.", effective=(_STRATEGY,))
    parameters: ParameterArguments = Argument("params", {}, "Its parameters.", entries=ParameterArguments)


class ReschedulingArguments(Arguments):
    interval: float = Argument("interval", "5m", "The period between two evaluations.", parse=parse_duration)
    metrics_period: float = Argument("metricsPeriod", "5m", "The period of averages.", parse=parse_duration)
    strategies: list[StrategyEntryArguments] = Argument(
        "strategies", [], "The strategies and their thresholds.", items=StrategyEntryArguments
    )
    queue_selector: list[str] = Argument("queueSelector", [], "The queues whose pods may be moved; all, if empty.")
    label_selector: Mapping[str, object] = Argument("labelSelector", {}, "Labels that a pod must have to be moved.")


class Rescheduling(Plugin):
    name = "rescheduling"
    arguments = ReschedulingArguments()
    reads_annotations = (LIMITS,)

    def __init__(self, arguments: ReschedulingArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._thresholds = [
            Thresholds.of(strategy.parameters) for strategy in arguments.strategies if strategy.name == _STRATEGY
        ]
        self.usage_window = arguments.metrics_period
        self._wanted_labels = {key: str(value) for key, value in arguments.label_selector.items()}
        self.reads_labels = tuple(self._wanted_labels)
        #: The time of the last check of the nodes.
        self._looked_at: float | None = None

    def unused_extension_points(self) -> frozenset[str]:
        return frozenset() if self._thresholds else frozenset({"victim_tasks"})

    def open(self, session: Session) -> None:
        self._session = session

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Return pods of busy nodes, as many as needed, and only where other nodes have capacity for them."""
        session, usage = self._session, self._session.snapshot.usage
        if not self._is_due(session.now):
            return ()
        known = usage.known(session.now) if usage is not None else np.zeros(len(session.nodes), dtype=np.bool_)
        self._warn_of_unknown(known)
        if usage is None or not known.any():
            return ()
        self._looked_at = session.now
        named: dict[str, Task] = {}
        for thresholds in self._thresholds:
            balance = Balance(thresholds, usage, session.ledger.all_rows, known, _open_to_pods(session.nodes))
            if balance.is_uneven:
                named.update((task.uid, task) for task in self._leaving(balance, candidates))
        return list(named.values())

    def _is_due(self, now: float) -> bool:
        return self._looked_at is None or not self._looked_at <= now < self._looked_at + self.arguments.interval

    def _warn_of_unknown(self, known: Mask) -> None:
        unknown = len(known) - int(known.sum())
        if unknown:
            message = f"no usage metrics of the last 5m for {unknown} of {len(known)} nodes"
            self._session.warnings.append(f"rescheduling: {message}; they are not rescheduled")

    def _leaving(self, balance: Balance, candidates: Sequence[Task]) -> Iterator[Task]:
        """Yield the pods to move: from the busiest node first, and the least important pod first."""
        standing = self._by_row(candidates)
        spares: dict[str, SpareMembers] = {}
        for row in balance.busiest_first():
            for task in sorted(standing.get(row, ()), key=_least_first):
                if not balance.is_busy(row):
                    break
                if self._may_move(task, balance, spares):
                    self._explain(task, row, balance)
                    balance.move(task.task_class, row)
                    yield task

    def _by_row(self, candidates: Sequence[Task]) -> dict[int, list[Task]]:
        standing: dict[int, list[Task]] = {}
        for task in candidates:
            standing.setdefault(self._session.ledger.row_of(task), []).append(task)
        return standing

    def _may_move(self, task: Task, balance: Balance, spares: dict[str, SpareMembers]) -> bool:
        """Report whether a pod may be moved, has a target node, and leaves no gang below its minimum."""
        if not self._is_chosen(task) or not balance.fits_on(task.task_class):
            return False
        if not self._session.search.find_nodes(task, 1, balance.low):
            return False
        job = self._session.jobs[task.job]
        spare = spares.setdefault(task.job, SpareMembers(job))
        return len(job.tasks) == 1 or spare.take(task)

    def _is_chosen(self, task: Task) -> bool:
        if task.namespace == _SYSTEM_NAMESPACE or task.priority_class in _CRITICAL_CLASSES:
            return False
        queues = self.arguments.queue_selector
        if queues and self._session.jobs[task.job].queue not in queues:
            return False
        labels = task.task_class.labels
        return all(labels.get(key) == value for key, value in self._wanted_labels.items())

    def _explain(self, task: Task, row: int, balance: Balance) -> None:
        message = f"node {self._session.nodes.names[row]} uses {balance.why(row)}; others have little to do"
        self._session.eviction_notes[task.uid] = lambda: message


def _open_to_pods(nodes: NodeTable) -> Mask:
    """The nodes that are schedulable and ready."""
    known: Mask = nodes.remember("open nodes", lambda table: table.where(lambda n: n.ready and not n.unschedulable))
    return known


def _least_first(task: Task) -> tuple[int, int]:
    return task.priority, _quality(task.task_class)


def _quality(task_class: TaskClass) -> int:
    """Return the quality of service class of a pod: best effort before burstable before guaranteed."""
    requested = dict(task_class.request)
    request = (requested.get(CPU, 0), requested.get(MEMORY, 0))
    if request == (0, 0):
        return 0
    return 2 if task_class.limits == request and all(request) else 1
