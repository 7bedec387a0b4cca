"""Estimated use of pods that no measurement covers yet: those placed a moment ago."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass


def _milli(text: str) -> int:
    return parse_quantity(text, milli=True)


def _bytes(text: str) -> int:
    return parse_quantity(text, milli=False)


class EstimatorArguments(Arguments):
    request_ratio: float = Argument("request_ratio", 0.7, "The used fraction of the request of a pod.", minimum=0)
    burst_ratio: float = Argument("burst_ratio", 0.0, "The used fraction between request and limit.", minimum=0)
    risk_threshold: float = Argument("risk_threshold", 0.6, "The load from which the risk factor applies.", minimum=0)
    risk_factor: float = Argument("risk_factor", 1.2, "The factor on estimates on loaded nodes.", minimum=0)
    best_effort_cpu: int = Argument("be_cpu", "250m", "The cpu of a pod without requests.", parse=_milli)
    best_effort_memory: int = Argument("be_mem", "200Mi", "The memory of a pod without requests.", parse=_bytes)


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
    def __init__(self, arguments: EstimatorArguments) -> None:
        self._arguments = arguments
        self._best_effort = (arguments.best_effort_cpu, arguments.best_effort_memory)

    def of(self, task_class: TaskClass) -> Estimate:
        return Estimate(self._used(task_class, 1.0), self._used(task_class, self._arguments.risk_factor))

    def _used(self, task_class: TaskClass, factor: float) -> tuple[int, int]:
        if task_class.best_effort:
            cpu, memory = (round(amount * factor) for amount in self._best_effort)
            return cpu, memory
        asked = dict(task_class.request)
        request: Sequence[int] = (asked.get(CPU, 0), asked.get(MEMORY, 0))
        cpu, memory = (self._part(*pair, factor) for pair in zip(request, task_class.limits, strict=True))
        return cpu, memory

    def _part(self, request: int, limit: int | None, factor: float) -> int:
        """Return a fraction of the request and of the burst above it, never more than the limit."""
        beyond = 0 if limit is None else max(limit - request, 0)
        ratios = self._arguments
        used = round((request * ratios.request_ratio + beyond * ratios.burst_ratio) * factor)
        return used if limit is None else min(used, limit)
