"""How much of a group of nodes the pods of a queue may use together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.plugin import Event
from stromboli.core.config.spelling import quoted
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, NodeTable
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import Amounts, ResourceAxis, add_request, counts_in_milli
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES
from stromboli.core.model.tasks.task_class import QUEUE, TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

LIMITS = "volcano.sh/nodegroup-resource-limits"
GROUP_NAME = "volcano.sh/nodegroup-name"

#: By group, the most that may be used of each dimension.
GroupLimits = Mapping[str, Mapping[int, int]]


class QueueGroupLimits:
    """The limits of queues per group, and the use of their pods there. Queues without limits are not counted."""

    def __init__(self) -> None:
        #: By queue, why its limits are invalid.
        self.faults: dict[str, str] = {}
        self._limits: dict[str, GroupLimits] = {}
        self._used: dict[tuple[str, str], Amounts] = {}
        self._jobs: Mapping[str, Job] = {}

    def open(self, session: Session) -> None:
        self.faults, self._limits, self._used = {}, {}, {}
        self._jobs, self._nodes = session.jobs, session.nodes
        self._size = session.snapshot.size
        for name, queue in session.queues.items():
            if LIMITS in queue.annotations:
                self._read(name, queue.annotations[LIMITS], session)
        if self._limits:
            self._count(session)

    def _read(self, queue: str, text: str, session: Session) -> None:
        try:
            self._limits[queue] = limits_in(text, session.axis)
        except ValueError as error:
            self.faults[queue] = str(error)
            session.warnings.append(f"Queue {queue}: annotation {LIMITS}: {error}; its pods are not placed")

    def _count(self, session: Session) -> None:
        ledger = session.ledger
        for job in session.jobs.values():
            if job.queue in self._limits:
                for task in job.tasks.values():
                    if ledger.status_of(task) in ALLOCATED_STATUSES and ledger.row_of(task) >= 0:
                        self._add(job.queue, self._nodes.nodes[ledger.row_of(task)].labels, task.task_class, 1)

    def add(self, event: Event, sign: int) -> None:
        """Tasks of one job and class came to nodes, or left them."""
        queue = self._jobs[event.tasks[0].job].queue
        if queue in self._limits:
            for task, node in zip(event.tasks, event.nodes, strict=True):
                self._add(queue, self._nodes.nodes[self._nodes.index[node]].labels, task.task_class, sign)

    def _add(self, queue: str, labels: Mapping[str, str], task_class: TaskClass, sign: int) -> None:
        group = labels.get(GROUP_NAME)
        if group is not None and group in self._limits[queue]:
            add_request(self._used.setdefault((queue, group), [0] * self._size), task_class.request, sign)

    def limits_of(self, queue: str) -> GroupLimits:
        return self._limits.get(queue, {})

    def has_capacity(self, queue: str, group: str, task_class: TaskClass) -> bool:
        """Whether one more pod of the class stays within the limits of a group."""
        limits = self._limits[queue].get(group)
        if limits is None:
            return True
        used = self._used.get((queue, group))
        return all(
            dimension not in limits or (used[dimension] if used else 0) + amount <= limits[dimension]
            for dimension, amount in task_class.request
        )


class GroupLimitFilter(NodeFilter):
    """Whatever one pod takes of a group counts for all nodes of the group."""

    locality = Locality.CLUSTER

    def __init__(self, limits: QueueGroupLimits) -> None:
        self._limits = limits

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._limits.limits_of(task_class.annotations[QUEUE]))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return self._with_headroom(task_class, rows.nodes)

    def _with_headroom(self, task_class: TaskClass, nodes: NodeTable) -> Mask:
        queue, column = task_class.annotations[QUEUE], nodes.column(GROUP_NAME)
        verdicts = [self._limits.has_capacity(queue, group, task_class) for group in column.values]
        return np.array([*verdicts, True], dtype=np.bool_)[column.codes]  # code -1 reads the last

    def refusal(self, task_class: TaskClass) -> Reason:
        return Reason(Code.NODE_GROUP_LIMIT, "node group resource limit exceeded")


def limits_in(text: str, axis: ResourceAxis) -> GroupLimits:
    """Parse the limits of an annotation. Raises ValueError that describes the problem.

    A resource that no pod requests and no node has is validated and then left out.
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    example = '{"group": {"cpu": "8"}}'
    if not isinstance(read, dict) or not all(isinstance(amounts, dict) for amounts in read.values()):
        raise ValueError(f"write limits like {example}, not {quoted(text)}")
    return {group: _amounts(group, amounts, axis) for group, amounts in read.items()}


def _amounts(group: str, amounts: Mapping[str, object], axis: ResourceAxis) -> dict[int, int]:
    limits = {}
    for name, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            raise ValueError(f"{group}.{name}: expected a quantity, got {quoted(amount)}")
        try:
            limit = parse_quantity(amount, milli=counts_in_milli(name))
        except ValueError as error:
            raise ValueError(f"{group}.{name}: {error}") from None
        dimension = axis.find(name)
        if dimension is not None:
            limits[dimension] = limit
    return limits
