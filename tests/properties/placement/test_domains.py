"""The best domain is found without trying all of them; domain sums equal the sums over nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from stromboli.core.actions.allocate.domain_search import DomainSearch
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology.hypernodes import HyperNode, HyperNodeTree
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.statement import SavedStatement, Statement
from stromboli.core.topology.domain_capacity import DomainCapacity
from stromboli.core.topology.domain_search_records import DomainEvaluation, DomainSearchRecord
from stromboli.core.topology.domain_sums import DomainSums, IdleAmounts
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, Case, configuration, objects
from tests.testing.manifests.builders import Manifest, gang, node, running
from tests.testing.manifests.hypernodes import HARD_BLOCK, HARD_RACK, SOFT, block, racks
from tests.testing.random_clusters.effort import examples

AWARE = configuration("gang", "predicates", "binpack", "nodeorder", "network-topology-aware")


class TryingAll(DomainSearch):
    """Tries every domain of a group, and chooses the best that fits."""

    def _place_in_best(
        self, statement: Statement, tasks: Sequence[Task], account: DomainSearchRecord, look: DomainEvaluation
    ) -> bool:
        plans: dict[str, SavedStatement] = {}
        for domain in look.domains:
            self._place_inside(statement, tasks, domain, account.needed)
            if self._can_start(statement):
                plans[domain.name] = statement.save()
            statement.rollback(0)
        found = [domain for domain in look.domains if domain.name in plans]
        if not found:
            return False
        scores = self._session.domain_scores(self._job, found)
        best = min(found, key=lambda domain: (-scores[domain.name], -(look.holds(domain.place) or 0), domain.name))
        return statement.recover(plans[best.name])


@contextmanager
def trying_all() -> Iterator[None]:
    kept = DomainSearch._place_in_best
    DomainSearch._place_in_best = TryingAll._place_in_best  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        DomainSearch._place_in_best = kept  # type: ignore[method-assign]


@st.composite
def networks(draw: st.DrawFn) -> list[Manifest]:
    letters = "abcdefghij"[: draw(st.integers(2, 10))]
    world: list[Any] = [node(letter, draw(st.integers(1, 4))) for letter in letters]
    cuts = sorted(draw(st.sets(st.integers(1, len(letters) - 1), max_size=4)))
    groups = [letters[start:end] for start, end in zip([0, *cuts], [*cuts, len(letters)], strict=True)]
    world += racks(*groups)
    half = draw(st.integers(0, len(groups)))
    world += [block("left", 2, *(f"rack-{n}" for n in range(half)))] if half else []
    for number in range(draw(st.integers(0, 4))):
        world.append(running(draw(st.sampled_from(letters)), name=f"old-{number}", releasing=draw(st.booleans())))
    for number in range(draw(st.integers(1, 4))):
        size, constraint = draw(st.integers(1, 4)), draw(st.sampled_from((HARD_RACK, HARD_BLOCK, SOFT)))
        least = draw(st.integers(1, size))
        world.append(gang(size, draw(st.integers(1, 2)), name=f"job-{number}", minimum=least, topology=constraint))
    return world


@examples(150)
@given(networks())
def test_first_fitting_domain_is_the_best_fitting_domain(world: list[Manifest]) -> None:
    case = Case("", world, binds="", conf=AWARE)
    found = case.plan()
    with trying_all():
        tried = case.plan()
    assert (found.binds, found.pipelined) == (tried.binds, tried.pipelined)


@examples(100)
@given(networks())
def test_hard_constraints_are_satisfied(world: list[Manifest]) -> None:
    case = Case("", world, binds="", conf=AWARE)
    plan = case.plan()
    tree = plan.session.snapshot.hyper_nodes
    index = plan.session.nodes.index
    for job in plan.session.jobs.values():
        constraint = job.spec.topology
        rows = [index[plan.binds[task.key]] for task in job.tasks.values() if task.key in plan.binds]
        if constraint is not None and constraint.hard and constraint.highest_tier is not None and rows:
            assert tree.tiers[tree.around_nodes(rows)] <= constraint.highest_tier


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Manifest], list[list[int]], int]:
    """Draw racks of one block with free capacity of several sizes, the capacities, and a job of one class that no rack
    can hold.
    """
    holes = draw(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=2, max_size=6))
    assume(sum(map(sum, holes)) > max(map(sum, holes)))
    count = draw(st.integers(max(map(sum, holes)) + 1, sum(map(sum, holes))))
    letters = iter("abcdefghijklmnopqr")
    groups = ["".join(next(letters) for _ in rack) for rack in holes]
    used = draw(st.integers(0, 2))
    sizes = zip("".join(groups), (hole + used for rack in holes for hole in rack), strict=True)
    world: list[Any] = [node(name, size) for name, size in sizes]
    world += [*racks(*groups), block("block", 2, *(f"rack-{number}" for number in range(len(groups))))]
    world += [running("".join(groups), cpu=used)] if used else []
    constraint = draw(st.sampled_from((HARD_BLOCK, SOFT)))
    return [*world, *gang(count, name="job", topology=constraint)], holes, count


def test_number_of_racks_is_optimal(record_property: Callable[[str, object], None]) -> None:
    beyond: Counter[int] = Counter()

    @examples(120)
    @given(crowds())
    def check(crowd: tuple[list[Manifest], list[list[int]], int]) -> None:
        world, holes, count = crowd
        plan = Case("", world, binds="", conf=AWARE).plan()
        tree, index = plan.session.snapshot.hyper_nodes, plan.session.nodes.index
        used = {int(tree.lowest[index[place]]) for key, place in plan.binds.items() if key.startswith("default/job")}
        assert len(plan.binds) == count
        capacity = [sum(rack) for rack in holes]
        fewest = min(
            number
            for number in range(1, len(capacity) + 1)
            if any(sum(some) >= count for some in combinations(capacity, number))
        )
        beyond[len(used) - fewest] += 1
        assert len(used) <= fewest + 1

    check()
    record_property("worlds in which it was optimal", f"{beyond[0]} of {beyond.total()}")
    assert beyond[0] == beyond.total(), "with one class, the capacity of racks is exact"


@st.composite
def trees(draw: st.DrawFn) -> HyperNodeTree:
    """Draw domains in up to three tiers; nodes may be in several unrelated ones."""
    nodes = draw(st.integers(1, 8))
    rows = st.sets(st.integers(0, nodes - 1))
    leaves = [HyperNode(f"leaf-{n}", 1, "", f"mid-{n % 2}", tuple(draw(rows))) for n in range(draw(st.integers(0, 4)))]
    middle = [HyperNode(f"mid-{n}", 2, "", "", tuple(draw(rows))) for n in range(draw(st.integers(0, 2)))]
    return HyperNodeTree(nodes, [*leaves, *middle])


@examples(150)
@given(trees(), st.data())
def test_domain_sums_equal_sums_of_nodes(tree: HyperNodeTree, data: st.DataObject) -> None:
    amounts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=tree.nodes, max_size=tree.nodes)))
    assert tree.sums(amounts).tolist() == [int(amounts[tree.rows(place)].sum()) for place in range(tree.top + 1)]
    for place in range(tree.top):
        assert set(tree.rows(place)) <= set(tree.rows(tree.around[place][1]))
        assert tree.tiers[place] < tree.tiers[tree.around[place][1]]
    for row in range(tree.nodes):
        assert row in tree.rows(int(tree.lowest[row]))


@examples(60)
@given(networks(), st.integers(0, 1000))
def test_domain_sums_follow_operations(world: list[Manifest], seed: int) -> None:
    case = Case("", world, binds="", conf=AWARE)
    session = _opened(case)
    tree, ledger = session.snapshot.hyper_nodes, session.ledger
    sums, later = (DomainSums(tree, ledger, IdleAmounts(ledger, 0, later=later)) for later in (False, True))
    capacity, search = session.domain_capacity, session.search

    def check(task: Task) -> None:
        assert sums.now().tolist() == tree.sums(ledger.amounts[0]).tolist()
        assert later.now().tolist() == tree.sums(ledger.all_rows.future_idle(0)).tolist()
        counted_anew = DomainCapacity(search, ledger)
        assert capacity.idle(tree, task.task_class).tolist() == counted_anew.idle(tree, task.task_class).tolist()
        assert capacity.tasks_that_fit(tree, [task]).tolist() == counted_anew.tasks_that_fit(tree, [task]).tolist()

    random = np.random.default_rng(seed)
    for job in list(session.jobs.values()):
        for task in session.pending(job):
            check(task)
            rows = [row for row in range(len(session.nodes)) if search.accepts(task, row)]
            if rows:
                with session.statement() as statement:
                    statement.place(task, int(random.choice(rows)))
                    check(task)
                    if random.random() < 0.5:
                        statement.keep()
            check(task)


def _opened(case: Case) -> Session:
    program = Program(parse_configuration(case.conf, BUILT_IN), BUILT_IN)
    return Session(PlannedCluster(objects(case.manifests), program).snapshot(), program)
