"""Random books for scorers of rows, and the proof that a scorer reads nothing but the row.

A row must get the same score, to the last bit, when all rows are asked, when only some are, and when the row is
imagined ("after two more copies") instead of made.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from stromboli.core.config.plugin import Plugin
from stromboli.core.search.node_rules import Locality, NodeScorer
from stromboli.core.search.row_scores import RowScores
from tests.unit.core.plugins.rule_cluster import GPU, Kind, World, kind, machine

#: Awkward numbers on purpose: thirds and sevenths do not fit into a float.
cores = st.sampled_from([0, 1, 7, 333, 1000, 2999, 4000, 96_000])
sizes = st.sampled_from([0, 1, 3 << 20, 7 << 30, (64 << 30) - 4096, 1 << 41])
gpus = st.sampled_from([0, 1000, 3000, 8000])


requests = st.builds(
    lambda cpu, memory, gpu: {"cpu": cpu // 7, "memory": memory // 7, GPU: gpu},
    cores,
    sizes,
    st.sampled_from([0, 0, 1000]),
)
kinds_with_requests = st.lists(requests.map(lambda request: kind(request=request)), min_size=1, max_size=3)
shapes = st.lists(st.tuples(cores, sizes, gpus, st.integers(0, 12)), min_size=1, max_size=6)
#: A kind and a node by number, modulo those that there are.
places = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 59)), max_size=8)


@st.composite
def row_worlds(draw: st.DrawFn) -> World:
    """Nodes of all shapes, some with more on them than they have."""
    kinds = draw(kinds_with_requests)
    machines = [
        machine(name, cpu=cpu, memory=memory, gpu=gpu, pods=pods)
        for name, (cpu, memory, gpu, pods) in zip("abcdef", draw(shapes), strict=False)
    ]
    placed = [(kinds[each % len(kinds)], "abcdef"[node % len(machines)]) for each, node in draw(places)]
    return World(machines, kinds, placed)


def copies_that_fit(world: World, each: Kind, row: int) -> int:
    books = world.ledger.amounts
    return max(0, min(int(books[d, row]) // amount for d, amount in world.classes[each].request))


def made_real(world: World, each: Kind, row: int, copies: int) -> World:
    """The same world with the copies placed."""
    twin = World(world.machines, world.kinds, world.placed)
    if copies:
        twin.place(each, [row] * copies)
    return twin


def check_rows(plugin: Plugin, world: World, data: st.DataObject) -> None:
    """Every scorer of rows gives a row the same bits, however it is shown, and agrees with its sum of fractions."""
    world.open(plugin)
    rows = [scorer for scorer in plugin.node_scorers() if scorer.locality is Locality.ROW]
    for each in world.kinds:
        for scorer in rows:
            if scorer.applies_to(world.classes[each], world.ledger):
                _check_some_rows(scorer, world, each, data)
                _check_imagined_rows(plugin, scorer, world, each, data)
                _check_sum_of_fractions(scorer, world, each)


def _check_some_rows(scorer: NodeScorer, world: World, each: Kind, data: st.DataObject) -> None:
    task_class, ledger = world.classes[each], world.ledger
    everywhere = scorer.scores(task_class, ledger.all_rows, ledger, None)
    row = st.integers(0, len(world.nodes) - 1)
    index = np.array(data.draw(st.lists(row, min_size=1, max_size=8)), dtype=np.int64)
    some = scorer.scores(task_class, ledger.rows(index), ledger, None)
    assert np.isfinite(everywhere).all()
    assert some.tobytes() == everywhere[index].tobytes()
    roomy = np.array([row for row in index if copies_that_fit(world, each, row)], dtype=np.int64)
    sure = scorer.scores(task_class, ledger.rows(roomy, certain=True), ledger, None)
    assert sure.tobytes() == everywhere[roomy].tobytes()


def _check_imagined_rows(plugin: Plugin, scorer: NodeScorer, world: World, each: Kind, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(world.nodes) - 1))
    most = min(4, copies_that_fit(world, each, row))
    index, copies = np.full(most + 1, row, dtype=np.int64), np.arange(most + 1, dtype=np.int64)
    imagined = world.ledger.hypothetical(index, copies, world.classes[each])
    scores = scorer.scores(world.classes[each], imagined, world.ledger, None)
    for number in copies.tolist():
        twin = made_real(world, each, row, number)
        twin.open(plugin)
        real = scorer.scores(twin.classes[each], twin.ledger.all_rows, twin.ledger, None)
        assert scores[number].tobytes() == real[row].tobytes()
    world.open(plugin)


def _check_sum_of_fractions(scorer: NodeScorer, world: World, each: Kind) -> None:
    """On nodes with capacity, merging the scorer with others changes nothing but the rounding."""
    task_class, ledger = world.classes[each], world.ledger
    if scorer.as_fractions(task_class, ledger) is None:
        return
    merged = RowScores([scorer], task_class, ledger)
    roomy = [row for row in range(len(world.nodes)) if copies_that_fit(world, each, row)]
    rows, total = ledger.rows(np.array(roomy, dtype=np.int64), certain=True), np.zeros(len(roomy))
    merged.add_to(total, rows, ledger)
    assert total == pytest.approx(scorer.scores(task_class, rows, ledger, None), abs=1e-9)
