"""nodegroup: queues run on their groups of nodes, up to their limits in each group.

Affinity depends on node labels and on queues. A change of either makes a new node table, so results are cached as long
as the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.config.spelling import quoted
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, ROOT, NodeGroups, Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import Amounts, ResourceAxis, add_request, counts_in_milli
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES
from stromboli.core.model.tasks.task_class import QUEUE, TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

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
        """Count tasks of one job and class that were placed (1) or removed (-1)."""
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
        """Report whether one more pod of the class stays within the limits of a group."""
        limits = self._limits[queue].get(group)
        if limits is None:
            return True
        used = self._used.get((queue, group))
        return all(
            dimension not in limits or (used[dimension] if used else 0) + amount <= limits[dimension]
            for dimension, amount in task_class.request
        )


class GroupLimitFilter(NodeFilter):
    """Rejects nodes of groups at their limit; the use of one pod counts for all nodes of its group."""

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
        return np.array([*verdicts, True], dtype=np.bool_)[column.codes]  # code -1 selects the last

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


_REQUIRED, _PREFERRED, _DISLIKED = 100.0, 50.0, -1.0


class _Verdict(IntEnum):
    WELCOME = 0
    NO_LABEL = 1
    NO_AFFINITY = 2
    ELSEWHERE = 3
    BAD_LIMITS = 4


_REASONS = {
    _Verdict.NO_LABEL: Reason(Code.NODE_GROUP, "node group label not found"),
    _Verdict.NO_AFFINITY: Reason(Code.NODE_GROUP, "node group affinity not specified"),
    _Verdict.ELSEWHERE: Reason(Code.NODE_GROUP, "node does not satisfy the node group affinity"),
    _Verdict.BAD_LIMITS: Reason(Code.INVALID_OBJECT, "node group resource limit annotation invalid"),
}


class Belonging(NodeFilter):
    """A node must be in a group that the queue names."""

    locality = Locality.STATIC

    def __init__(self, limits: QueueGroupLimits, *, strict: bool) -> None:
        self._limits = limits
        self._strict = strict
        self.groups: Mapping[str, NodeGroups] = {}

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return self._verdicts(task_class, ledger.nodes) == _Verdict.WELCOME

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        verdicts = self._verdicts(task_class, ledger.nodes)
        for verdict, reason in _REASONS.items():
            rows = np.flatnonzero(refused & (verdicts == verdict))
            if len(rows):
                yield reason, rows

    def _verdicts(self, task_class: TaskClass, nodes: NodeTable) -> Index:
        queue = task_class.annotations[QUEUE]
        column = nodes.column(GROUP_NAME)
        if queue in self._limits.faults:
            return np.full(len(nodes), _Verdict.BAD_LIMITS, dtype=np.int64)
        groups = self.groups.get(queue, NO_NODE_GROUPS)
        each = [self._verdict(group, groups) for group in column.values]
        each.append(_Verdict.NO_LABEL if self._strict or groups else _Verdict.WELCOME)  # code -1 reads the last
        return np.array(each, dtype=np.int64)[column.codes]

    @staticmethod
    def _verdict(group: str, groups: NodeGroups) -> _Verdict:
        if not groups:
            return _Verdict.NO_AFFINITY
        if group in groups.required or group in groups.preferred:
            return _Verdict.WELCOME
        if group in groups.disliked and group not in groups.forbidden:
            return _Verdict.WELCOME
        return _Verdict.ELSEWHERE


class Preference(NodeScorer):
    """Required groups score best, then preferred ones; groups to avoid score worst."""

    locality = Locality.STATIC

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self.groups: Mapping[str, NodeGroups] = {}

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self.groups.get(task_class.annotations[QUEUE]))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        groups = self.groups[task_class.annotations[QUEUE]]
        column = rows.nodes.column(GROUP_NAME)
        return np.array([*(self._score(group, groups) for group in column.values), 0.0])[column.codes]

    def _score(self, group: str, groups: NodeGroups) -> float:
        score = _REQUIRED if group in groups.required else 0.0
        if group in groups.preferred:
            before = groups.preferred.index(group) if self._in_order else 0
            score += _PREFERRED * (len(groups.preferred) - before) / len(groups.preferred)
        return score + (_DISLIKED if group in groups.disliked else 0.0)


class NodeGroupArguments(Arguments):
    strict: bool = Argument("strict", True, "Whether queues without an affinity may not use nodes without a group.")
    preferred_order: bool = Argument("enablePreferredOrder", False, "Score preferred groups by their order.")


class NodeGroup(Plugin):
    name = "nodegroup"
    arguments = NodeGroupArguments()
    reads_annotations = (QUEUE,)

    def __init__(self, arguments: NodeGroupArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._limits = QueueGroupLimits()
        self._belonging = Belonging(self._limits, strict=arguments.strict)
        self._preference = Preference(in_order=arguments.preferred_order)
        self._filters = (self._belonging, GroupLimitFilter(self._limits))

    def open(self, session: Session) -> None:
        self._limits.open(session)
        groups = {name: self._groups_of(queue, session.queues) for name, queue in session.queues.items()}
        self._belonging.groups = self._preference.groups = groups

    def _groups_of(self, queue: Queue, queues: Mapping[str, Queue]) -> NodeGroups:
        """Return the groups of a queue; in a hierarchy, otherwise those of its nearest ancestor with any."""
        seen: set[str] = set()
        above: Queue | None = queue
        while above is not None and not above.node_groups and self.hierarchy and above.name not in seen:
            seen.add(above.name)
            above = queues.get(above.parent or ROOT)
        return above.node_groups if above is not None else NO_NODE_GROUPS

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters

    def node_scorers(self) -> Sequence[NodeScorer]:
        return [self._preference]

    def on_allocate(self, event: Event) -> None:
        self._limits.add(event, 1)

    def on_deallocate(self, event: Event) -> None:
        self._limits.add(event, -1)
