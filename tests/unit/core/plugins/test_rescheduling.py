"""Which nodes are busy and which have little to do, by their figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stromboli.core.model.nodes.amounts import AmountLayout, Rows
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.nodes.usage import UsageTable
from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.rescheduling import Balance, ParameterArguments, Thresholds


def balance(cpu: list[float], memory: list[float], pods: list[int], **marks: Any) -> Balance:
    """Nodes of 10 cpu, 100 bytes and 10 pods, measured in parts."""
    table, layout = NodeTable([Node(str(number)) for number in range(len(cpu))]), AmountLayout(3)
    books = layout.empty(len(cpu))
    for dimension, whole in ((CPU, 10_000), (MEMORY, 100), (PODS, 10)):
        books[layout.allocatable + dimension] = whole
    books[layout.used + PODS] = pods
    all_open = np.ones(len(cpu), dtype=np.bool_)
    usage = UsageTable(np.array(cpu), np.array(memory), np.zeros(len(cpu)))
    thresholds = Thresholds.of(ParameterArguments(marks))
    return Balance(thresholds, usage, Rows(books, layout, table), ~np.isnan(usage.cpu), all_open)


LOW_20, HIGH_50 = {"cpu": 20, "memory": 20, "pods": 20}, {"cpu": 50, "memory": 50, "pods": 50}
USUAL: dict[str, Any] = {"thresholds": LOW_20, "targetThresholds": HIGH_50}
UNMEASURED = float("nan")
TABLE: list[tuple[str, Balance, str]] = [
    ("little, some and much", balance([0.1, 0.3, 0.6], [0, 0, 0], [0, 0, 0], **USUAL), "L-H"),
    ("the marks themselves are neither", balance([0.2, 0.5], [0, 0], [0, 0], **USUAL), "--"),
    ("one resource is enough to be busy", balance([0.1, 0.1, 0.1], [0.6, 0, 0], [0, 6, 0], **USUAL), "HHL"),
    ("one is enough not to be idle", balance([0.1, 0.1], [0.3, 0.1], [0, 3], **USUAL), "--"),
    ("what is not said is all", balance([0.1, 1.1], [0.9, 0], [9, 0], thresholds={"cpu": 20}), "LH"),
    ("a node without metrics is neither", balance([0.1, UNMEASURED, 0.9], [0, 0, 0], [0, 9, 0], **USUAL), "L-H"),
    ("who has little to do is not busy",
     balance([0.3], [0], [0], thresholds={"cpu": 50}, targetThresholds={"cpu": 20}), "L"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "letters"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_overutilised_and_underutilised_nodes(found: Balance, letters: str) -> None:
    pairs = zip(found.low.tolist(), found.high.tolist(), strict=True)
    assert "".join("L" if low else "H" if high else "-" for low, high in pairs) == letters


def pods_of(milli: int) -> TaskClass:
    return TaskClass(0, ((CPU, milli), (PODS, 1)), scored_request=(milli, 0))


def test_moves_are_limited_by_headroom() -> None:
    found = balance([0.1, 0.9], [0, 0], [0, 0], thresholds={"cpu": 20}, targetThresholds={"cpu": 50, "pods": 30})
    assert found.fits_on(pods_of(4000))
    assert not found.fits_on(pods_of(4001))
    found.move(pods_of(3000), 1)
    assert found.is_busy(1)
    assert found.why(1) == "60% of its cpu (above 50%)"
    found.move(pods_of(1000), 1)
    assert not found.is_busy(1)
    assert not found.fits_on(pods_of(1))


def test_busiest_nodes_come_first() -> None:
    found = balance([0.6, 0.1, 0.9, 0.6], [0.2, 0, 0, 0.9], [0, 0, 0, 0], **USUAL)
    assert found.busiest_first() == [3, 2, 0]
