"""Racks that stay busy, and racks that are full: the shapes of the benchmark, small.

They check themselves: who requires a rack is in one, all of a workload starts together, everybody finishes, and nobody
is evicted in vain.
"""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks import clusters, topology
from benchmarks.rack_capacity import check, full
from benchmarks.turnover import busy
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session


@pytest.mark.parametrize("racks", [2, 5])
def test_workloads_come_and_go(racks: int) -> None:
    passing = busy({"nodes": 20, "racks": racks, "workloads": 40}, topology.network, topology.program())
    passing.run()
    assert passing.finished == 40
    assert not passing.cluster.pods.all(), "all pods are gone"


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_an_urgent_gang_gets_room_in_one_rack(action: str) -> None:
    cluster, with_constraint = Cluster(), partial(topology.with_constraint, topology.HARD_RACK)
    clusters.fill(cluster, full({"nodes": 40, "racks": 4, "victims": 40, "gang": 7}, topology.network, with_constraint))
    session = Session(cluster.snapshot(), topology.program(f"allocate, {action}"))
    session.run()
    check(session, gang=7)
