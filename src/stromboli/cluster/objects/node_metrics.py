"""Measured usage of nodes: samples arrive one by one or all at once; snapshots get a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stromboli import kube
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.core.model.nodes.amounts import Block
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.nodes.usage import Usage, UsageTable
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MEMORY


class NodeUsage:
    """Usage samples of nodes. The table is rebuilt only when samples or nodes have changed."""

    def __init__(self) -> None:
        #: By node name.
        self.figures: dict[str, Usage] = {}
        self._faults: dict[str, str] = {}
        self._table: UsageTable | None = None
        self._nodes_in_table: NodeTable | None = None
        self._is_outdated = False

    def apply(self, metrics: kube.NodeMetrics) -> None:
        self._faults.pop(metrics.key, None)
        try:
            figure = usage_of(metrics)
        except ValueError as error:
            self._faults[metrics.key] = f"NodeMetrics {metrics.key}: {error}; it is ignored"
            self._forget(metrics.key)
        else:
            self.figures[metrics.key] = figure
            self._is_outdated = True

    def remove(self, metrics: kube.NodeMetrics) -> None:
        self._faults.pop(metrics.key, None)
        self._forget(metrics.key)

    def _forget(self, name: str) -> None:
        self._is_outdated = self.figures.pop(name, None) is not None or self._is_outdated

    def report(self, figures: Mapping[str, Usage]) -> None:
        """Replace all samples; nodes without one have no known usage."""
        self.figures, self._is_outdated = dict(figures), True

    def warnings(self) -> tuple[str, ...]:
        return tuple(sorted(self._faults.values()))

    def table(self, nodes: NodeTable, allocatable: Block) -> UsageTable | None:
        """One column per metric; None if no sample exists."""
        if self._is_outdated or self._nodes_in_table is not nodes:
            self._is_outdated, self._nodes_in_table = False, nodes
            self._table = _table(self.figures, nodes, allocatable) if self.figures else None
        return self._table


def relevant_fields(metrics: kube.NodeMetrics) -> tuple[object, ...]:
    return metrics.timestamp, metrics.usage


def usage_of(metrics: kube.NodeMetrics) -> Usage:
    """Decode a sample. Raises ValueError, with the field in front, for a missing or invalid value."""
    at = seconds_of(metrics.timestamp)
    if not at:
        raise ValueError("timestamp: there is no time of the measurement; write one such as 2026-01-31T12:00:00Z")
    return Usage(_amount(metrics, "cpu", milli=True), _amount(metrics, "memory", milli=False), at, in_parts=False)


def _amount(metrics: kube.NodeMetrics, name: str, *, milli: bool) -> float:
    text = (metrics.usage or {}).get(name)
    if text is None:
        raise ValueError(f"usage.{name}: is missing; write how much the node uses")
    try:
        return float(parse_quantity(text, milli=milli))
    except ValueError as error:
        raise ValueError(f"usage.{name}: {error}") from None


def _table(figures: Mapping[str, Usage], nodes: NodeTable, allocatable: Block) -> UsageTable:
    cpu, memory, at = (np.full(len(nodes), fill) for fill in (np.nan, np.nan, -np.inf))
    for name, figure in figures.items():
        row = nodes.index.get(name)
        if row is not None:
            whole = (1.0, 1.0) if figure.in_parts else (allocatable[CPU, row], allocatable[MEMORY, row])
            if all(whole):
                cpu[row], memory[row], at[row] = figure.cpu / whole[0], figure.memory / whole[1], figure.at
    return UsageTable(cpu, memory, at)
