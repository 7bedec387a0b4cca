"""The formulas of resource-strategy-fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins.resource_strategy_fit.plugin import ResourceStrategyFit
from tests.testing.random_clusters.effort import examples
from tests.unit.core.plugins.row_clusters import check_rows, row_worlds
from tests.unit.core.plugins.rule_cluster import GIB, GPU, Kind, Machine, World, build, kind, machine

A10 = "nvidia.com/a10"
SMALL = kind(request={"cpu": 1000, "memory": GIB})
GPU_USER = kind(request={"cpu": 1000, "memory": GIB, GPU: 1000})
MOST = {"type": "MostAllocated"}


def opened(world: World, **arguments: Any) -> Plugin:
    return world.open(build(ResourceStrategyFit, **arguments))


class Case(NamedTuple):
    """Arguments, machines, and the scores of the nodes in the order of their names."""

    title: str
    given: Mapping[str, Any]
    machines: Sequence[Machine]
    asks: Kind
    scores: Sequence[float]
    placed: Sequence[tuple[Kind, str]] = ()


def sized(*shapes: tuple[int, int]) -> list[Machine]:
    return [machine(name, cpu=c * 1000, memory=m * GIB) for name, (c, m) in zip("abcdef", shapes, strict=False)]


WITH_GPU = [machine("a", cpu=4000, memory=4 * GIB, gpu=2000)]
PACKS_CPU = {"resources": {"cpu": MOST}}
ONE = {"resourceStrategyFitWeight": 1}

FITTING = [
    Case("the mean of what is left", {}, sized((2, 4)), SMALL, [625.0]),
    Case("a weight of 1", ONE, sized((2, 4)), SMALL, [62.5]),
    Case("what is in use", ONE | PACKS_CPU, sized((2, 4)), SMALL, [50.0]),
    Case("with what stands there", ONE | PACKS_CPU, sized((4, 4), (4, 4)), SMALL, [50.0, 25.0], [(SMALL, "a")]),
    Case("exactly full is best", ONE | PACKS_CPU, sized((1, 4)), SMALL, [100.0]),
    Case("more than full is nothing", ONE | PACKS_CPU, sized((1, 4)), SMALL, [0.0], [(SMALL, "a")]),
    Case("more than full is nothing to spread", ONE, sized((1, 4)), SMALL, [25.0], [(SMALL, "a")]),
    Case("a node that has nothing", ONE, sized((0, 0)), SMALL, [0.0]),
    Case(
        "each by its own strategy and weight",
        ONE | {"resources": {GPU: MOST | {"weight": 2}, "cpu": {"weight": 1}}}, WITH_GPU, GPU_USER,
        [100 * (2 * 0.5 + 0.75) / 3],
    ),
    Case("a beginning", ONE | {"resources": {"nvidia.com/*": MOST}}, WITH_GPU, GPU_USER, [50.0]),
    Case("pods count by their own name alone", ONE | {"resources": {"*": MOST}}, sized((2, 4)), SMALL, [37.5]),
    Case("like this", ONE | {"resources": {"pods": MOST}}, [machine("a", pods=10)], SMALL, [10.0]),
]  # fmt: skip


@pytest.mark.parametrize("case", FITTING, ids=[case.title for case in FITTING])
def test_strategy_scores(case: Case) -> None:
    world = World(case.machines, [case.asks, SMALL], case.placed)
    [scorer] = opened(world, **case.given).node_scorers()
    assert list(world.scores(scorer, case.asks).values()) == pytest.approx(list(case.scores))


#: The example of Volcano's own documentation.
T4 = "nvidia.com/t4"
EXAMPLE = [
    machine("a", cpu=32_000, memory=64 * GIB),
    Machine(machine("b").facts, {"cpu": 16_000, "memory": 32 * GIB, "pods": 110, T4: 10_000}),
    Machine(machine("c").facts, {"cpu": 16_000, "memory": 32 * GIB, "pods": 110, T4: 5_000, A10: 10_000}),
]
TASKS = [
    (kind(request={"cpu": 2000, "memory": 4 * GIB}), [200.0, 100.0, 0.0]),
    (kind(request={"cpu": 2000, "memory": 4 * GIB, T4: 2000}), [0.0, 100.0, 0.0]),
    (kind(request={"cpu": 2000, "memory": 4 * GIB, T4: 1000, A10: 2000}), [0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("asks", "expected"), TASKS)
def test_scarce_resources_are_avoided_as_documented(asks: Kind, expected: list[float]) -> None:
    world = World(EXAMPLE, [every for every, _ in TASKS], [])
    sra = {"enable": True, "resources": f"{T4}, {A10}", "weight": 2, "resourceWeight": {T4: 1, A10: 1}}
    [scorer] = opened(world, resourceStrategyFitWeight=0, sra=sra).node_scorers()
    assert list(world.scores(scorer, asks).values()) == expected


strategies = st.fixed_dictionaries(
    {"type": st.sampled_from(["MostAllocated", "LeastAllocated"]), "weight": st.integers(0, 5)}
)
resources = st.dictionaries(st.sampled_from(["cpu", "memory", GPU, "nvidia.com/*", "*"]), strategies, max_size=4)


@given(world=row_worlds(), chosen=resources, data=st.data())
@examples(60)
def test_row_score_does_not_depend_on_other_rows(world: World, chosen: dict[str, Any], data: st.DataObject) -> None:
    check_rows(build(ResourceStrategyFit, resources=chosen), world, data)


@given(world=row_worlds(), chosen=resources)
@examples(60)
def test_scores_stay_within_weight(world: World, chosen: dict[str, Any]) -> None:
    [scorer] = opened(world, resources=chosen).node_scorers()
    for each in world.kinds:
        if scorer.applies_to(world.classes[each], world.ledger):
            scores = scorer.scores(world.classes[each], world.ledger.all_rows, world.ledger, None)
            assert ((scores >= -1e-9) & (scores <= 1000 + 1e-9)).all()


@given(world=row_worlds(), cpu=st.sampled_from([0, 0.5, 1, 8]), memory=st.sampled_from([0, 0.25, 1, 64]))
@examples(100)
def test_accepted_nodes_keep_proportions_of_idle_devices(world: World, cpu: float, memory: float) -> None:
    rates = {f"{GPU}.cpu": cpu, f"{GPU}.memory": memory}
    [rule] = opened(world, proportional={"enable": True, "resources": GPU, "resourceProportion": rates}).node_filters()
    books, layout = world.ledger.amounts, world.ledger.layout
    gpu = world.axis.dimension(GPU)
    for each in world.kinds:
        task_class = world.classes[each]
        asked = dict(task_class.request)
        mask = world.mask(rule, each)
        for row in range(len(world.nodes)):
            idle = max(int(books[layout.idle + gpu, row]), 0) / 1000
            leaves_cpu = int(books[0, row]) - asked.get(0, 0) >= idle * cpu * 1000
            leaves_memory = int(books[1, row]) - asked.get(1, 0) >= idle * memory * 1e9
            expected = gpu in asked or idle == 0 or (leaves_cpu and leaves_memory)
            assert bool(mask[row]) is bool(expected)
        refused = np.flatnonzero(~mask)
        reported = [row for _, rows in rule.refusals(task_class, world.ledger, ~mask) for row in rows.tolist()]
        assert sorted(reported) == refused.tolist()
