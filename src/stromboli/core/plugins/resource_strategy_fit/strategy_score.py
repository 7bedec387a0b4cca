"""How well a pod fits: the weighted mean over the resources it asks for, each packed or spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.resource_strategy_fit.strategies import Strategies, pod_strategy
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_HIGHEST = 100.0


class _StrategyPart(NamedTuple):
    """One resource that a class asks for and that counts."""

    dimension: int
    amount: Amount
    packs: bool
    #: The points of the best node.
    points: Vector


class StrategyScorer(NodeScorer):
    locality = Locality.ROW

    def __init__(self, weight: int, strategies: Strategies) -> None:
        self._top = _HIGHEST * weight
        self._strategies = strategies
        self._names: list[str] = []
        self._warnings: list[str] = []
        self._parts = ClassCache(self._parts_of)

    def open(self, session: Session) -> None:
        self._names = session.axis.names
        self._warnings = session.warnings

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._parts.of(task_class, ledger))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        total: Vector | None = None
        for dimension, amount, packs, points in self._parts.of(task_class, ledger):
            fraction = rows.fraction_with(dimension, amount)
            value = (fraction if packs else 1.0 - fraction) * points
            if not rows.certain:
                value *= rows.used(dimension) + amount <= rows.allocatable(dimension)
            total = value if total is None else np.add(total, value, out=total)
        return np.zeros(len(rows)) if total is None else total

    def _parts_of(self, task_class: TaskClass, ledger: Ledger) -> tuple[_StrategyPart, ...]:
        own = pod_strategy(task_class)
        self._warnings += [fault for fault in own.faults if fault not in self._warnings]
        counting = []
        for dimension, amount in task_class.request:
            name = self._names[dimension]
            strategy = own.applied(name, self._strategies.of(name))
            if strategy is not None and strategy.weight:
                counting.append((dimension, amount, strategy))
        whole = sum(strategy.weight for _, _, strategy in counting)
        return tuple(
            _StrategyPart(
                d, np.array(amount, dtype=np.int64), strategy.packs, np.array(self._top * strategy.weight / whole)
            )
            for d, amount, strategy in counting
        )
