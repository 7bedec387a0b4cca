"""Two scheduler processes over one cluster, each with its nodes: shards change under load, and one process dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.apply import Applier
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.objects.catalogue import BIND_REQUESTS, LEASES, NODE_SHARDS, PODS
from stromboli.scheduler.sharding.liveness import lease_of
from testbed.plane import NAMESPACE, ControlPlane
from tests.e2e.environment.processes import DEADLINE, Ground, ground
from tests.integration.processes.conftest import Command

ROOT = Path(__file__).parents[3]
_MODE = "--scheduler-sharding-mode"
#: The cpus of a node, and the members of a gang, which want one each.
SIZE = 8


class Shards:
    """Two shards of the nodes of a test, east and west, with names that no other test uses."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.client = ground.client
        self._made: set[str] = set()

    def name(self, shard: str) -> str:
        return f"{self.ground.name}-{shard}"

    def node(self, number: int) -> str:
        return f"{self.ground.name}-{number:02}"

    def start(self, shard: str, *more: str, mode: str = "hard", scheduler: str = "") -> Command:
        options = (f"{_MODE}={mode}", f"--scheduler-sharding-name={self.name(shard)}", "--shard-takeover=500ms")
        return self.ground.start(*options, *more, elects=True, scheduler=scheduler or self.name(shard))

    def start_binder(self) -> None:
        environment = {
            "HOME": str(self.ground.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.ground.plane.kubeconfig_of("binder")),
            "STROMBOLI_MASTER": self.ground.proxy.url,
            "STROMBOLI_LEADER_ELECT": "false",
        }
        options = ("--event-qps=0", "--min-retry-delay=50ms", "--listen-address=", "--healthz-address=")
        self.ground.keep(Command("binder", *options, environment=environment, folder=self.ground.folder))

    async def let_write_requests(self) -> None:
        """What a scheduler may do that has a binder."""
        if self.ground.plane.kind != "real":
            return
        rights = "rbac.authorization.k8s.io"
        head = {"apiVersion": f"{rights}/v1", "metadata": {"name": "stromboli-test-requests"}}
        verbs = ["create", "delete", "get", "list", "patch", "watch"]
        rule = {"apiGroups": [BIND_REQUESTS.group], "resources": [BIND_REQUESTS.plural], "verbs": verbs}
        account = {"kind": "ServiceAccount", "name": "stromboli-scheduler", "namespace": NAMESPACE}
        role = {"apiGroup": rights, "kind": "ClusterRole", "name": "stromboli-test-requests"}
        documents = [
            {**head, "kind": "ClusterRole", "rules": [rule]},
            {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [account]},
        ]
        await Applier(self.client).apply(documents)

    async def desire(self, shard: str, *numbers: int) -> None:
        nodes = [self.node(number) for number in numbers]
        body = {"metadata": {"name": self.name(shard)}, "spec": {"nodesDesired": nodes}}
        if shard in self._made:
            await self.client.patch(NODE_SHARDS, self.name(shard), {"spec": body["spec"]})
        else:
            self._made.add(shard)
            await self.client.create(NODE_SHARDS, body)

    async def in_use(self, shard: str) -> set[int]:
        listed = {each.key: each.status for each in (await self.client.list(NODE_SHARDS)).items}
        if self.name(shard) not in listed:
            return set()
        nodes = listed[self.name(shard)].nodes_in_use or ()
        return {int(node.rpartition("-")[2]) for node in nodes}

    async def until_used(self, shard: str, *numbers: int) -> None:
        async def reached() -> bool:
            return await self.in_use(shard) == set(numbers)

        await self.until(reached, f"{shard} uses {numbers}")

    async def until(self, reached: Callable[[], Awaitable[bool]], what: str) -> None:
        """Wait, and see on the way that no node was given away twice."""
        deadline = time.monotonic() + DEADLINE
        while not await reached():
            assert min((await self.ground.free()).values()) >= 0, await self.ground.free()
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.ground.logs}"
            await asyncio.sleep(0.05)

    async def until_bound(self, gangs: int) -> None:
        """Wait until all pods of so many gangs have a node."""

        async def reached() -> bool:
            return await self.ground.bound() == gangs * SIZE

        await self.until(reached, f"{gangs} gangs are bound")

    async def gang(self, name: str, shard: str) -> None:
        await self.ground.create_gang(name, SIZE, scheduler=self.name(shard))

    async def clear(self) -> None:
        for shard in ("east", "west"):
            with contextlib.suppress(ApiError):
                await self.client.delete(NODE_SHARDS, self.name(shard), namespace=NAMESPACE)
            with contextlib.suppress(ApiError):
                await self.client.delete(LEASES, lease_of(self.name(shard)), namespace=NAMESPACE)


