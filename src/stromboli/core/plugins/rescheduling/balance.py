"""Which nodes are busy and which have little to do, and how much may move from the ones to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task_class import TaskClass

#: The measured resources, in the order of the columns.
MEASURED = (CPU, MEMORY, PODS)
NAMES = ("cpu", "memory", "pods")
#: For resources without a threshold: no node is above it.
_NO_THRESHOLD = 100.0

Percent = NDArray[np.float64]


class PercentArguments(Arguments):
    cpu: float = Argument("cpu", _NO_THRESHOLD, "Per cent.", minimum=0)
    memory: float = Argument("memory", _NO_THRESHOLD, "Per cent.", minimum=0)
    pods: float = Argument("pods", _NO_THRESHOLD, "Per cent.", minimum=0)

    def as_list(self) -> list[float]:
        return [self.cpu, self.memory, self.pods]


class ThresholdPairArguments(Arguments):
    low: PercentArguments = Argument(
        "thresholds", {}, "A node below all of them is underutilised.", entries=PercentArguments
    )
    high: PercentArguments = Argument(
        "targetThresholds", {}, "A node above one of them is overutilised.", entries=PercentArguments
    )


class ParameterArguments(ThresholdPairArguments):
    nested: ThresholdPairArguments = Argument(
        "nodeResourceUtilizationThresholds", {}, "Both of them.", entries=ThresholdPairArguments
    )


@dataclass(frozen=True, slots=True)
class Thresholds:
    """In per cent: below all of `low` a node has little to do, above one of `high` it is busy."""

    low: Sequence[float]
    high: Sequence[float]

    @classmethod
    def of(cls, parameters: ParameterArguments) -> Thresholds:
        """Read the parameters of a strategy; values of its own precede the nested ones."""
        nested, own = parameters.nested, parameters.configured
        low = parameters.low if "thresholds" in own else nested.low
        high = parameters.high if "targetThresholds" in own else nested.high
        return cls(low.as_list(), high.as_list())


class Balance:
    """The nodes as they were measured, and the moves between them."""

    def __init__(self, thresholds: Thresholds, usage: UsageTable, rows: Rows, known: Mask, open_to_pods: Mask) -> None:
        self._thresholds = thresholds
        self._whole = np.array([rows.allocatable(dimension) for dimension in MEASURED], dtype=np.float64)
        #: A column per node: how much it uses, in the units of the resources.
        self._used = np.array([usage.cpu * self._whole[0], usage.memory * self._whole[1], rows.used(PODS)])
        percent = self.percent
        with np.errstate(invalid="ignore"):
            self.low: Mask = known & open_to_pods & (percent < np.array([thresholds.low]).T).all(axis=0)
            self.high: Mask = known & (percent > np.array([thresholds.high]).T).any(axis=0)
        self.high &= ~self.low
        self._headroom = self._headroom_below_thresholds()

    @property
    def percent(self) -> Percent:
        return self._used * 100.0 / np.maximum(self._whole, 1.0)

    def _headroom_below_thresholds(self) -> list[float]:
        """How much the nodes with little to do may take before one of them would be busy."""
        threshold = np.array([self._thresholds.high]).T / 100.0
        headroom = np.maximum(threshold * self._whole - self._used, 0.0)[:, self.low]
        return [float(amount) for amount in headroom.sum(axis=1)]

    @property
    def is_uneven(self) -> bool:
        return bool(self.low.any() and self.high.any())

    def busiest_first(self) -> list[int]:
        """The rows of busy nodes."""
        load: Vector = self.percent[0] + self.percent[1]
        return sorted(np.flatnonzero(self.high).tolist(), key=lambda row: (-load[row], row))

    def is_busy(self, row: int) -> bool:
        return bool((self.percent[:, row] > self._thresholds.high).any())

    def fits_on(self, task_class: TaskClass) -> bool:
        return all(
            amount <= headroom for amount, headroom in zip(_assumed_use(task_class), self._headroom, strict=True)
        )

    def move(self, task_class: TaskClass, row: int) -> None:
        """A pod leaves a node."""
        for place, amount in enumerate(_assumed_use(task_class)):
            self._used[place, row] -= amount
            self._headroom[place] -= amount

    def why(self, row: int) -> str:
        """Describe why a node is busy."""
        over = zip(NAMES, self.percent[:, row], self._thresholds.high, strict=True)
        return ", ".join(
            f"{used:.0f}% of its {name} (above {threshold:g}%)" for name, used, threshold in over if used > threshold
        )


def _assumed_use(task_class: TaskClass) -> tuple[int, int, int]:
    """Return the assumed use of a pod, which is not measured: its request, or what scorers assume of a container
    without one.
    """
    return *task_class.scored_request, 1
