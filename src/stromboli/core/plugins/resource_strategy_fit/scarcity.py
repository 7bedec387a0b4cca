"""Scarce resources: leave nodes that have them to pods that request them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_HIGHEST = 100.0


def names_in(text: str) -> list[str]:
    """The names in a list with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


class ScarceWeights(Arguments):
    by_name: Mapping[str, int] = PrefixArgument("<name>", 1, "Weight of the resource.", minimum=0)


class ScarcityArguments(Arguments):
    enable: bool = Argument("enable", False, "Whether nodes with scarce resources are avoided.")
    resources: str = Argument("resources", "", "The scarce resources, separated by commas.")
    weight: int = Argument("weight", 1, "Weight of the score.", minimum=0)
    weights: ScarceWeights = Argument("resourceWeight", {}, "Weight of each scarce resource.", entries=ScarceWeights)


class ScarceResourceScorer(NodeScorer):
    """The fewer scarce resources a node has, the better; 0 for a node without a requested resource."""

    locality = Locality.STATIC

    def __init__(self, arguments: ScarcityArguments) -> None:
        weights = {name: arguments.weights.by_name.get(name, 1) for name in names_in(arguments.resources)}
        top, whole = _HIGHEST * arguments.weight, sum(weights.values())
        #: The points of a node for each scarce resource it lacks.
        self._points = {name: top * weight / whole for name, weight in weights.items() if weight}
        self._dimensions: dict[str, int | None] = {}

    def open(self, session: Session) -> None:
        self._dimensions = {name: session.axis.find(name) for name in self._points}

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        total = np.zeros(len(rows))
        for name, points in self._points.items():
            dimension = self._dimensions[name]
            total += points if dimension is None else points * (rows.allocatable(dimension) <= 0)
        for dimension, _ in task_class.request:
            total *= rows.allocatable(dimension) > 0
        return total
