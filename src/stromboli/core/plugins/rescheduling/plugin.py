"""The rescheduling plugin: when nodes are evaluated, and which pods are moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.nodes.table import Mask, NodeTable
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import LIMITS, TaskClass
from stromboli.core.model.values.durations import parse_duration
from stromboli.core.plugins.rescheduling.balance import Balance, ParameterArguments, Thresholds
from stromboli.core.preemption.units import SpareMembers
from stromboli.core.session.session import Session

_STRATEGY = "lowNodeUtilization"
_CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")
_SYSTEM_NAMESPACE = "kube-system"


class StrategyEntryArguments(Arguments):
    name: str = Argument("name", "", "The strategy.", choices=(_STRATEGY,))
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
        self._thresholds = [Thresholds.of(strategy.parameters) for strategy in arguments.strategies]
        self.usage_window = arguments.metrics_period
        self._wanted_labels = {key: str(value) for key, value in arguments.label_selector.items()}
        self.reads_labels = tuple(self._wanted_labels)
        #: When the nodes were last looked at.
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
            words = f"no figure of the last 5m says what {unknown} of {len(known)} nodes use"
            self._session.warnings.append(f"rescheduling: {words}; these are left alone")

    def _leaving(self, balance: Balance, candidates: Sequence[Task]) -> Iterator[Task]:
        """Nodes that are busiest first; of each, the pods that matter least first."""
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
        """Whether a pod is one of those that may be moved, has a place to go, and leaves no gang broken."""
        if not self._is_chosen(task) or not balance.fits_on(task.task_class):
            return False
        if not self._session.search.places(task, 1, balance.low):
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
        words = f"node {self._session.nodes.names[row]} uses {balance.why(row)}; others have little to do"
        self._session.eviction_notes[task.uid] = lambda: words


def _open_to_pods(nodes: NodeTable) -> Mask:
    """Nodes that take pods at all."""
    known: Mask = nodes.remember("open nodes", lambda table: table.where(lambda n: n.ready and not n.unschedulable))
    return known


def _least_first(task: Task) -> tuple[int, int]:
    return task.priority, _quality(task.task_class)


def _quality(task_class: TaskClass) -> int:
    """Return the quality of service class of a pod: best effort before burstable before guaranteed."""
    asked = dict(task_class.request)
    request = (asked.get(CPU, 0), asked.get(MEMORY, 0))
    if request == (0, 0):
        return 0
    return 2 if task_class.limits == request and all(request) else 1
