"""Which groups of nodes a queue may use, and which it prefers.

Both depend on node labels and on the affinity of queues. A change of either makes a new node table, so results are
cached as long as the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.queues.queue import NO_NODE_GROUPS, NodeGroups
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import QUEUE, TaskClass
from stromboli.core.plugins.nodegroup.limits import GROUP_NAME, QueueGroupLimits
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

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
