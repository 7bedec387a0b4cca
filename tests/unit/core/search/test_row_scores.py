"""Scores that are sums of fractions are merged, and merged anew when what they are based on changes."""

from __future__ import annotations

import numpy as np
import pytest

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.plugins.binpack import Binpack
from stromboli.core.plugins.nodeorder.plugin import NodeOrder
from stromboli.core.search.class_view import ClassView
from stromboli.core.search.row_scores import RowScores
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import session_of
from tests.unit.core.plugins.rule_cluster import GIB, World, build, kind, machine

SMALL = kind(request={"cpu": 1000, "memory": GIB})
UNREQUESTED = kind(request={"cpu": 1000})


def row_scores(world: World, *plugins: Plugin) -> RowScores:
    scorers = [scorer for each in plugins for scorer in world.open(each).node_scorers()]
    task_class = world.classes[SMALL]
    local = [scorer for scorer in scorers if type(scorer).__name__ in ("LeastRequested", "MostRequested", "Packing")]
    return RowScores(local, task_class, world.ledger)


def test_preferences_that_cancel_out_read_no_fraction(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([machine("a"), machine("b", cpu=7000)], [SMALL])
    merged = row_scores(world, build(NodeOrder), build(Binpack))
    monkeypatch.setattr(Rows, "fraction_with", None)
    total = np.zeros(2)
    merged.add_to(total, world.ledger.candidate_rows, world.ledger)
    assert total.tolist() == [100.0, 100.0]


def test_merged_weights_add_up() -> None:
    world = World([machine("a", cpu=4000, memory=8 * GIB)], [SMALL])
    merged = row_scores(world, build(NodeOrder), build(Binpack, binpack__weight=3))
    total = np.zeros(1)
    merged.add_to(total, world.ledger.candidate_rows, world.ledger)
    assert total.tolist() == [pytest.approx(100 + 2 * (100 / 4 + 100 / 8) / 2)]


def test_amounts_that_are_scored_higher_than_used_are_not_merged() -> None:
    world = World([machine("a")], [SMALL, UNREQUESTED], [(UNREQUESTED, "a")])
    (least,) = (s for s in build(NodeOrder).node_scorers() if type(s).__name__ == "LeastRequested")
    assert not world.ledger.is_scored_as_used
    assert least.as_fractions(world.classes[SMALL], world.ledger) is None


def test_view_merges_anew_when_scored_amounts_differ_from_used_ones() -> None:
    """A pipelined pod is scored on its node before it uses anything there."""
    nodes = [objects.node(f"node-{number}", {"cpu": "8", "memory": "8Gi", "pods": "110"}) for number in range(2)]
    session = session_of([*nodes, *objects.gang("waiting", 2, objects.template({"cpu": "1", "memory": "3Gi"}))])
    first, second = session.pending(next(iter(session.jobs.values())))
    view = session.search.view(second.task_class)
    even = view.refresh().scores.tolist()
    assert even[0] == even[1]
    session.ledger.place([first], [0], TaskStatus.PIPELINED)
    assert not session.ledger.is_scored_as_used
    assert view.refresh().scores[0] < even[0]
    anew = ClassView(second.task_class, session.program, session.ledger)
    assert view.refresh().scores.tobytes() == anew.refresh().scores.tobytes()
