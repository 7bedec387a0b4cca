"""What pods are expected to use, by the formula."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task_class import LIMITS, TaskClass
from stromboli.core.plugins.usage.unmeasured import Estimator, EstimatorArguments

MIB = 1 << 20


def kind(cpu: int = 0, memory: int = 0, limits: str = "-/-") -> TaskClass:
    """Pods that ask for so many milli-cpu and MiB; limits are in milli-cpu and bytes."""
    request = [(CPU, cpu), (MEMORY, memory * MIB), (PODS, 1)]
    return TaskClass(0, tuple((d, amount) for d, amount in request if amount), annotations={LIMITS: limits})


TABLE: list[tuple[str, dict[str, Any], TaskClass, tuple[int, int], tuple[int, int]]] = [
    ("seven tenths of what is asked for", {}, kind(1000, 1000), (700, 700 * MIB), (840, 840 * MIB)),
    ("a memory that is not asked for is not expected", {}, kind(1000), (700, 0), (840, 0)),
    ("who asks for nothing", {}, kind(), (250, 200 * MIB), (300, 240 * MIB)),
    ("the same otherwise", {"be_cpu": "1", "be_mem": "10Mi"}, kind(), (1000, 10 * MIB), (1200, 12 * MIB)),
    ("another part", {"request_ratio": 0.5}, kind(1000), (500, 0), (600, 0)),
    ("half of the way to the limit", {"burst_ratio": 0.5}, kind(1000, limits="3000/-"), (1700, 0), (2040, 0)),
    ("no limit, no way to it", {"burst_ratio": 0.5}, kind(1000), (700, 0), (840, 0)),
    ("never more than the limit", {"request_ratio": 1}, kind(1000, limits="1000/-"), (1000, 0), (1000, 0)),
    ("a limit below the request is a limit", {"request_ratio": 1}, kind(1000, limits="400/-"), (400, 0), (400, 0)),
    ("no more at risk", {"risk_factor": 1}, kind(1000), (700, 0), (700, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "pods", "calm", "risk"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_estimates(given: dict[str, Any], pods: TaskClass, calm: tuple[int, int], risk: tuple[int, int]) -> None:
    estimate = Estimator(EstimatorArguments(given)).of(pods)
    assert (estimate.calm, estimate.at_risk) == (calm, risk)
