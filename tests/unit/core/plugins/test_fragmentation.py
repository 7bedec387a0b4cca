"""How the fragmentation plugin ranks nodes: the measure against a plain computation, and rows against each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.plugins.fragmentation.plugin import Fragmentation, FragmentationArguments
from stromboli.core.plugins.fragmentation.shapes import GpuShape, ShapeTable
from stromboli.core.plugins.fragmentation.usable import FreeCapacity, PodRequest, usable_gpus
from tests.testing.random_clusters.effort import examples
from tests.unit.core.plugins.row_clusters import check_rows, row_worlds
from tests.unit.core.plugins.rule_cluster import World

portions = st.sampled_from([100, 250, 333, 500, 1000])
shapes = st.builds(
    lambda cpu, memory, number, portion: GpuShape(cpu, memory, number if portion == 1000 else 1, portion),
    st.integers(0, 4), st.integers(0, 4), st.integers(1, 4), portions,
)  # fmt: skip
machines = st.tuples(
    st.integers(0, 5), st.integers(0, 5), st.integers(0, 4), st.lists(st.integers(0, 999), min_size=3, max_size=3)
)


def usable_by(shape: GpuShape, machine: tuple[int, int, int, list[int]]) -> int:
    """What a pod of the shape could use of a machine, as the definition reads."""
    cpu, memory, whole, parts = machine
    if cpu < shape.cpu or memory < shape.memory:
        return 0
    if shape.portion < 1000:
        return 1000 * whole + sum(left for left in parts if left >= shape.portion)
    return 1000 * whole if whole >= shape.number else 0


def columns(found: list[tuple[int, int, int, list[int]]]) -> FreeCapacity:
    cpu, memory, whole = (np.array([machine[place] for machine in found]) for place in range(3))
    parts = np.array([[*machine[3], 0] for machine in found]).T
    return FreeCapacity(cpu, memory, whole, parts)


@examples(100)
@given(st.dictionaries(shapes, st.integers(1, 9), max_size=6), st.lists(machines, min_size=1, max_size=4))
def test_usable_gpus_equal_the_definition(
    pods: dict[GpuShape, int], found: list[tuple[int, int, int, list[int]]]
) -> None:
    everywhere = bytes([1]) * len(found)
    table = ShapeTable({(shape, everywhere): count for shape, count in pods.items()}, len(found))
    expected = [sum(count * usable_by(shape, each) for shape, count in pods.items()) for each in found]
    assert usable_gpus(table, table.accepted, columns(found)).tolist() == expected


LEFT = [
    ("a whole GPU", [1000], 2, [300, 600, 0], True, 1, [600, 300, 0]),
    ("packing joins the fullest GPU with enough left", [300], 2, [300, 600, 0], True, 2, [600, 0, 0]),
    ("packing takes a free GPU where no shared one has enough", [700], 2, [300, 600, 0], True, 1, [600, 300, 300]),
    ("spreading takes a free GPU first", [300], 2, [300, 600, 0], False, 1, [700, 600, 300]),
    ("spreading joins the emptiest GPU where none is free", [300], 0, [300, 600, 0], False, 0, [300, 300, 0]),
]


@pytest.mark.parametrize(
    ("title", "portion", "whole", "parts", "packs", "whole_left", "parts_left"), LEFT, ids=[row[0] for row in LEFT]
)
def test_pod_takes_the_gpu_that_gpusharing_assigns(
    title: str, portion: list[int], whole: int, parts: list[int], packs: bool, whole_left: int, parts_left: list[int]
) -> None:
    pod = PodRequest(0, 0, 1, portion[0], None)
    shares = None if portion[0] == 1000 else np.array(portion)
    left = columns([(1, 1, whole, parts)]).without(pod, shares, packs=packs)
    assert (left.whole.tolist(), sorted(left.parts[:, 0], reverse=True)[: len(parts)]) == ([whole_left], parts_left)


@examples(60)
@given(row_worlds(), st.data())
def test_score_depends_on_nothing_but_the_row(world: World, data: st.DataObject) -> None:
    declared = [{"gpus": "1", "cpu": "333m"}, {"gpus": "2", "memory": "7Gi", "pods": 3}]
    given_arguments = {"fragmentation.shapes": declared, "fragmentation.scarcity": 0}
    check_rows(Fragmentation(FragmentationArguments(given_arguments)), world, data)