@pytest.fixture
async def shards(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Shards]:
    """Six nodes, and the permissions that the page documents."""
    async with ground(plane, tmp_path) as place:
        if plane.kind == "real":
            page = (ROOT / "docs/shards.md").read_text().partition("### Rights")[2]
            rights = page.partition("```yaml\n")[2].partition("```")[0]
            await Applier(place.client).apply(cast(list[dict[str, Any]], load_documents(rights, "docs/shards.md")))
        await place.create_nodes(6, SIZE)
        made = Shards(place)
        try:
            yield made
        finally:
            await made.clear()


async def test_nodes_change_hands_under_load_and_after_a_crash(shards: Shards) -> None:
    await shards.desire("east", 0, 1, 2)
    await shards.desire("west", 3, 4, 5)
    east = shards.start("east")
    shards.start("west")
    await shards.until_used("east", 0, 1, 2)
    await shards.until_used("west", 3, 4, 5)

    await shards.gang("first", "east")
    await shards.gang("second", "west")
    await shards.desire("east", 0, 1)
    await shards.desire("west", 2, 3, 4, 5)
    await shards.gang("third", "west")
    await shards.until_used("west", 2, 3, 4, 5)
    await shards.desire("west", 3, 4, 5)
    await shards.desire("east", 0, 1, 2)
    await shards.until_used("east", 0, 1, 2)
    await shards.desire("east", 0, 1)
    await shards.desire("west", 2, 3, 4, 5)
    await shards.until_used("west", 2, 3, 4, 5)
    await shards.until_bound(3)

    east.signal(signal.SIGKILL)
    for name in ("fourth", "fifth", "sixth"):
        await shards.gang(name, "west")
    await shards.until_bound(6)
    assert await shards.in_use("west") == {0, 1, 2, 3, 4, 5}
    assert await shards.in_use("east") == set()

    shards.start("east")
    await shards.until_used("east", 0, 1)
    await shards.until_used("west", 2, 3, 4, 5)
    nodes = {shards.node(0), shards.node(1)}
    replaced = next(pod for pod in await shards.ground.pods("first-") if pod.spec.node_name in nodes)
    await shards.client.delete(PODS, replaced.metadata.name, namespace=shards.ground.name, grace_period=0)
    await shards.ground.create_pod("late", scheduler=shards.name("east"), group="first")
    await shards.until_bound(6)
    assert await shards.ground.faults() == []


async def test_shard_by_labels_is_created_and_reported(shards: Shards) -> None:
    selector = f"--shard-selector=kubernetes.io/hostname in ({shards.node(1)},{shards.node(4)})"
    shards.start("east", selector)

    await shards.until_used("east", 1, 4)
    await shards.gang("first", "east")
    await shards.gang("second", "east")
    await shards.until_bound(2)
    assert {pod.spec.node_name for pod in await shards.ground.pods()} == {shards.node(1), shards.node(4)}


async def test_the_second_scheduler_of_a_name_decides_nothing(shards: Shards) -> None:
    await shards.desire("east", 0, 1, 2)
    await shards.desire("west", 3, 4, 5)
    shards.start("east", scheduler=shards.name("both"))
    await shards.gang("first", "both")
    await shards.until_bound(1)
    west = shards.start("west", scheduler=shards.name("both"))
    west.wait_for_output("another scheduler has the same name")
    await shards.gang("second", "both")
    await shards.until_bound(2)
    assert await shards.in_use("west") == set()


async def test_a_name_is_compared_again_when_a_shard_gets_its_object(shards: Shards) -> None:
    """The scheduler that has no NodeShard yet cannot be seen by the other one, and does not see it either."""
    west = shards.start("west", scheduler=shards.name("both"))
    west.wait_for_output(f"NodeShard {shards.name('west')} does not exist")
    await shards.desire("east", 0, 1, 2)
    shards.start("east", scheduler=shards.name("both"))
    await shards.gang("first", "both")
    await shards.until_bound(1)
    await shards.desire("west", 3, 4, 5)
    west.wait_for_output("another scheduler has the same name")
    await shards.gang("second", "both")
    await shards.until_bound(2)
    assert await shards.in_use("west") == set()


async def test_soft_goes_outside_where_a_binder_checks(shards: Shards) -> None:
    """One shard asks for more than it has, both at the same time, and together for all that there is."""
    await shards.let_write_requests()
    await shards.desire("east", 0, 1, 2)
    await shards.desire("west", 3, 4, 5)
    shards.start_binder()
    for shard in ("east", "west"):
        shards.start(shard, "--bind-mode=request", mode="soft")
    await shards.until_used("east", 0, 1, 2)
    await shards.until_used("west", 3, 4, 5)
    gangs = [(f"east-{number}", "east") for number in range(4)] + [(f"west-{number}", "west") for number in range(2)]
    await asyncio.gather(*(shards.gang(*gang) for gang in gangs))
    await shards.until_bound(6)
    assert await shards.ground.faults() == []


async def test_soft_sharding_needs_a_binder_that_checks_decisions(shards: Shards) -> None:
    await shards.desire("east", 0)
    command = shards.start("east", mode="soft")
    assert command.ends() == 1
    assert "--bind-mode request" in command.output
