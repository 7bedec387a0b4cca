"""Scarce resources: nodes that have what few nodes have are left to those who need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.arguments import Arguments
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


class ScarceResourceScorer(NodeScorer):
    """The fewer scarce resources a node has, the better; nothing for a node that lacks what the pod asks for."""

    locality = Locality.STATIC

    def __init__(self, given: Arguments) -> None:
        weights = {name: given["resourceWeight"].get(name, 1) for name in names_in(given["resources"])}
        whole = sum(weights.values())
        #: What a node gets for lacking a resource.
        self._points = {name: _HIGHEST * given["weight"] * weight / whole for name, weight in weights.items() if weight}
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
