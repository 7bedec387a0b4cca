"""kube-scheduler on the same nodes, on a real server: nodes that both filled are relieved of our pods alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stromboli.kube.objects.catalogue import PODS
from testbed.fault_proxy import BINDINGS
from testbed.kube_scheduler import kube_scheduler
from testbed.plane import ControlPlane
from testbed.proxy_faults import Gate
from tests.e2e.environment.processes import POOL, Ground, ground

POLICY = """
actions: "enqueue, relieve, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
configurations:
- name: relieve
  arguments:
    gracePeriod: 1s
"""
NODES, CPUS, OURS = 4, 5, 8
THEIRS = NODES * CPUS


async def create_foreign(place: Ground, name: str) -> None:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "nodeSelector": {POOL: place.name}, "terminationGracePeriodSeconds": 0}
    await place.client.create(PODS, {"metadata": {"name": name}, "spec": spec}, namespace=place.name)


@pytest.mark.only("real", because="kube-scheduler needs the whole API")
async def test_overcommitted_nodes_are_relieved_of_our_pods_alone(plane: ControlPlane, tmp_path: Path) -> None:
    policy, gate = tmp_path / "policy.yaml", Gate()
    policy.write_text(POLICY, encoding="utf-8")
    async with ground(plane, tmp_path) as place:
        await place.create_nodes(NODES, CPUS)
        with kube_scheduler(plane, tmp_path):
            await create_foreign(place, "theirs-0")
            await place.until_bound("theirs", 1)  # its start takes longer than our requests may wait
            place.proxy.faults.add(BINDINGS, gate, times=None)
            place.start(f"--scheduler-conf={policy}")
            await place.create_gang("ours", OURS)
            await place.until(lambda: gate.is_reached, "our pods have nodes, and their bindings are on their way")
            await asyncio.gather(*(create_foreign(place, f"theirs-{number}") for number in range(1, THEIRS)))
            await place.until_bound("theirs", THEIRS)
        gate.open()
        await place.until(lambda: "node over-committed" in place.logs, "the nodes are reported")
        async with asyncio.timeout(60):
            while await place.bound("ours") == 0:  # our pods count in the scheduler before they are bound
                await asyncio.sleep(0.05)
        await place.until_bound("ours", 0)
        assert set((await place.free()).values()) == {0}
        assert await place.bound("theirs") == THEIRS, "no pod of the other scheduler was evicted"
