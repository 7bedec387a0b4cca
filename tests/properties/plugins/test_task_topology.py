"""task-topology: buckets follow the specification, preferences keep no pod waiting, and accounting stays consistent."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.task_topology.buckets import buckets_of, size_of
from stromboli.core.plugins.task_topology.rules import AFFINITY, ANTI_AFFINITY, TASK_ORDER, Rules, rules_of
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, Case, configuration, flattened, objects
from tests.testing.manifests.builders import Manifest, gang_of, node, pod
from tests.testing.random_clusters.effort import examples

ROLES = ("ps", "worker", "chief")
CONF = configuration("gang", "predicates", "nodeorder", "task-topology")
WITHOUT = configuration("gang", "predicates", "nodeorder")

groups = st.lists(st.lists(st.sampled_from(ROLES), min_size=1, max_size=3, unique=True).map(",".join), max_size=3).map(
    ";".join
)
notes = st.fixed_dictionaries(
    {
        AFFINITY: groups,
        ANTI_AFFINITY: groups,
        TASK_ORDER: st.lists(st.sampled_from(ROLES), unique=True).map(",".join),
    }
)
members = st.lists(
    st.tuples(st.sampled_from(ROLES), st.integers(1, 3), st.sampled_from(["", "", "", "a", "b"])),
    min_size=1,
    max_size=9,
)


def _on(node: str) -> dict[str, Any]:
    return {"nodeName": node} if node else {}


def crew(given_members: list[tuple[str, int, str]], stated: dict[str, str]) -> list[Manifest]:
    pods = [pod(cpu, role=role, **_on(place)) for role, cpu, place in given_members]
    return gang_of(*pods, notes=stated, minimum=0, minimums=dict.fromkeys(ROLES, 0))


def by_the_book(tasks: list[Task], rules: Rules, ledger: Ledger) -> list[list[Task]]:
    """Assign one task after the other, evaluating every bucket again."""
    placed = sorted((t for t in tasks if not ledger.is_pending(t)), key=lambda t: (ledger.node_name(t), t.order))
    waiting = sorted((t for t in tasks if ledger.is_pending(t)), key=lambda t: (rules.rank(t.role), t.order))
    buckets: list[list[Task]] = []
    for task in placed:
        here = [bucket for bucket in buckets if ledger.node_name(bucket[0]) == ledger.node_name(task)]
        here[0].append(task) if here else buckets.append([task])
    for task in waiting:
        liking = [sum(rules.attraction(task.role, other.role) for other in bucket) for bucket in buckets]
        if max(liking, default=-1) < 0:
            buckets.append([task])
        else:
            liked = [bucket for bucket, points in zip(buckets, liking, strict=True) if points == max(liking)]
            min(liked, key=lambda bucket: sum(size_of(other.task_class) for other in bucket)).append(task)
    return buckets


@examples(80)
@given(given_members=members, stated=notes)
def test_buckets_follow_the_specification(given_members: list[tuple[str, int, str]], stated: dict[str, str]) -> None:
    program = Program(parse_configuration(CONF, BUILT_IN), BUILT_IN)
    world = PlannedCluster(objects(flattened([node("a", 40), node("b", 40), crew(given_members, stated)])), program)
    ledger = Ledger(world.snapshot())
    job, rules = ledger.jobs["default/gang"], rules_of(stated, ROLES)
    concerned = [task for task in job.tasks.values() if rules.are_about(task.role)]
    assert buckets_of(job, rules, ledger) == by_the_book(concerned, rules, ledger)


@examples(40)
@given(given_members=members, stated=notes, capacities=st.lists(st.integers(1, 6), min_size=2, max_size=5))
def test_preferences_keep_no_pod_waiting(
    given_members: list[tuple[str, int, str]], stated: dict[str, str], capacities: list[int]
) -> None:
    """Pods of one size fill the capacity, regardless of the preferences of their roles."""
    equal = [(role, 1, "") for role, _, _ in given_members]
    machines = [node(name, capacity) for name, capacity in zip("abcde", capacities, strict=False)]
    case = Case("", machines, crew(equal, stated), binds="", cycles=2)
    assert len(case.plan(CONF).binds) == len(case.plan(WITHOUT).binds) == min(len(equal), sum(capacities))


@examples(30)
@given(count=st.integers(1, 5), spare=st.integers(0, 2))
def test_role_with_self_anti_affinity_has_a_node_each(count: int, spare: int) -> None:
    machines = [node(name, 8) for name in "abcdefg"[: count + spare]]
    stated = {AFFINITY: "", ANTI_AFFINITY: "ps", TASK_ORDER: ""}
    plan = Case("", machines, crew([("ps", 1, "")] * count, stated), binds="").plan(
        configuration("gang", "predicates", "task-topology")
    )
    assert len(set(plan.binds.values())) == count
