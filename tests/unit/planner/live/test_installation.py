"""The policy and the options of a scheduler without a Deployment: its ConfigMap alone is read."""

from __future__ import annotations

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS, NAMESPACES
from stromboli.local.api_server.server import ApiServer
from stromboli.planner.live.installation import InstallationName, RunningScheduler, find_scheduler

SOURCE = "ConfigMap night/mine-scheduler-configmap"
POLICY = {"volcano-scheduler.conf": "actions: allocate"}

CASES: dict[str, tuple[dict[str, str], RunningScheduler]] = {
    "policy": (POLICY, RunningScheduler("actions: allocate", SOURCE)),
    "policy of another name": ({"own.conf": "actions: enqueue"}, RunningScheduler("actions: enqueue", SOURCE)),
    "arguments": (
        {**POLICY, "arguments": "--scheduler-name=a --seed 7\n--scheduler-name=b\n--period=3s\n"},
        RunningScheduler("actions: allocate", SOURCE, {"--scheduler-name": ["a", "b"], "--seed": ["7"]}),
    ),
    "arguments without a policy": (
        {"arguments": "--seed=7"},
        RunningScheduler(
            options={"--seed": ["7"]},
            problem=f"the policy of the scheduler night/mine is unknown: {SOURCE} has no key volcano-scheduler.conf",
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_config_map_without_a_deployment(case: str) -> None:
    data, expected = CASES[case]
    async with ApiServer() as server, Client(server.connection) as client:
        await client.create(NAMESPACES, {"metadata": {"name": "night"}})
        metadata = {"name": "mine-scheduler-configmap", "namespace": "night"}
        await client.create(CONFIG_MAPS, {"metadata": metadata, "data": data})
        assert await find_scheduler(client, InstallationName("night", "mine")) == expected
