"""Equal jobs that follow each other are placed in one go: the decisions are those of one search per turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.actions.allocate.plain_turns import PlainTurns
from stromboli.core.model.tasks.task import Task
from stromboli.core.search import placements_ahead
from stromboli.core.search.placements_ahead import PlacementsAhead
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.planner.report import report_of
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of, program_of, session_of
from tests.testing.random_clusters.weightings import WEIGHTINGS, weighted_program
from tests.testing.random_clusters.worlds import QUEUES, Traits, chance, draw_template, worlds

FEW_RULES = Traits(pod_rules=12, most_nodes=8)

CAPACITY = WEIGHTINGS["default"].replace("proportion", "capacity")
PROGRAMS = {name: weighted_program(name) for name in WEIGHTINGS} | {
    "capacity": program_of(CAPACITY),
    "preempt": program_of(CAPACITY.replace("allocate,", "allocate, preempt, reclaim,")),
    "hierarchy": program_of(WEIGHTINGS["default"].replace("- name: drf", "- name: drf\n    enableHierarchy: true")),
}


@st.composite
def equal_jobs(draw: st.DrawFn) -> list[KubeObject]:
    """Draw a random cluster with many jobs of a few shapes in several queues, more than fit: single pods, gangs, gangs
    with another pod among the equal ones, and jobs that start with a part of their pods.
    """
    world = draw(worlds(FEW_RULES))
    found: list[KubeObject] = list(world.objects)
    for shape in range(draw(st.integers(1, 3))):
        template = draw_template(draw, FEW_RULES)
        size, queue = draw(st.sampled_from([1, 1, 2, 5])), draw(st.sampled_from(QUEUES))
        minimum = draw(st.integers(1, size))
        other = draw_template(draw, FEW_RULES) if size > 1 and chance(draw, 2) else None
        for number in range(draw(st.integers(2, 12))):
            where = draw(st.sampled_from(QUEUES)) if chance(draw, 4) else queue
            priority = draw(st.sampled_from(["high", "low"])) if chance(draw, 8) else None
            name = f"shape-{shape}-{number:02}"
            found += objects.gang(name, size, template, minimum=minimum, queue=where, priority_class_name=priority)
            if other is not None:
                found.append(objects.pod(f"{name}-1-other", other, group=name))
    return found


def decisions(world: list[KubeObject], program: Program) -> dict[str, Any]:
    return report_of(plan_of(world, program, cycles=2))


@examples(150)
@given(equal_jobs(), st.sampled_from(sorted(PROGRAMS)))
def test_plans_do_not_depend_on_plain_turns_and_placements_ahead(world: list[KubeObject], name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placements_ahead, "_MAX_COPIES", 0)
        patch.setattr(PlainTurns, "place_next", lambda *_: False)
        one_by_one = decisions(world, PROGRAMS[name])
    assert decisions(world, PROGRAMS[name]) == one_by_one


@st.composite
def roomy(draw: st.DrawFn) -> list[KubeObject]:
    """Draw many nodes, so that few of them change between two searches, and a few jobs of many equal pods."""
    sizes = draw(st.lists(st.sampled_from(["4", "4", "8", "3500m"]), min_size=40, max_size=60))
    nodes = [
        objects.node(f"node-{number:02}", {"cpu": size, "memory": "8Gi", "pods": "110"})
        for number, size in enumerate(sizes)
    ]
    requests = [{"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, {"cpu": "333m", "memory": "700Mi"}]
    jobs = [objects.gang(f"crowd-{n}", 60, objects.template(request)) for n, request in enumerate(requests)]
    return [*nodes, *(entry for job in jobs for entry in job)]


#: (class, number of tasks) placed one at a time.
turns = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=12)


def rows_in_turn(session: Session, wanted: Sequence[tuple[int, int]], *, ahead: bool) -> list[list[int]]:
    """Place tasks one by one, as turns of jobs do, and return the rows."""
    search = session.search
    choose = search.take_nodes if ahead else search.find_nodes
    classes: dict[int, list[Task]] = {}
    for key in sorted(session.jobs):
        for task in session.pending(session.jobs[key]):
            classes.setdefault(task.task_class.number, []).append(task)
    lines, chosen = list(classes.values()), []
    for number, count in wanted if lines else ():
        line = lines[number % len(lines)]
        for task in [line.pop() for _ in range(min(count, len(line)))]:
            rows = choose(task, 1)
            if rows:
                statement = session.statement()
                statement.allocate([task], rows)
                statement.keep()
            chosen.append(rows)
    return chosen


@examples(150)
@given(st.one_of(roomy(), equal_jobs()), st.sampled_from(sorted(WEIGHTINGS)), turns)
def test_nodes_ahead_equal_nodes_of_one_search_per_task(
    world: list[KubeObject], name: str, wanted: list[tuple[int, int]]
) -> None:
    at_once, one_by_one = session_of(world, PROGRAMS[name]), session_of(world, PROGRAMS[name])
    assert rows_in_turn(at_once, wanted, ahead=True) == rows_in_turn(one_by_one, wanted, ahead=False)
    assert at_once.ledger.fingerprint() == one_by_one.ledger.fingerprint()


def test_repeated_class_is_placed_ahead_until_something_else_changes() -> None:
    ahead = PlacementsAhead()
    assert ahead.keep([7], wanted=1, position=0) == [7]
    assert ahead.copies_to_place(1) == 2
    assert ahead.keep([7, 8], wanted=1, position=1) == [7]
    assert ahead.position == 2
    assert ahead.take(1) == [8]
    assert ahead.copies_to_place(1) == 4
    assert ahead.keep([9, 5, 6, 7], wanted=1, position=3) == [9]
    assert ahead.take(2) == [5, 6]
    assert ahead.position == 6
    ahead.give_back([8, 9], position=7)
    assert ahead.take(2) == [8, 9]
    assert ahead.drop() == [7]
    assert ahead.keep([3], wanted=1, position=7) == [3]
    assert ahead.copies_to_place(1) == 2
