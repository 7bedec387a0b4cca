"""Commands that read a local cluster find its policy and options, as those of an installation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.kube.objects.catalogue import CONFIG_MAPS, DEPLOYMENTS, PODS
from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.up import published_policy
from stromboli.local.up.local_cluster import local_cluster
from stromboli.registry import built_in_registry
from stromboli.scheduler.policy import ActivePolicy
from tests.integration.live.conftest import INSTALLATION, LiveServer
from tests.testing.manifests.builders import Manifest, gang, manifest
from tests.testing.world import QUICK, SIMPLE, cpus

PREEMPTING = Path("examples/contention/scheduler.conf").read_text()
CONFIG_MAP = "stromboli-scheduler-configmap"
CLASSES = [
    manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in (("low", 1), ("high", 100))
]
URGENT = gang(1, 4, name="urgent", priority="high", priorityClassName="high")


@pytest.fixture(autouse=True)
def short_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_policy, "PERIOD", 0.02)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "policy.conf"
    path.write_text(SIMPLE)
    return path


@contextlib.asynccontextmanager
async def started(
    folder: Path, monkeypatch: pytest.MonkeyPatch, conf: Path | str = "", nodes: int = 1, seed: int = 0
) -> AsyncIterator[LiveServer]:
    policy = ActivePolicy(built_in_registry(), str(conf))
    async with local_cluster(policy, pools=[cpus(nodes)], options=replace(QUICK, seed=seed)) as running:
        running.server.write_kubeconfig(folder / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
        yield LiveServer(running.server, running.client, folder)


def note_of(cluster: LiveServer) -> str:
    return f"note: cluster {cluster.server.url}, policy of ConfigMap {INSTALLATION}/{CONFIG_MAP}"


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await reached():
            await asyncio.sleep(0.02)


async def submit(cluster: LiveServer, *documents: Manifest) -> list[str]:
    """Apply objects with pods, and return the nodes of all pods once they are bound."""
    await cluster.apply(*documents)

    async def bound() -> bool:
        return all(each.spec.node_name for each in (await cluster.client.list(PODS)).items)

    await until(bound)
    return [each.spec.node_name or "" for each in (await cluster.client.list(PODS)).items]


async def until_published(cluster: LiveServer, text: str) -> None:
    async def published() -> bool:
        found = await cluster.client.get(CONFIG_MAPS, CONFIG_MAP, namespace=INSTALLATION)
        return (found.data or {}).get("volcano-scheduler.conf") == text

    await until(published)


async def test_plan_uses_the_policy_of_the_local_cluster(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(tmp_path, monkeypatch, conf) as cluster:
        await submit(cluster, *CLASSES, *gang(4, 1, name="old", minimum=1, priority="low", priorityClassName="low"))
        before = await cluster.report("plan", files=URGENT)
        assert (before["warnings"], before["evictions"]) == ([note_of(cluster)], {})
        conf.write_text(PREEMPTING)
        await until_published(cluster, PREEMPTING)
        after = await cluster.report("plan", files=URGENT)
        assert len(after["evictions"]) == 4


async def test_plan_uses_the_seed_of_the_local_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = gang(1, 1, name="single")
    async with started(tmp_path, monkeypatch, nodes=8, seed=7) as cluster:
        planned = await cluster.report("plan", files=single)
        without = await cluster.report("plan", "--seed=0", files=single)
        nodes = await submit(cluster, *single)
    assert list(planned["binds"].values()) == nodes
    assert list(without["binds"].values()) == ["node-00"] != nodes


async def test_default_policy_is_published_without_a_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(tmp_path, monkeypatch) as cluster:
        await until_published(cluster, DEFAULT_TEXT)
        assert (await cluster.client.list(DEPLOYMENTS)).items == []
        assert (await cluster.report("queues"))["warnings"] == [note_of(cluster)]


async def test_changed_policy_is_published_after_a_failure(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(tmp_path, monkeypatch, conf) as cluster:
        cluster.server.faults.add(Match(verb="patch", plural="configmaps"), Answer(403, "Forbidden"), times=1)
        conf.write_text(PREEMPTING)
        await until_published(cluster, PREEMPTING)
    assert [each.message for each in caplog.records if each.name == published_policy.__name__] == [
        "policy not published; retrying"
    ]
