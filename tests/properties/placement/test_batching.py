"""Batch placement equals placement one by one: the same nodes in the same order, the same ledger to the last byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.search import batch_placement, lookahead, ranking
from stromboli.core.search.node_search import NodeSearch
from stromboli.core.search.ranking import BlockedRanking, Ranking
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.planner.report import report_of
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import default_program, plan_of, program_of, session_of, with_plugin
from tests.testing.random_clusters.weightings import WEIGHTINGS, weighted_program
from tests.testing.random_clusters.worlds import SmallWorld, Traits, draw_template, social_worlds, worlds

ALONE = Traits(pod_rules=0, sub_groups=False)
weightings = st.sampled_from(sorted(WEIGHTINGS))


@st.composite
def crowded(draw: st.DrawFn) -> list[KubeObject]:
    """Draw a cluster with a few jobs of many equal pods, so that batches occur."""
    world = draw(worlds(ALONE))
    crowds = [
        objects.gang(f"crowd-{number}", draw(st.integers(2, 40)), draw_template(draw, ALONE))
        for number in range(draw(st.integers(1, 3)))
    ]
    return [*world.objects, *(entry for crowd in crowds for entry in crowd)]


#: (class, number of tasks) to be placed one after the other; far more than fit is fine.
steps = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=1, max_size=6)


def pending_classes(session: Session) -> list[list[Task]]:
    """Return tasks that may be placed in one operation, in a fixed order."""
    found: dict[tuple[str, int], list[Task]] = {}
    for key in sorted(session.jobs):
        for task in session.pending(session.jobs[key]):
            found.setdefault((key, task.task_class.number), []).append(task)
    return list(found.values())


def place(
    session: Session, tasks: Sequence[Task], most: int, within: Mask | None = None, *, undone: bool = False
) -> Iterator[list[int]]:
    """Place tasks of one class, at most so many at a time, and return the rows of each operation."""
    statement, placed = session.statement(), 0
    while placed < len(tasks):
        rows = session.search.find_nodes(tasks[placed], min(most, len(tasks) - placed), within)
        if not rows:
            break
        statement.allocate(tasks[placed : placed + len(rows)], rows)
        session.search.settle(tasks[placed].task_class, rows)
        placed += len(rows)
        yield rows
    if undone:
        statement.discard()
    else:
        statement.keep()


def chosen_rows(session: Session, wanted: Sequence[tuple[int, int]], most: int) -> list[list[int]]:
    classes = pending_classes(session)
    chosen = []
    for place_of_class, number in wanted if classes else ():
        tasks = [task for task in classes[place_of_class % len(classes)] if session.ledger.is_pending(task)]
        chosen.append([row for rows in place(session, tasks[:number], most) for row in rows])
    return chosen


def compare_batches(world: Sequence[KubeObject], program: Program, wanted: Sequence[tuple[int, int]]) -> None:
    at_once, jobs_in_turn = session_of(world, program), session_of(world, program)
    assert chosen_rows(at_once, wanted, most=1000) == chosen_rows(jobs_in_turn, wanted, most=1)
    assert at_once.ledger.fingerprint() == jobs_in_turn.ledger.fingerprint()


@examples(150)
@given(crowded(), weightings, steps)
def test_batch_placement_equals_one_by_one(
    world: list[KubeObject], weighting: str, wanted: list[tuple[int, int]]
) -> None:
    compare_batches(world, weighted_program(weighting), wanted)


def airy(sizes: Sequence[str]) -> list[KubeObject]:
    """Return a few nodes with much capacity, and two jobs of many equal pods."""
    nodes = [objects.node(f"node-{number}", {"cpu": size, "pods": "110"}) for number, size in enumerate(sizes)]
    crowds = [objects.gang(f"crowd-{cpu}", 40, objects.template({"cpu": cpu})) for cpu in ("1", "2")]
    return [*nodes, *(entry for crowd in crowds for entry in crowd)]


#: (class, number of tasks, which half of the nodes or all or none, whether it is undone).
rounds = st.tuples(
    st.integers(0, 1), st.lists(st.integers(2, 6), min_size=1, max_size=6), st.integers(0, 3), st.booleans()
)
Round = tuple[int, list[int], int, bool]


def rows_inside(session: Session, wanted: Sequence[Round], most: int) -> list[list[int]]:
    classes, nodes = pending_classes(session), np.arange(len(session.nodes))
    chosen = []
    for number_of_class, numbers, part, undone in wanted:
        within = (nodes % 2 == part) | (part == 2)
        for number in numbers:
            tasks = [task for task in classes[number_of_class] if session.ledger.is_pending(task)]
            rows = place(session, tasks[:number], most, within, undone=undone)
            chosen.append([row for each in rows for row in each])
    return chosen


@examples(100)
@given(
    st.lists(st.sampled_from(["16", "16", "40"]), min_size=4, max_size=8),
    st.sampled_from(("spread", "default", "pack")),
    st.lists(rounds, min_size=1, max_size=5),
)
def test_batch_placement_inside_domains_equals_one_by_one(
    sizes: list[str], weighting: str, wanted: list[Round]
) -> None:
    world, program = airy(sizes), weighted_program(weighting)
    at_once, jobs_in_turn = session_of(world, program), session_of(world, program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_placement, "_FEW", 3)
        patch.setattr(lookahead, "_DEPTH", 3)
        patch.setattr(lookahead, "_WIDTH", 2)
        patch.setattr(ranking, "_FEW", 1)
        assert rows_inside(at_once, wanted, most=1000) == rows_inside(jobs_in_turn, wanted, most=1)
    assert at_once.ledger.fingerprint() == jobs_in_turn.ledger.fingerprint()


@examples(60)
@given(crowded(), weightings, steps)
def test_too_shallow_first_evaluation_is_repeated(
    world: list[KubeObject], weighting: str, wanted: list[tuple[int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_placement, "_SHALLOW", 0)
        patch.setattr(ranking, "_FEW", 2)
        compare_batches(world, weighted_program(weighting), wanted)


@examples(60)
@given(crowded(), weightings, steps)
def test_updated_scores_equal_recomputed_scores(
    world: list[KubeObject], weighting: str, wanted: list[tuple[int, int]]
) -> None:
    session = session_of(world, weighted_program(weighting))
    classes = pending_classes(session)
    views = [session.search.view(tasks[0].task_class) for tasks in classes]
    for view in views:
        view.refresh()
    for step, (number, count) in enumerate(wanted if classes else ()):
        tasks = [task for task in classes[number % len(classes)] if session.ledger.is_pending(task)]
        mark = session.statement()
        list(islice(place(session, tasks[:count], most=count), 1 + step % 2))
        for view in views[step % 2 :]:
            kept, anew = view.refresh().scores, view.evaluate(session.ledger.all_rows)
            assert kept.tobytes() == anew.tobytes()
        mark.discard()


class TaskByTask(Plugin):
    """Answers job_ready only, so that it is called after every task and no gang is placed in one batch."""

    name = "task-by-task"

    def job_ready(self, job: Job) -> bool:
        return True


TASK_BY_TASK = program_of(with_plugin("task-by-task"), [TaskByTask])


def decisions(world: SmallWorld, program: Program) -> dict[str, Any]:
    """Return a plan without messages: they may differ, as a queue reports how many pods were requested."""
    plan = plan_of(world.objects, program, cycles=2)
    report = report_of(plan)
    groups = {key: (group.phase, group.ready, group.waiting, group.nodes) for key, group in plan.groups.items()}
    return {
        **{part: report[part] for part in ("cycles", "binds", "pipelined", "evictions", "queues")},
        "groups": groups,
    }


@examples(150)
@given(worlds())
def test_plans_do_not_depend_on_batching(world: SmallWorld) -> None:
    assert decisions(world, default_program()) == decisions(world, TASK_BY_TASK)


def compare_with_forgetful(world: SmallWorld) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeSearch, "known_capacity", lambda search, view: None)
        forgetful = decisions(world, default_program())
    assert decisions(world, default_program()) == forgetful


@examples(60)
@given(worlds())
def test_plans_do_not_depend_on_the_failure_cache(world: SmallWorld) -> None:
    compare_with_forgetful(world)


@examples(80)
@given(social_worlds())
def test_cached_refusal_is_dropped_when_other_pods_change(world: SmallWorld) -> None:
    compare_with_forgetful(world)


@examples(40)
@given(worlds())
def test_plans_do_not_depend_on_blocks(world: SmallWorld) -> None:
    flat = report_of(plan_of(world.objects))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_MANY", 1)
        patch.setattr(BlockedRanking, "BLOCK", 4)
        assert report_of(plan_of(world.objects)) == flat


# -- rankings ---------------------------------------------------------------------------------------------------------

REFUSED = float("-inf")
scores = st.sampled_from([REFUSED, 0.0, 1.0, 1.0, 2.0, 3.0])


@st.composite
def rewrites(draw: st.DrawFn) -> tuple[list[float], list[dict[int, float]]]:
    """Draw scores, and repeated changes to some of them."""
    first = draw(st.lists(scores, min_size=1, max_size=20))
    rows = st.integers(0, len(first) - 1)
    return first, draw(st.lists(st.dictionaries(rows, scores, max_size=5), max_size=6))


def best_by_sorting(values: Sequence[float], wanted: int) -> list[int]:
    ordered = sorted((-value, row) for row, value in enumerate(values) if value > REFUSED)
    return sorted(row for _, row in ordered[:wanted])


@pytest.mark.parametrize("few", [0, 24], ids=["by partition", "by maximum"])
@pytest.mark.parametrize("kind", [Ranking, BlockedRanking])
@examples(80)
@given(given_scores=rewrites(), wanted=st.integers(1, 8))
def test_rankings_find_the_best(
    kind: type[Ranking], few: int, given_scores: tuple[list[float], list[dict[int, float]]], wanted: int
) -> None:
    values, changes = given_scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_FEW", few)
        patch.setattr(BlockedRanking, "BLOCK", 3)
        ranked = kind(np.array(values))
        for change in [{}, *changes]:
            ranked.replace(np.array(list(change), dtype=np.int64), np.array(list(change.values()), dtype=np.float64))
            values = [change.get(row, value) for row, value in enumerate(values)]
            assert ranked.first() == next(iter(best_by_sorting(values, 1)), -1)
            assert ranked.best(wanted).tolist() == best_by_sorting(values, wanted)
            assert ranked.scores.tolist() == values
