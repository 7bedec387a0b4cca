"""Rearranged placements in small random worlds, compared with an exact search for an arrangement."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.session.session import Session
from tests.testing.optimum.arrangement import needlessly_waiting
from tests.testing.optimum.decisions import ALLOCATING, REARRANGING, allocate, placed_gangs
from tests.testing.optimum.small_worlds import SmallCluster, empty_cluster
from tests.testing.random_clusters.effort import EFFORT, examples

WORLDS = max(40, int(100 * EFFORT))


def test_gangs_rarely_wait_although_an_arrangement_exists() -> None:
    clusters = [empty_cluster(seed) for seed in range(WORLDS)]
    waiting = [needlessly_waiting(cluster, placed_gangs(allocate(cluster, REARRANGING))) for cluster in clusters]
    assert sum(map(bool, waiting)) < 0.05 * WORLDS


@examples(60)
@given(st.integers(0, 1 << 32))
def test_rearranged_gangs_are_whole_and_nodes_are_not_overcommitted(seed: int) -> None:
    """Every gang that is placed without rearrangement is placed with it, too, and nothing is evicted."""
    cluster = empty_cluster(seed)
    session = allocate(cluster, REARRANGING)
    used = _used(session, cluster)
    for number, size in enumerate(cluster.nodes):
        assert all(used[f"n{number}", dimension] <= amount for dimension, amount in enumerate(size))
    placed = placed_gangs(session)
    assert all(session.jobs[f"default/{name}"].ready_count == len(_gang(cluster, name)) for name in placed)
    assert placed >= placed_gangs(allocate(cluster, ALLOCATING))
    assert not session.decisions.evictions


def _gang(cluster: SmallCluster, name: str) -> tuple[tuple[int, int], ...]:
    return next(gang.requests for gang in cluster.waiting if gang.name == name)


def _used(session: Session, cluster: SmallCluster) -> Counter[tuple[str, int]]:
    """The amounts on each node by the decisions, which the ledger must agree with."""
    used: Counter[tuple[str, int]] = Counter()
    for each in [each for placements in session.decisions.binds for each in placements]:
        assert session.ledger.node_name(session.jobs[each.job].tasks[each.uid]) == each.node
        request = _gang(cluster, each.job.rpartition("/")[2])[int(each.name.rpartition("-")[2])]
        for dimension, amount in enumerate(request):
            used[each.node, dimension] += amount
    return used
