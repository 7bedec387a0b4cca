"""What pods will use that no measurement has seen yet: those that were placed a moment ago."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stromboli.core.config.arguments import Argument
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass


def _milli(text: str) -> int:
    return parse_quantity(text, milli=True)


def _bytes(text: str) -> int:
    return parse_quantity(text, milli=False)


ARGUMENTS = (
    Argument("request_ratio", float, 0.7, "Which part of its request a pod uses.", minimum=0),
    Argument("burst_ratio", float, 0.0, "Which part of what lies between request and limit it uses.", minimum=0),
    Argument("risk_threshold", float, 0.6, "From this load on a node's pods are taken for hungrier.", minimum=0),
    Argument("risk_factor", float, 1.2, "How much hungrier.", minimum=0),
    Argument("be_cpu", str, "250m", "What a pod that asks for nothing uses of cpu.", form=_milli),
    Argument("be_mem", str, "200Mi", "And of memory.", form=_bytes),
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much cpu and memory a pod of a class will use, on nodes that are calm and on those that are at risk."""

    calm: tuple[int, int]
    at_risk: tuple[int, int]

    def columns(self, at_risk: Mask) -> tuple[Amount, Amount]:
        """Per node. Whole numbers, so that many copies cost exactly as much as one after the other."""
        cpu, memory = (np.where(at_risk, hungry, calm) for calm, hungry in zip(self.calm, self.at_risk, strict=True))
        return cpu, memory


class Estimator:
    def __init__(self, given: Mapping[str, object]) -> None:
        said = {argument.key: given.get(argument.key, argument.default) for argument in ARGUMENTS}
        self._request_ratio, self._burst_ratio = float(str(said["request_ratio"])), float(str(said["burst_ratio"]))
        self.risk_threshold, self._risk_factor = float(str(said["risk_threshold"])), float(str(said["risk_factor"]))
        self._best_effort = (_milli(str(said["be_cpu"])), _bytes(str(said["be_mem"])))

    def of(self, task_class: TaskClass) -> Estimate:
        return Estimate(self._used(task_class, 1.0), self._used(task_class, self._risk_factor))

    def _used(self, task_class: TaskClass, factor: float) -> tuple[int, int]:
        if task_class.best_effort:
            cpu, memory = (round(amount * factor) for amount in self._best_effort)
            return cpu, memory
        asked = dict(task_class.request)
        request: Sequence[int] = (asked.get(CPU, 0), asked.get(MEMORY, 0))
        cpu, memory = (self._part(*pair, factor) for pair in zip(request, task_class.limits, strict=True))
        return cpu, memory

    def _part(self, request: int, limit: int | None, factor: float) -> int:
        """A part of the request and of what may be used beyond it, never more than the limit."""
        beyond = 0 if limit is None else max(limit - request, 0)
        used = round((request * self._request_ratio + beyond * self._burst_ratio) * factor)
        return used if limit is None else min(used, limit)
