"""The rules about nodes: exclude nodes above a load limit, and prefer nodes with little load."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.plugins.usage.plugin import UsagePlugin

_CPU_LOAD = Reason(Code.NODE_LOAD, "the CPU load of the node exceeds the upper limit")
_MEMORY_LOAD = Reason(Code.NODE_LOAD, "the memory load of the node exceeds the upper limit")
_POINTS = 100.0


class LoadLimits(NodeFilter):
    """A node measured above a limit takes no pods."""

    locality = Locality.ROW  # not static: measurements change from cycle to cycle

    def __init__(self, plugin: UsagePlugin) -> None:
        self._plugin = plugin

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._plugin.is_informed

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        calm = ~(self._plugin.cpu_exceeded | self._plugin.memory_exceeded)
        return calm if rows.index is None else calm[rows.index]

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        by_cpu = refused & self._plugin.cpu_exceeded
        if by_cpu.any():
            yield _CPU_LOAD, np.flatnonzero(by_cpu)
        if (refused & ~by_cpu).any():
            yield _MEMORY_LOAD, np.flatnonzero(refused & ~by_cpu)


class Load(NodeScorer):
    """Prefers nodes with the lowest expected load. Nodes without measurements score 0."""

    locality = Locality.ROW

    def __init__(self, plugin: UsagePlugin) -> None:
        self._plugin = plugin

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._plugin.is_informed and self._plugin.weighs_anything

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        plugin, unmeasured = self._plugin, self._plugin.unmeasured
        own_cpu, own_memory = unmeasured.of(task_class)
        at = slice(None) if rows.index is None else rows.index
        # rows may show nodes after more copies of the class: each takes a pod slot
        copies = rows.used(PODS) - ledger.all_rows.used(PODS)[at]
        cpu = _expected(plugin.cpu[at], unmeasured.cpu[at] + own_cpu[at] * copies, rows.capacity(CPU))
        memory = _expected(plugin.memory[at], unmeasured.memory[at] + own_memory[at] * copies, rows.capacity(MEMORY))
        calm = (1.0 - cpu) * plugin.cpu_weight + (1.0 - memory) * plugin.memory_weight
        points: Vector = calm / (plugin.cpu_weight + plugin.memory_weight) * _POINTS * plugin.weight
        return np.where(plugin.known[at], points, 0.0)


def _expected(measured: Vector, unseen: Amount, capacity: Vector) -> Vector:
    """Return the fraction of a node that will be used once all its pods are running."""
    part: Vector = np.clip(measured + unseen / capacity, 0.0, 1.0)
    return part
