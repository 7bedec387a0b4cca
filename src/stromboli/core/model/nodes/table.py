"""Nodes as a table: rules are evaluated for all nodes at once.

`NodeTable` holds what is constant during a cycle (names, labels, taints, images). The amounts that change (idle, used,
...) are in `amounts.py`. Nodes are sorted by name, or shuffled by a seed, so that an index is also a tie-breaker that
does not depend on the order in which the nodes were observed.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.numa import Processors
from stromboli.core.model.nodes.shards import ShardMembership
from stromboli.core.model.tasks.selectors import NodeTerm, Requirement

Mask = NDArray[np.bool_]
Vector = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{{{self.key}: {self.value}}}"


@dataclass(slots=True, eq=False)
class Node:
    """The facts of one node."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    #: Image name -> size in bytes.
    images: Mapping[str, int] = field(default_factory=dict)
    #: Layout of its processors, if reported.
    processors: Processors | None = None
    #: Whether the node is in the shard of this scheduler.
    belonging: ShardMembership = ShardMembership.OURS

    @property
    def revocable_zone(self) -> str:
        """The zone of a revocable node; empty for other nodes."""
        return self.labels.get("volcano.sh/revocable-zone", "")


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One label over all nodes: a code per node, -1 without the label."""

    codes: NDArray[np.int64]
    values: tuple[str, ...]


class NodeTable:
    """All nodes of a cluster, with columns computed on first use.

    A table is immutable: when a node changes, the cache builds a new table. Results cached with a table stay valid as
    long as the table is in use.
    """

    def __init__(self, nodes: Iterable[Node], seed: int = 0) -> None:
        self.nodes: tuple[Node, ...] = tuple(sorted(nodes, key=lambda node: _place(node.name, seed)))
        self.names: tuple[str, ...] = tuple(node.name for node in self.nodes)
        self.index: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self._columns: dict[str, LabelColumn] = {}
        #: Results that plugins derive from the table alone, by keys of their own.
        self.answers: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def column(self, label: str) -> LabelColumn:
        """Return the codes of a label, such as the zone of every node."""
        known = self._columns.get(label)
        if known is None:
            if label not in self._labels:
                return self._absent
            known = self._columns[label] = _encode([node.labels.get(label) for node in self.nodes])
        return known

    @cached_property
    def _labels(self) -> frozenset[str]:
        """The labels that any node has: pods may name any number of others."""
        return frozenset(label for node in self.nodes for label in node.labels)

    @cached_property
    def _absent(self) -> LabelColumn:
        return _encode([None] * len(self))

    def holding(self, requirement: Requirement) -> Mask:
        """Return the nodes that satisfy one label requirement."""
        column = self.column(requirement.key)
        verdicts = [requirement.holds(value) for value in column.values]
        verdicts.append(requirement.holds(None))  # code -1 reads the last entry
        return np.array(verdicts, dtype=np.bool_)[column.codes]

    def matching(self, term: NodeTerm) -> Mask:
        """Return the nodes that satisfy a term of a node affinity; an empty term matches none."""
        if term.is_empty:
            return np.zeros(len(self), dtype=np.bool_)
        mask = np.ones(len(self), dtype=np.bool_)
        for requirement in term.labels:
            mask &= self.holding(requirement)
        for requirement in term.fields:
            mask &= self._holding_field(requirement)
        return mask

    def _holding_field(self, requirement: Requirement) -> Mask:
        if requirement.key != "metadata.name":
            return np.zeros(len(self), dtype=np.bool_)
        return self.where(lambda node: requirement.holds(node.name))

    def where(self, test: Callable[[Node], bool]) -> Mask:
        """Return the nodes that pass a test, evaluated one by one."""
        return np.fromiter((test(node) for node in self.nodes), dtype=np.bool_, count=len(self))

    @cached_property
    def excluded_nodes(self) -> Mask | None:
        """The nodes of other shards that this scheduler may not use; None if there are none."""
        return self._where_any(ShardMembership.EXCLUDED)

    @cached_property
    def last(self) -> Mask | None:
        """The nodes of other shards that are used as a last resort; None if there are none."""
        return self._where_any(ShardMembership.LAST)

    def _where_any(self, belonging: ShardMembership) -> Mask | None:
        if not any(node.belonging is belonging for node in self.nodes):
            return None
        return self.where(lambda node: node.belonging is belonging)

    def remember(self, key: Any, make: Callable[["NodeTable"], Any]) -> Any:
        """Return the result of `make` for this table, computed once. The key must identify the computation and its
        parameters.
        """
        if key not in self.answers:
            self.answers[key] = make(self)
        return self.answers[key]


def _place(name: str, seed: int) -> tuple[int, str]:
    """Return the sort key of a node: its name, or shuffled by a seed, the same on every machine."""
    return zlib.crc32(f"{seed}/{name}".encode()) if seed else 0, name


def _encode(values: list[str | None]) -> LabelColumn:
    distinct = sorted({value for value in values if value is not None})
    codes = {value: code for code, value in enumerate(distinct)}
    return LabelColumn(
        np.array([-1 if value is None else codes[value] for value in values], dtype=np.int64), tuple(distinct)
    )
