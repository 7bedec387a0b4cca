"""Scarce resources: leave nodes that have them, and the cpu and memory they need, to pods that request them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import CPU, MEMORY, counts_in_milli
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer

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


_MILLI_CPU = 1_000
_GIGABYTE = 1_000_000_000


class _DeviceProportion(NamedTuple):
    """The milli-cpu and bytes of memory reserved per smallest unit of a resource."""

    name: str
    dimension: int
    cpu: float
    memory: float


class ProportionRates(Arguments):
    by_name: Mapping[str, float] = PrefixArgument("<name>", 1.0, "Cores, or gigabytes of memory.", minimum=0)


class ProportionArguments(Arguments):
    enable: bool = Argument("enable", False, "Whether cpu and memory are reserved for idle devices.")
    resources: str = Argument("resources", "", "The resources to reserve for, separated by commas.")
    rates: ProportionRates = Argument("resourceProportion", {}, "Cpu and memory per device.", entries=ProportionRates)


class ProportionFilter(NodeFilter):
    """A pod that requests no device must leave enough cpu and memory for all idle devices."""

    locality = Locality.ROW

    def __init__(self, arguments: ProportionArguments) -> None:
        rates = arguments.rates.by_name
        self._rates = {
            name: (rates.get(f"{name}.cpu", 1.0), rates.get(f"{name}.memory", 1.0))
            for name in names_in(arguments.resources)
        }
        self._companions: list[_DeviceProportion] = []

    def open(self, session: Session) -> None:
        found = ((name, session.axis.find(name)) for name in self._rates)
        self._companions = [self._companions_of(name, d) for name, d in found if d is not None]

    def _companions_of(self, name: str, dimension: int) -> _DeviceProportion:
        cpu, memory = self._rates[name]
        parts = 1_000 if counts_in_milli(name) else 1
        return _DeviceProportion(name, dimension, cpu * _MILLI_CPU / parts, memory * _GIGABYTE / parts)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._kept_from(task_class))

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        mask = np.ones(len(rows), dtype=np.bool_)
        for companions in self._kept_from(task_class):
            mask &= _leaves_enough(companions, task_class, rows)
        return mask

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        left = refused.copy()
        for companions in self._kept_from(task_class):
            short = left & ~_leaves_enough(companions, task_class, ledger.all_rows)
            if short.any():
                detail = f"proportional of resource {companions.name} check failed"
                yield Reason(Code.CAPACITY_RESERVED_FOR_DEVICES, detail), np.flatnonzero(short)
                left &= ~short

    def _kept_from(self, task_class: TaskClass) -> list[_DeviceProportion]:
        """The resources that the class does not request."""
        requested = {dimension for dimension, _ in task_class.request}
        return [companions for companions in self._companions if companions.dimension not in requested]


def _leaves_enough(companions: _DeviceProportion, task_class: TaskClass, rows: Rows) -> Mask:
    """Report which rows keep the reserved amounts, by future idle amounts: a pod that waits for releases is checked
    against the capacity after them.
    """
    requested, idle = dict(task_class.request), np.maximum(rows.future_idle(companions.dimension), 0)
    enough: Mask = rows.future_idle(CPU) - requested.get(CPU, 0) >= idle * companions.cpu
    enough &= rows.future_idle(MEMORY) - requested.get(MEMORY, 0) >= idle * companions.memory
    return enough | (idle == 0)
