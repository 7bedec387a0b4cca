"""Time budgets of a cycle and its jobs, by a stopwatch that a plugin advances."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.time_budget import TimeBudget
from tests.testing.cases.case import configuration, extended, flattened, objects
from tests.testing.manifests.builders import gang_of, node, pod, priority_class, queue, running

BUDGETS = {"job": 5.0, "cycle": 30.0}


class Hourglass(Plugin):
    """Every question about a class of pods takes as many seconds as the job under work states."""

    name = "hourglass"
    now = 0.0

    def open(self, session: Session) -> None:
        self._session = session

    def pre_predicate(self, task_class: TaskClass) -> None:
        job = self._session.time_budget.current
        Hourglass.now += float(job.spec.annotations.get("seconds", "0")) if job is not None else 0.0


def slow(name: str, seconds: float, *sizes: object, **facts: Any) -> list[Any]:
    """A gang that takes so long for each of its pods, which all differ."""
    return gang_of(*(pod(size) for size in sizes), name=name, notes={"seconds": str(seconds)}, **facts)


def cycle(*manifests: Any, actions: str = "enqueue, allocate, backfill, preempt", **set_aside: str) -> Session:
    registry = extended(Hourglass)
    policy = configuration("priority", "gang", "predicates", "hourglass", actions=actions)
    cluster = Cluster(("stromboli", "volcano"))
    for entry in objects(flattened((queue("default"), *manifests))):
        cluster.apply(entry)
    cluster.assumptions.set_aside = {f"default/{name}": text for name, text in set_aside.items()}
    Hourglass.now = 0.0
    budget = TimeBudget(lambda: Hourglass.now, **BUDGETS)
    session = Session(cluster.snapshot(), Program(parse_configuration(policy, registry), registry), time_budget=budget)
    session.run()
    return session


def placed(session: Session) -> dict[str, str]:
    return {each.name: each.node for statement in session.decisions.binds for each in statement}


def codes(session: Session) -> dict[str, str]:
    refused = {key.partition("/")[2]: refusal.causes() for key, refusal in session.refusals.items()}
    return {name: causes[0].code.value for name, causes in refused.items()}


CASES = [
    ("a job within its budget", [slow("big", 1.0, 1, 2)], {"big-task-0", "big-task-1"}, {}),
    (
        "a job beyond its budget is left out as a whole, and the next one starts",
        [slow("big", 3.0, 1, 2, 3, priority="high"), slow("small", 0.1, 1)],
        {"small-task-0"},
        {"big": "SchedulingTooExpensive"},
    ),
    (
        "two jobs beyond their budgets",
        [slow("big", 6.0, 1, 2), slow("huge", 9.0, 1, 2), slow("small", 0.1, 1)],
        {"small-task-0"},
        {"big": "SchedulingTooExpensive", "huge": "SchedulingTooExpensive"},
    ),
    (
        "a job whose only pod takes too long",
        [slow("big", 8.0, 1), slow("small", 0.1, 1)],
        {"small-task-0"},
        {"big": "SchedulingTooExpensive"},
    ),
]


@pytest.mark.parametrize(("manifests", "names", "refused"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_jobs_beyond_their_budget_wait_and_others_start(
    manifests: list[Any], names: set[str], refused: dict[str, str]
) -> None:
    session = cycle(node("a", 8), priority_class("high", 10), *manifests)

    assert set(placed(session)) == names
    assert codes(session) == refused
    assert set(session.too_expensive) == {f"default/{name}" for name in refused}


def test_message_has_time_and_budget() -> None:
    session = cycle(node("a", 8), slow("big", 4.0, 1, 2, 3))

    assert session.too_expensive["default/big"] == "scheduling it took 8.00 s, its budget is 5 s per cycle"
    condition = session.statuses["default/big"].conditions[0]
    assert (condition.type, condition.reason) == ("Unschedulable", "SchedulingTooExpensive")


def test_cycle_without_time_left_sets_the_most_expensive_aside_and_postpones_the_rest() -> None:
    jobs = [slow(f"job-{place:02d}", 2.1, f"{7000 + place}m") for place in range(10)]
    world = [node("a", 8), running("aa"), *jobs, slow("zero", 0.1, 1)]
    session = cycle(*world)

    assert session.time_budget.is_spent
    assert codes(session)["zero"] == "CycleBudgetSpent"
    assert 3 <= len(session.too_expensive) < 9
    again = cycle(*world, **{key[8:]: "" for key in session.too_expensive})
    assert set(placed(again)) == {"zero-task-0"}


def test_preemption_beyond_the_budget_evicts_nothing() -> None:
    victims = [running("a" * 4, name="old"), running("b" * 4, name="older")]
    urgent = slow("big", 2.0, 3, 4, priority="high")
    session = cycle(node("a", 4), node("b", 4), priority_class("high", 10), *victims, urgent)

    assert not session.decisions.evictions
    assert codes(session)["big"] == "SchedulingTooExpensive"


def test_job_that_is_set_aside_gets_no_turn() -> None:
    session = cycle(node("a", 8), slow("big", 99.0, 1), slow("small", 0.1, 1), big="set aside")

    assert set(placed(session)) == {"small-task-0"}
    assert codes(session) == {"big": "SchedulingTooExpensive"}
    assert "default/big" not in session.time_budget.spent
