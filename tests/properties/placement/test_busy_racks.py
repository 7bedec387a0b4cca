"""Racks that stay busy, and racks that are full: small versions of the benchmark workloads.

They check themselves: jobs that require a rack are in one, all of a workload starts together, every job finishes, and
no eviction is useless.
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
def test_busy_racks_serve_all_workloads(racks: int) -> None:
    passing = busy({"nodes": 20, "racks": racks, "workloads": 40}, topology.network, topology.program())
    passing.run()
    assert passing.finished == 40
    assert not passing.cluster.pods.all(), "all pods are gone"


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_urgent_gang_preempts_in_one_rack(action: str) -> None:
    cluster, with_constraint = Cluster(), partial(topology.with_constraint, topology.HARD_RACK)
    clusters.fill(cluster, full({"nodes": 40, "racks": 4, "victims": 40, "gang": 7}, topology.network, with_constraint))
    session = Session(cluster.snapshot(), topology.program(f"allocate, {action}"))
    session.run()
    check(session, gang=7)
