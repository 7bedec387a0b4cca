"""binpack: prefer nodes that are already used, so that others stay empty for pods that need a whole node.

The default compares used fractions, as Volcano does. Among nodes of different sizes that fills the small ones, whatever
is left on the large ones: `binpack.bestFit` compares the amounts that would be left instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Amount, Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import FractionScore, Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_HIGHEST = 100.0


class BinpackArguments(Arguments):
    weight: int = Argument("binpack.weight", 1, "Weight of the score; 0 switches it off.")
    cpu: int = Argument("binpack.cpu", 1, "Weight of cpu within the score.")
    memory: int = Argument("binpack.memory", 1, "Weight of memory within the score.")
    resources: str = Argument("binpack.resources", "", "Further resources that count, separated by commas.")
    resource_weights: Mapping[str, int] = PrefixArgument("binpack.resources.<name>", 1, "Weight of a further resource.")
    best_fit: bool = Argument("binpack.bestFit", False, "Compare the amounts that would be left, not used fractions.")


class Binpack(Plugin):
    """Prefers nodes that would be fuller in the resources that the pod requests."""

    name = "binpack"
    arguments = BinpackArguments()

    def __init__(self, arguments: BinpackArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        weight = _not_negative(arguments.weight)
        scorer = BestFit if arguments.best_fit else Packing
        self._scorers = (scorer(weight, _resource_weights(arguments)),) if weight else ()

    def open(self, session: Session) -> None:
        for scorer in self._scorers:
            scorer.open(session)

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers


def _resource_weights(arguments: BinpackArguments) -> dict[str, int]:
    """Return the weight of every resource that counts, by name."""
    names = (name.strip() for name in arguments.resources.split(","))
    weights = {name: _not_negative(arguments.resource_weights.get(name, 1)) for name in names if name}
    return weights | {"cpu": _not_negative(arguments.cpu), "memory": _not_negative(arguments.memory)}


def _not_negative(weight: int) -> int:
    """Replace a negative weight by 1, as Volcano does."""
    return weight if weight >= 0 else 1


def _weights_by_dimension(axis: ResourceAxis, weights: Mapping[str, int]) -> dict[int, int]:
    found = ((axis.find(name), weight) for name, weight in weights.items())
    return {dimension: weight for dimension, weight in found if dimension is not None and weight}


class _PackingPart(NamedTuple):
    """One requested resource of a class that has a weight."""

    dimension: int
    amount: Amount
    #: The points of a node that would be full of it.
    points: Vector


class Packing(NodeScorer):
    """The weighted mean of the used fractions with the pod on the node; 0 for a resource that would be exceeded."""

    locality = Locality.ROW

    def __init__(self, weight: int, resource_weights: Mapping[str, int]) -> None:
        self._top = _HIGHEST * weight
        self._resource_weights = resource_weights
        self._weights: dict[int, int] = {}
        self._parts = ClassCache(self._parts_of, lasts=True)

    def open(self, session: Session) -> None:
        self._weights = _weights_by_dimension(session.axis, self._resource_weights)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._parts.of(task_class, ledger))

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        total: Vector | None = None
        for dimension, amount, points in self._parts.of(task_class, ledger):
            fraction = rows.fraction_with(dimension, amount) * points
            fraction *= rows.used(dimension) + amount <= rows.allocatable(dimension)
            total = fraction if total is None else np.add(total, fraction, out=total)
        return np.zeros(len(rows)) if total is None else total

    def as_fractions(self, task_class: TaskClass, ledger: Ledger) -> FractionScore:
        return FractionScore(points={part.dimension: float(part.points) for part in self._parts.of(task_class, ledger)})

    def _parts_of(self, task_class: TaskClass, ledger: Ledger) -> tuple[_PackingPart, ...]:
        counting = [(d, amount, self._weights[d]) for d, amount in task_class.request if d in self._weights]
        whole = sum(weight for _, _, weight in counting)
        return tuple(
            _PackingPart(d, np.array(amount, dtype=np.int64), np.array(self._top * weight / whole))
            for d, amount, weight in counting
        )


class BestFit(NodeScorer):
    """The weighted mean of what the pod would leave, relative to the largest node: the less, the better.

    Resources that the pod does not request count as well, so that pods without a GPU avoid nodes with idle GPUs.
    """

    locality = Locality.ROW

    def __init__(self, weight: int, resource_weights: Mapping[str, int]) -> None:
        self._top = _HIGHEST * weight
        self._resource_weights = resource_weights
        #: The points that a unit of each resource costs, by dimension.
        self._unit_points: dict[int, float] = {}

    def open(self, session: Session) -> None:
        weights = _weights_by_dimension(session.axis, self._resource_weights)
        allocatable = session.snapshot.amounts[session.ledger.layout.allocatable :]
        largest = {d: int(allocatable[d].max(initial=0)) for d in weights}
        whole = sum(weight for d, weight in weights.items() if largest[d])
        self._unit_points = {d: self._top * w / whole / largest[d] for d, w in weights.items() if largest[d]}

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._unit_points)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        requested, total = dict(task_class.request), np.full(len(rows), self._top)
        for dimension, points in self._unit_points.items():
            total -= (rows.idle(dimension) - requested.get(dimension, 0)) * points
        return total
