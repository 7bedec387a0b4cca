"""Past usage in metrics: those of queues and budgets, none of users, and none without the plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.usage.budgets import BUDGETS
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.observability.metrics.scheduler import CycleSeconds, SchedulerMetrics
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects, plugin
from tests.testing.exposition import exposed_values
from tests.testing.manifests.builders import node, queue

SPENT = CycleSeconds(snapshot=0.001, opening=0.002, commit=0.003, total=0.05)
NOON = 1_772_452_800.0
FAIRSHARE = plugin("fairshare", arguments={"halfLife": "0s", "window": "1h", "perUser": True})
BUDGETED: list[dict[str, Any]] = [
    {"resource": "cpu", "hours": 4},
    {"resource": "cpu", "hours": 2, "user": "ana", "grace": 1},
    {"resource": "cpu", "hours": 1, "namespace": "default"},
    {"resource": "cpu", "hours": 1, "user": "*"},
]


def observed(*plugins: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return what a cycle exposes: in the last hour, ana has used 2 of 10 processors in queue left."""
    program = Program(parse_configuration(configuration(*plugins, "proportion", "predicates"), BUILT_IN), BUILT_IN)
    notes = {BUDGETS: json.dumps(BUDGETED)}
    world = PlannedCluster(
        objects([node("a", 10), queue("left", 3, annotations=notes), queue("right")]), program, now=NOON
    )
    ledger = UsageLedger()
    ledger.started(ledger.account(Account("left", "default", "ana", (("cpu", 2000),))), NOON - 3600)
    world.include_past(ledger)
    session = Session(world.snapshot(), program)
    session.run()
    metrics = SchedulerMetrics()
    metrics.observe_cycle(session, SPENT)
    found = exposed_values(metrics)
    return {key: value for key, value in found.items() if key[0].startswith(("stromboli_queue_", "stromboli_budget_"))}


def test_usage_of_queues_and_what_follows_from_it() -> None:
    found = {(name, dict(labels)["queue"]): value for (name, labels), value in observed(FAIRSHARE).items()}
    assert found["stromboli_queue_decayed_usage", "left"] == pytest.approx(0.2)
    assert found["stromboli_queue_decayed_usage", "right"] == 0
    assert found["stromboli_queue_fairshare_factor", "left"] > found["stromboli_queue_fairshare_factor", "right"] == 0
    share = {
        dict(labels)["queue"]: value
        for (name, labels), value in observed(FAIRSHARE).items()
        if name == "stromboli_queue_effective_share" and ("resource", "cpu") in labels
    }
    counts = {"default": 0.2 + 0.2, "left": 0.6 + (0.6 - 0.2), "right": 0.2 + 0.2}
    assert share == pytest.approx({name: count / sum(counts.values()) for name, count in counts.items()})


def test_budgets_have_series_unless_each_user_has_them_for_itself() -> None:
    found = observed("budget")
    by_name: dict[str, list[tuple[str, str, float]]] = {}
    for (name, labels), value in found.items():
        of = dict(labels)
        by_name.setdefault(name, []).append((of["user"], of["namespace"], value))
    assert {name: sorted(those) for name, those in by_name.items()} == {
        "stromboli_budget_used_hours": [("", "", 2), ("", "default", 2), ("ana", "", 2)],
        "stromboli_budget_limit_hours": [("", "", 4), ("", "default", 1), ("ana", "", 2)],
        "stromboli_budget_state": [("", "", 0), ("", "default", 2), ("ana", "", 1)],
    }


def test_without_the_plugins_there_are_no_series() -> None:
    assert observed() == {}
