"""Shards: hard mode never uses other nodes, soft mode only when its own are full; batches equal one by one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.shards import NodeShard, NodeShardSpec
from stromboli.planner.plan import make_plan
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.properties.placement.test_batching import chosen_rows, crowded, steps, weightings
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, program_of
from tests.testing.random_clusters.weightings import weighted_program
from tests.testing.random_clusters.worlds import SmallWorld, worlds

OURS = "ours"
TAKING = """
actions: "enqueue, allocate, preempt, reclaim, consolidate, shuffle, stalegang, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: proportion}, {name: predicates}, {name: nodeorder}]
"""
shares = st.integers(0, (1 << 8) - 1)


def with_shard(objects: Sequence[kube.KubeObject], share: int) -> tuple[list[kube.KubeObject], set[str]]:
    """Return the cluster with a shard of every node whose bit is set, and the names of these."""
    names = sorted(each.metadata.name for each in objects if isinstance(each, kube.KubeNode))
    inside = [name for place, name in enumerate(names) if share >> place % 8 & 1]
    shard = NodeShard(metadata=kube.ObjectMeta(OURS), spec=NodeShardSpec(inside))
    return [*objects, shard], set(inside)


def session_in(objects: Sequence[kube.KubeObject], program: Program, mode: ShardMode) -> Session:
    world = PlannedCluster(objects, program, scheduler_names=SCHEDULER_NAMES, shard=ShardChoice(mode, OURS))
    return Session(world.snapshot(), program)


@examples(25)
@given(crowded(), weightings, steps, shares, st.sampled_from(ShardMode))
def test_batch_placement_equals_one_by_one(
    world: list[kube.KubeObject], weighting: str, wanted: list[tuple[int, int]], share: int, mode: ShardMode
) -> None:
    objects, _ = with_shard(world, share)
    program = weighted_program(weighting)
    at_once, jobs_in_turn = session_in(objects, program, mode), session_in(objects, program, mode)
    assert chosen_rows(at_once, wanted, most=1000) == chosen_rows(jobs_in_turn, wanted, most=1)
    assert at_once.ledger.fingerprint() == jobs_in_turn.ledger.fingerprint()


@examples(25)
@given(crowded(), weightings, shares)
def test_other_shards_are_used_only_when_the_own_shard_is_full(
    world: list[kube.KubeObject], weighting: str, share: int
) -> None:
    objects, inside = with_shard(world, share)
    session = session_in(objects, weighted_program(weighting), ShardMode.SOFT)
    ours = session.nodes.where(lambda node: node.name in inside)
    for job in list(session.waiting):
        for task in session.pending(job):
            rows = session.search.find_nodes(task, 1)
            view = session.search.view(task.task_class)
            free = view.evaluate(session.ledger.all_rows) > float("-inf")
            assert not rows or ours[rows[0]] or not (free & ours).any()
            session.pipeline(task, rows[0]) if rows else None


@examples(25)
@given(worlds(), shares)
def test_no_decision_about_nodes_of_other_shards(world: SmallWorld, share: int) -> None:
    objects, inside = with_shard(world.objects, share)
    program, choice = program_of(TAKING), ShardChoice(ShardMode.HARD, OURS)
    plan = make_plan(objects, program, cycles=2, scheduler_names=SCHEDULER_NAMES, shard=choice)
    stood = {f"{pod.metadata.namespace}/{pod.metadata.name}": pod.spec.node_name
             for pod in objects if isinstance(pod, kube.Pod)}  # fmt: skip
    for cycle in plan.cycles:
        assert {*cycle.binds.values(), *cycle.pipelined.values()} <= inside
        for pod in cycle.records:
            where = stood.get(pod) or next(each.binds[pod] for each in plan.cycles if pod in each.binds)
            assert where in inside


@examples(15)
@given(worlds(), st.sampled_from(ShardMode))
def test_shard_of_all_nodes_equals_no_shard(world: SmallWorld, mode: ShardMode) -> None:
    objects, _ = with_shard(world.objects, (1 << 8) - 1)
    program = program_of(TAKING)
    alone = make_plan(world.objects, program, cycles=2, scheduler_names=SCHEDULER_NAMES)
    choice = ShardChoice(mode, OURS)
    sharded = make_plan(objects, program, cycles=2, scheduler_names=SCHEDULER_NAMES, shard=choice)
    assert [(each.binds, each.pipelined, list(each.records)) for each in sharded.cycles] == [
        (each.binds, each.pipelined, list(each.records)) for each in alone.cycles
    ]
