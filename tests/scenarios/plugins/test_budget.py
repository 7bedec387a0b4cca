"""The plugin budget in virtual time: when jobs wait for a budget, go last, and lose their nodes to others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stromboli import kube
from stromboli.core.model.usage.budgets import BUDGETS, Budget, budgets_of, limit_of, period_starts
from stromboli.core.model.values.times import date_of
from stromboli.kube.objects.kinds import as_type
from stromboli.traces.trace import TraceJob
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import queue
from tests.testing.traces.runs import job, simulated, spans

HOUR, DAY = 3600.0, 86_400.0
CONF = configuration(["budget"], ["priority", "gang", "predicates"], actions="allocate, preempt, reclaim")


def queue_with(name: str, *budgets: dict[str, Any], parent: str | None = None) -> kube.KubeQueue:
    text = json.dumps([{"resource": "cpu", **each} for each in budgets])
    return as_type(queue(name, parent=parent, annotations={BUDGETS: text}), kube.KubeQueue)


def starts(trace: list[TraceJob], *queues: kube.KubeQueue, nodes: int = 2, until: float = 3 * DAY) -> dict[str, float]:
    """Return the hours at which jobs start; the trace begins at midnight."""
    run = simulated(trace, CONF, nodes, objects=queues, queues="queue", until=until, idle=60.0)
    return {name: round(start / HOUR, 2) for name, (start, _) in spans(run).items()}


def one(name: str, hour: float, hours: float, queue: str = "research", **facts: Any) -> TraceJob:
    return job(name, hour * HOUR, hours * HOUR, queue=queue, **facts)


def test_jobs_wait_for_the_next_period_when_the_budget_is_used_up() -> None:
    trace = [one("a", 0, 2), one("b", 1, 1), one("c", 2, 1), one("d", 3, 1), one("other", 3, 1, "production")]
    found = starts(trace, queue_with("research", {"hours": 3, "period": "day"}), nodes=4)
    assert found == {"a": 0, "b": 1, "c": 24, "d": 24, "other": 3}


def test_budget_of_a_parent_covers_its_children_and_that_of_the_root_all_queues() -> None:
    trace = [one("a", 0, 2, "vision"), one("b", 2, 1, "speech"), one("c", 2, 1, "else")]
    children = [queue_with(name, parent="research") for name in ("vision", "speech")]
    assert starts(trace, queue_with("research", {"hours": 2, "period": "day"}), *children)["b"] == 24
    found = starts(trace, queue_with("root", {"hours": 2, "period": "day"}), *children, queue_with("research"))
    assert found == {"a": 0, "b": 24, "c": 24}


@pytest.mark.parametrize(("user", "expected"), [
    ("*", {"a": 0, "b": 1, "c": 24}), ("ben", {"a": 0, "b": 1, "c": 1}), ("", {"a": 0, "b": 24, "c": 24}),
])  # fmt: skip
def test_budget_of_users(user: str, expected: dict[str, float]) -> None:
    trace = [one("a", 0, 1, user="ana"), one("b", 1, 0.5, user="ben"), one("c", 1, 1, user="ana")]
    assert starts(trace, queue_with("research", {"hours": 1, "period": "day", "user": user}), nodes=4) == expected


def test_jobs_without_a_user_count_as_those_of_one() -> None:
    trace = [one("a", 0, 2, user="ana"), one("b", 1, 1), one("c", 2, 0.5), one("d", 3, 0.5, user="ben")]
    found = starts(trace, queue_with("research", {"hours": 1, "period": "day", "user": "*"}), nodes=4)
    assert found == {"a": 0, "b": 1, "c": 24, "d": 3}


def test_grace_and_carry_over_extend_a_budget() -> None:
    trace = [one("a", 0, 1), one("b", 1, 1), one("c", 2, 1)]
    assert starts(trace, queue_with("research", {"hours": 1, "period": "day", "grace": 1}))["c"] == 24
    used_half = [one("a", 0, 0.5), one("b", 24, 1.5), one("c", 26, 1), one("d", 26.2, 0.1)]
    found = starts(used_half, queue_with("research", {"hours": 1, "period": "day", "carryOver": 0.5}))
    assert (found["b"], found["c"]) == (24, 48)


def test_jobs_that_do_not_request_the_resource_are_not_concerned() -> None:
    trace = [one("a", 0, 1), one("b", 1, 1)]
    assert starts(trace, queue_with("research", {"resource": "nvidia.com/gpu", "hours": 0}))["b"] == 1


def test_preemptible_jobs_run_last_and_lose_their_nodes_to_those_within_their_budget() -> None:
    """From hour 1 on ana is beyond her budget; `c` waits for her node, and `d` of ana waits behind it."""
    budget = {"hours": 1, "period": "day", "user": "*", "over": "preemptible"}
    trace = [
        one("a", 0, 4, user="ana"), one("d", 1.5, 1, user="ana"), one("b", 2, 1, user="ben"),
        one("c", 2, 0.5, user="cid"),
    ]  # fmt: skip
    run = simulated(trace, CONF, 1, objects=[queue_with("research", budget)], queues="queue", idle=60.0)
    rows = {row.name: row for row in run.jobs.rows()}
    assert rows["a"].preemptions == 1
    eviction = 1.0
    assert (rows["b"].started, rows["c"].started) == (2 * HOUR + eviction, 3 * HOUR + eviction)
    assert min(rows["d"].started, rows["a"].ended) >= 3.5 * HOUR


def test_invalid_budgets_have_no_effect_and_a_warning() -> None:
    broken = as_type(queue("research", annotations={BUDGETS: '[{"resource": "cpu", "hours": -1}]'}), kube.KubeQueue)
    run = simulated([one("a", 0, 1)], CONF, objects=[broken], queues="queue")
    [warning] = [each for each in run.warnings if "research" in each]
    assert "Expected `float` >= 0" in warning
    assert "it has no effect" in warning


@pytest.mark.parametrize(("text", "message"), [
    ("{}", "Expected `array`"), ("[{}]", "missing required field `resource`"),
    ('[{"resource": "cpu", "hours": 1, "limit": 2}]', "unknown field `limit`"),
    ('[{"resource": "cpu", "hours": 1}, {"resource": "cpu", "hours": 2}]', "two budgets for cpu; keep one"),
])  # fmt: skip
def test_invalid_annotations(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        budgets_of(text)


@pytest.mark.parametrize(("period", "now", "start", "before"), [
    ("day", "2026-03-01T00:00:00", "2026-03-01", "2026-02-28"),
    ("week", "2026-03-01T23:59:59", "2026-02-23", "2026-02-16"),
    ("month", "2026-03-31T12:00:00", "2026-03-01", "2026-02-01"),
    ("month", "2026-01-01T00:00:00", "2026-01-01", "2025-12-01"),
])  # fmt: skip
def test_periods_are_those_of_the_calendar(period: str, now: str, start: str, before: str) -> None:
    moment = kube_time(now)
    assert [date_of(each).date().isoformat() for each in period_starts(period, moment)] == [start, before]


def kube_time(text: str) -> float:
    from datetime import UTC, datetime

    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("before", "limit"), [(0, 15), (3, 15), (8, 12), (10, 10), (12, 10)])
def test_unused_hours_are_carried_over_up_to_a_limit(before: float, limit: float) -> None:
    assert limit_of(Budget("cpu", 10, carry_over=5), before) == limit
