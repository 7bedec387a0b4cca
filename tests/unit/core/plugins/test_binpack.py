"""How the binpack plugin ranks nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.plugins.binpack import Binpack
from tests.testing.random_clusters.effort import examples
from tests.unit.core.plugins.row_clusters import check_rows, row_worlds
from tests.unit.core.plugins.rule_cluster import GIB, GPU, Kind, Machine, World, build, kind, machine

SMALL = kind(request={"cpu": 1000, "memory": GIB})
MEMORY_ONLY = kind(request={"memory": GIB})
NOTHING = kind(request={})
GPU_USER = kind(request={"cpu": 1000, "memory": GIB, GPU: 1000})


class Case(NamedTuple):
    """Arguments (with __ for a dot), machines, and the scores of the nodes in the order of their names."""

    title: str
    given: Mapping[str, object]
    machines: Sequence[Machine]
    asks: Kind
    scores: Sequence[float]
    placed: Sequence[tuple[Kind, str]] = ()


def sized(*shapes: tuple[int, int]) -> list[Machine]:
    return [machine(name, cpu=c * 1000, memory=m * GIB) for name, (c, m) in zip("abcdef", shapes, strict=False)]


WITH_GPU = [machine("a", cpu=4000, memory=4 * GIB, gpu=2000)]
GPUS_COUNT = {"binpack__resources": f" {GPU} ,, rdma/hca"}

CASES = [
    Case("the mean of cpu and memory", {}, sized((2, 4)), SMALL, [37.5]),
    Case("the fuller node is better", {}, sized((4, 4), (4, 4)), SMALL, [50.0, 25.0], [(SMALL, "a")]),
    Case("exactly full is best", {}, sized((3, 3)), SMALL, [100.0], [(SMALL, "a"), (SMALL, "a")]),
    Case("what would not suffice gives nothing", {}, sized((1, 4)), SMALL, [25.0], [(SMALL, "a")]),
    Case("a node that has nothing", {}, sized((0, 4), (0, 0)), SMALL, [12.5, 0.0]),
    Case("only what is asked for counts", {}, sized((4, 4)), MEMORY_ONLY, [50.0], [(SMALL, "a")]),
    Case("who asks for nothing does not care", {}, sized((4, 4)), NOTHING, [0.0], [(SMALL, "a")]),
    Case("a weight", {"binpack__weight": 5}, sized((2, 4)), SMALL, [187.5]),
    Case("a negative weight is read as 1", {"binpack__weight": -5}, sized((2, 4)), SMALL, [37.5]),
    Case("cpu counts thrice", {"binpack__cpu": 3}, sized((2, 4)), SMALL, [43.75]),
    Case("memory does not count", {"binpack__memory": 0}, sized((2, 4)), SMALL, [50.0]),
    Case("nothing that it asks for counts", {"binpack__memory": 0}, sized((4, 4)), MEMORY_ONLY, [0.0]),
    Case("a negative weight of cpu is read as 1", {"binpack__cpu": -3}, sized((2, 4)), SMALL, [37.5]),
    Case("other resources do not count by themselves", {}, WITH_GPU, GPU_USER, [25.0]),
    Case("unless they are named", GPUS_COUNT, WITH_GPU, GPU_USER, [100 * (0.25 + 0.25 + 0.5) / 3]),
    Case("with a weight", GPUS_COUNT | {f"binpack__resources__{GPU}": 2}, WITH_GPU, GPU_USER, [37.5]),
    Case("negative is read as 1",
         GPUS_COUNT | {f"binpack__resources__{GPU}": -2}, WITH_GPU, GPU_USER, [100 * (0.25 + 0.25 + 0.5) / 3]),
    Case("a weight alone names nothing", {f"binpack__resources__{GPU}": 2}, WITH_GPU, GPU_USER, [25.0]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_scores(case: Case) -> None:
    world = World(case.machines, [case.asks], case.placed)
    (scorer,) = world.open(build(Binpack, **case.given)).node_scorers()
    assert list(world.scores(scorer, case.asks).values()) == pytest.approx(case.scores)


def test_weight_zero_disables_scorer() -> None:
    assert not build(Binpack, binpack__weight=0).node_scorers()


def test_resource_added_later_counts_from_then_on() -> None:
    """The plugin outlives cycles; its weights are looked up anew in each."""
    plugin = build(Binpack, **GPUS_COUNT)
    world = World(sized((4, 4)), [SMALL])
    (scorer,) = world.open(plugin).node_scorers()
    assert world.scores(scorer, SMALL) == {"a": 25.0}
    later = World(WITH_GPU, [GPU_USER])
    later.open(plugin)
    assert later.scores(scorer, GPU_USER)["a"] == pytest.approx(100 / 3)


@examples(200)
@given(
    world=row_worlds(),
    cpu=st.integers(0, 3),
    memory=st.integers(0, 3),
    gpu=st.sampled_from(["", GPU]),
    data=st.data(),
)
def test_packing_depends_on_the_row_only(world: World, cpu: int, memory: int, gpu: str, data: st.DataObject) -> None:
    plugin = build(Binpack, binpack__cpu=cpu, binpack__memory=memory, binpack__resources=gpu)
    check_rows(plugin, world, data)
