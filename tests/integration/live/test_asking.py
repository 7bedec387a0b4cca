"""Commands of people who may not list the cluster, on a local cluster: the scheduler answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
from stromboli.local.up.local_cluster import LocalCluster, local_cluster
from stromboli.registry import built_in_registry
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from tests.integration.live.conftest import LiveServer
from tests.testing.manifests.builders import gang

POOL = NodePool(2, resources={"cpu": "4", "memory": "8Gi", "pods": "110"})
#: What commands ask for when the API server denies the list of nodes.
COMMANDS = {
    "plan": 3, "explain large": 3, "job large": 3, "jobs": 0, "jobs --when": 0, "queues": 0, "history": 0,
    "plan --explain -o wide": 3, "job large -o yaml": 3, "jobs --waiting --queue default -o json": 0,
}  # fmt: skip


@pytest.fixture
async def denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveServer]:
    """A cluster with a job that waits, whose API server denies people the list of nodes, and of all PodGroups."""
    policy = ActivePolicy(built_in_registry(), "")
    options = SchedulerOptions(history=str(tmp_path / "history.db"))
    async with local_cluster(policy, pools=[POOL], options=options) as running:
        running.server.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setenv("HOME", str(tmp_path))
        live = LiveServer(running.server, running.client, tmp_path)
        await live.apply(*gang(3, 3, name="large"))
        await _until_reported(live)
        _deny(running)
        yield live
    policy.close()


async def _until_reported(live: LiveServer) -> None:
    while not (found := (await live.report("jobs"))["jobs"]) or "needs" not in found[0]["reason"]:
        pass


def _deny(running: LocalCluster) -> None:
    """The connections of the scheduler watch; only commands list."""
    refusal = Answer(403, "Forbidden", "not for you")
    running.server.faults.add(Match(verb="list", plural="nodes"), refusal, times=None)
    running.server.faults.add(Match(verb="list", plural="podgroups", namespace=""), refusal, times=None)


@pytest.mark.parametrize("command", COMMANDS)
async def test_scheduler_answers_where_lists_are_denied(denied: LiveServer, command: str) -> None:
    result = await denied.run(*command.split())
    assert result.exit_code == COMMANDS[command], result.output
    assert command == "queues" or "large" in result.stdout
