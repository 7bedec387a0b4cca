"""What queues are promised and may have, as tables: cpu in thousandths of a core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.resources.resources import CPU, UNLIMITED, Request, ResourceAxis
from stromboli.core.plugins.capacity.queue_limits import QueueLimits, QueueTree, flat_limits, tree_limits

TOTAL = 10_000


def queue(
    name: str, parent: str = "", deserved: int = 0, guarantee: int = 0, capability: int | None = None
) -> Queue:  # fmt: skip
    def request(amount: int) -> Request:
        return ((CPU, amount),) if amount else ()

    ceiling = () if capability is None else ((CPU, capability),)
    return Queue(
        name, name, parent=parent, deserved=request(deserved), guarantee=request(guarantee), capability=ceiling
    )


@dataclass(frozen=True)
class Row:
    """Queues, and by name what comes out: (guarantee, deserved, limit)."""

    name: str
    queues: tuple[Queue, ...]
    expected: Mapping[str, tuple[int, int, int]]

    def __str__(self) -> str:
        return self.name


FLAT = [
    Row("nothing promised", (queue("a"),), {"a": (0, 0, TOTAL)}),
    Row("a capability", (queue("a", capability=3_000),), {"a": (0, 0, 3_000)}),
    Row(
        "guarantees of others are out of reach",
        (queue("a", guarantee=2_000), queue("b", guarantee=3_000), queue("c")),
        {"a": (2_000, 2_000, 7_000), "b": (3_000, 3_000, 8_000), "c": (0, 0, 5_000)},
    ),
    Row("deserved within the limit", (queue("a", deserved=12_000),), {"a": (0, TOTAL, TOTAL)}),
    Row("deserved within the capability", (queue("a", deserved=4_000, capability=3_000),), {"a": (0, 3_000, 3_000)}),
    Row("a guarantee is deserved", (queue("a", deserved=1_000, guarantee=2_000),), {"a": (2_000, 2_000, TOTAL)}),
    Row(
        "a guarantee within the capability",
        (queue("a", guarantee=4_000, capability=1_000),), {"a": (1_000, 1_000, 1_000)},
    ),
    Row(
        "more guaranteed than there is",
        (queue("a", guarantee=8_000), queue("b", guarantee=8_000)),
        {"a": (8_000, 8_000, 8_000), "b": (8_000, 8_000, 8_000)},
    ),
    Row(
        "parents do not matter",
        (queue("a", capability=1_000), queue("b", "a")),
        {"a": (0, 0, 1_000), "b": (0, 0, TOTAL)},
    ),
]  # fmt: skip

TREE = [
    Row("the root has the cluster", (queue("a"),), {"root": (0, 0, TOTAL), "a": (0, 0, TOTAL)}),
    Row(
        "the root has less",
        (queue("root", capability=4_000), queue("a")), {"root": (0, 0, 4_000), "a": (0, 0, 4_000)},
    ),
    Row(
        "a capability is inherited",
        (queue("a", capability=3_000), queue("b", "a"), queue("c", "b")),
        {"a": (0, 0, 3_000), "b": (0, 0, 3_000), "c": (0, 0, 3_000)},
    ),
    Row(
        "guarantees of siblings are out of reach",
        (queue("a", capability=6_000), queue("b", "a", guarantee=2_000), queue("c", "a")),
        {"a": (2_000, 2_000, 6_000), "b": (2_000, 2_000, 6_000), "c": (0, 0, 4_000)},
    ),
    Row(
        "guarantees further down are out of reach for uncles",
        (queue("a"), queue("b", "a", guarantee=2_000), queue("c")),
        {"a": (2_000, 2_000, TOTAL), "c": (0, 0, 8_000)},
    ),
    Row(
        "promises add up to the root",
        (queue("a"), queue("b", "a", deserved=2_000), queue("c", "a", deserved=3_000), queue("d", deserved=1_000)),
        {"root": (0, 6_000, TOTAL), "a": (0, 5_000, TOTAL)},
    ),
    Row(
        "a named promise stands",
        (queue("a", deserved=7_000), queue("b", "a", deserved=2_000)), {"a": (0, 7_000, TOTAL), "b": (0, 2_000, TOTAL)},
    ),
    Row(
        "what children deserve is cut in proportion",
        (queue("a", deserved=3_000), queue("b", "a", deserved=4_000), queue("c", "a", deserved=2_000)),
        {"a": (0, 3_000, TOTAL), "b": (0, 2_000, TOTAL), "c": (0, 1_000, TOTAL)},
    ),
    Row(
        "but not below their guarantees",
        (queue("a", deserved=4_000), queue("b", "a", deserved=6_000), queue("c", "a", deserved=2_000, guarantee=2_000)),
        {"a": (2_000, 4_000, TOTAL), "b": (0, 2_000, 8_000), "c": (2_000, 2_000, TOTAL)},
    ),
    Row(
        "what children are guaranteed is cut in proportion",
        (queue("a", guarantee=3_000), queue("b", "a", guarantee=4_000), queue("c", "a", guarantee=2_000)),
        {"a": (3_000, 3_000, TOTAL), "b": (2_000, 2_000, 9_000), "c": (1_000, 1_000, 8_000)},
    ),
    Row(
        "the cut goes all the way down",
        (queue("a", deserved=2_000), queue("b", "a", deserved=4_000), queue("c", "b", deserved=4_000)),
        {"a": (0, 2_000, TOTAL), "b": (0, 2_000, TOTAL), "c": (0, 2_000, TOTAL)},
    ),
    Row(
        "what does not come out even is rounded down",
        (queue("a", deserved=1_000), *(queue(name, "a", deserved=1_000) for name in "bcd")),
        {"b": (0, 333, TOTAL), "c": (0, 333, TOTAL), "d": (0, 333, TOTAL)},
    ),
    Row(
        "guarantees of children within the capability of their parent",
        (queue("a", capability=2_000), queue("b", "a", guarantee=2_000), queue("c", "a", guarantee=2_000)),
        {"a": (2_000, 2_000, 2_000), "b": (1_000, 1_000, 1_000), "c": (1_000, 1_000, 1_000)},
    ),
]  # fmt: skip

AXIS = ResourceAxis()


def found(queues: list[Queue], promises: QueueLimits, wanted: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    rows = {each.name: row for row, each in enumerate(queues)}
    tables = (promises.guarantee, promises.deserved, promises.limit)
    return {name: tuple(int(table[rows[name], CPU]) for table in tables) for name in wanted}


@pytest.mark.parametrize("row", FLAT, ids=str)
def test_limits_without_hierarchy(row: Row) -> None:
    promises = flat_limits(row.queues, [TOTAL, 0, 0], [TOTAL, 0, 0], AXIS)
    assert found(list(row.queues), promises, row.expected) == row.expected


@pytest.mark.parametrize("row", TREE, ids=str)
def test_limits_in_hierarchy(row: Row) -> None:
    tree = QueueTree({each.name: each for each in row.queues})
    promises = tree_limits(tree, [TOTAL, 0, 0], AXIS)
    assert found(tree.queues, promises, row.expected) == row.expected


def test_cluster_size_does_not_limit_capability() -> None:
    tree = QueueTree({each.name: each for each in (queue("a"), queue("b", "a", capability=20_000))})
    promises = tree_limits(tree, [TOTAL, 0, 0], AXIS)
    ceilings = {each.name: int(promises.ceiling[row, CPU]) for row, each in enumerate(tree.queues)}
    assert ceilings == {"root": UNLIMITED, "a": UNLIMITED, "b": 20_000}
