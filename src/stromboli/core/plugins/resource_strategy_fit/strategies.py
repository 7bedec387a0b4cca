"""The resources that are packed and those that are spread: by the configuration, and by annotations of the pod."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.spelling import quoted
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import FractionScore, Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

SCORING_TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHTS = "volcano.sh/resource-strategy-weight"

LEAST, MOST = TYPES = ("LeastAllocated", "MostAllocated")

#: The largest weight that a pod may set: a larger one would outweigh all other scores.
_MAX_WEIGHT = 10_000


class StrategyArguments(Arguments):
    type: str = Argument("type", LEAST, "Whether nodes with more or less of it in use score better.", choices=TYPES)
    weight: int = Argument("weight", 1, "Weight of the resource within the score.", minimum=0)


class StrategiesArguments(Arguments):
    by_name: Mapping[str, StrategyArguments] = PrefixArgument("<name>", {}, "A strategy.", entries=StrategyArguments)


class Strategy(NamedTuple):
    packs: bool
    weight: int


class Strategies:
    """The strategy of every resource. A name may end in `*`; of several that match, the longest counts."""

    def __init__(self, configured: Mapping[str, StrategyArguments]) -> None:
        chosen = configured or {"cpu": StrategyArguments(), "memory": StrategyArguments()}
        self._exact: dict[str, Strategy] = {}
        self._beginnings: list[tuple[str, Strategy]] = []
        for name, entry in chosen.items():
            strategy = Strategy(entry.type == MOST, entry.weight)
            if name.endswith("*"):
                self._beginnings.append((name[:-1], strategy))
            else:
                self._exact[name] = strategy
        self._beginnings.sort(key=lambda pair: -len(pair[0]))

    def of(self, name: str) -> Strategy | None:
        """Return the configured strategy of a resource. Every pod needs a pod slot, so only an exact rule counts it."""
        if name in self._exact:
            return self._exact[name]
        if name == "pods":
            return None
        return next((strategy for beginning, strategy in self._beginnings if name.startswith(beginning)), None)


class PodStrategy(NamedTuple):
    """The annotations of a pod; None for what it leaves to the configuration."""

    packs: bool | None
    weights: Mapping[str, int] | None
    #: Invalid annotations, as messages.
    faults: tuple[str, ...] = ()

    def applied(self, name: str, configured: Strategy | None) -> Strategy | None:
        """The strategy of a resource for this pod."""
        if self.weights is not None:
            packs = configured is not None and configured.packs
            configured = Strategy(packs, self.weights.get(name, 0))
        if configured is not None and self.packs is not None:
            return configured._replace(packs=self.packs)
        return configured


def pod_strategy(task_class: TaskClass) -> PodStrategy:
    faults = []
    kind, text = task_class.annotations.get(SCORING_TYPE), task_class.annotations.get(WEIGHTS)
    if kind is not None and kind not in TYPES:
        faults.append(f"annotation {SCORING_TYPE}: write {' or '.join(TYPES)}, not {quoted(kind)}; it is ignored")
        kind = None
    weights = _weights(text) if text is not None else None
    if text is not None and weights is None:
        example = '{"cpu": 2, "memory": 1}'
        faults.append(f"annotation {WEIGHTS}: write weights like {example}, not {quoted(text)}; it is ignored")
    return PodStrategy(None if kind is None else kind == MOST, weights, tuple(faults))


def _weights(text: str) -> Mapping[str, int] | None:
    """Parse weights; None if they are invalid."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    sound = all(type(weight) is int and 0 <= weight <= _MAX_WEIGHT for weight in read.values())
    return read if sound else None


_HIGHEST = 100.0


class _StrategyPart(NamedTuple):
    """One requested resource of a class that has a weight."""

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
            value *= rows.used(dimension) + amount <= rows.allocatable(dimension)
            total = value if total is None else np.add(total, value, out=total)
        return np.zeros(len(rows)) if total is None else total

    def as_fractions(self, task_class: TaskClass, ledger: Ledger) -> FractionScore:
        parts = self._parts.of(task_class, ledger)
        spread = sum(float(part.points) for part in parts if not part.packs)
        return FractionScore(spread, {p.dimension: float(p.points if p.packs else -p.points) for p in parts})

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
