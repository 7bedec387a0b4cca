"""HyperNodes: discovered from node labels, and validated."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from stromboli.controllers.discovery_keys import parse_keys
from stromboli.controllers.wiring import Controllers
from stromboli.install.roles import role_documents
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import EVENTS, HYPER_NODES, NODES
from stromboli.kube.objects.topology import KubeHyperNode
from testbed.plane import ADMINISTRATOR, NAMESPACE
from tests.e2e.environment.cluster import NAMES, Cluster
from tests.unit.local.fakes.running import running

LEAF, SPINE = "test.example.com/leaf", "test.example.com/spine"


@pytest.fixture
async def cluster(cluster: Cluster) -> AsyncIterator[Cluster]:
    """Without any HyperNodes, before and after."""
    await remove_all(cluster)
    yield cluster
    await remove_all(cluster)
    for node in (await cluster.client.list(NODES)).items:
        await cluster.client.patch(NODES, node.key, {"metadata": {"labels": {LEAF: None, SPINE: None}}})


async def remove_all(cluster: Cluster) -> None:
    for each in await hyper_nodes(cluster):
        await cluster.client.delete(HYPER_NODES, each.key)


async def hyper_nodes(cluster: Cluster) -> list[KubeHyperNode]:
    return (await cluster.client.list(HYPER_NODES)).items


async def label(cluster: Cluster, *labels: dict[str, str]) -> None:
    nodes = sorted((await cluster.client.list(NODES)).items, key=lambda node: node.key)
    for node, given in zip(nodes, labels, strict=False):
        await cluster.client.patch(NODES, node.key, {"metadata": {"labels": given}})


async def discover(cluster: Cluster) -> dict[str, int]:
    arguments = ("hypernodes", "discover", "--keys", f"{SPINE},{LEAF}", "--apply")
    where = ("--kubeconfig", str(cluster.plane.kubeconfig_of(ADMINISTRATOR)))
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "stromboli", *arguments, *where,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ, "COVERAGE_CORE": ""},
    )  # fmt: skip
    shown, complaints = await running.communicate()
    assert running.returncode == 0, complaints.decode()
    return Counter(line.split()[-1] for line in shown.decode().splitlines())


async def test_the_network_is_discovered_and_followed(cluster: Cluster) -> None:
    by_hand = {"type": "Node", "selector": {"exactMatch": {"name": "unknown"}}}
    body = {"metadata": {"name": "mine"}, "spec": {"tier": 1, "members": [by_hand]}}
    await cluster.client.create(HYPER_NODES, body)
    await label(cluster, {SPINE: "s0", LEAF: "l0"}, {SPINE: "s0", LEAF: "L_1"}, {LEAF: "l0"})
    assert await discover(cluster) == {"created": 3}
    assert await discover(cluster) == {"unchanged": 3}
    await label(cluster, {}, {LEAF: "l2"})
    assert await discover(cluster) == {"created": 1, "configured": 1, "deleted": 1, "unchanged": 1}
    names = {each.key for each in await hyper_nodes(cluster)}
    assert names == {"mine", "spine.s0", "leaf.s0.l0", "leaf.s0.l2"}


async def until_message(cluster: Cluster, name: str, status: str, nodes: int) -> str:
    """Wait for the condition and the count of a HyperNode; answers the message."""
    message = ""

    async def reached() -> bool:
        nonlocal message
        found = (await cluster.client.get(HYPER_NODES, name)).status
        conditions = {each.type: each for each in found.conditions or ()}
        if "Valid" not in conditions or (conditions["Valid"].status, found.node_count) != (status, nodes):
            return False
        message = conditions["Valid"].message or ""
        return True

    await cluster.until(reached, f"{name} has {nodes} nodes and is valid: {status}")
    return message


async def test_invalid_hypernode_reports_its_error(cluster: Cluster) -> None:
    """It names a missing HyperNode; that one is created and deleted, and the error is reported again."""
    leaf = {"type": "Node", "selector": {"labelMatch": {"matchLabels": {LEAF: "l0"}}}}
    spine = {"type": "HyperNode", "selector": {"exactMatch": {"name": "leaf"}}}
    await label(cluster, {LEAF: "l0"}, {LEAF: "l0"})
    body = {"metadata": {"name": "spine"}, "spec": {"tier": 2, "members": [spine]}}
    made = await cluster.client.create(HYPER_NODES, body)
    for _ in range(2):
        message = await until_message(cluster, "spine", "False", 0)
        assert "spec.members[0].selector.exactMatch.name: there is no HyperNode 'leaf' yet" in message
        await cluster.client.create(HYPER_NODES, {"metadata": {"name": "leaf"}, "spec": {"tier": 1, "members": [leaf]}})
        assert await until_message(cluster, "spine", "True", 2) == ""
        await cluster.client.delete(HYPER_NODES, "leaf")

    async def reported_twice() -> bool:
        everything = (await cluster.client.list(EVENTS)).items
        events = [each for each in everything if each.involved_object.uid == made.metadata.uid]
        counts = {each.reason: each.count for each in events}
        return counts.keys() == {"Invalid", "Valid"} and counts["Invalid"] != 1

    await cluster.until(reported_twice, "the repeated error is counted")


@pytest.fixture
async def discovering(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The controllers may write HyperNodes, as an installation with discovery lets them, and as no other does."""
    for discover in (True, False):
        if cluster.plane.kind == "real":
            await Applier(cluster.client).apply(role_documents("controller", NAMESPACE, discover=discover))
        if discover:
            yield cluster


async def test_controllers_discover_with_the_rights_that_they_are_given(discovering: Cluster) -> None:
    """A domain is made, follows its nodes, and goes when they say something else."""
    cluster = discovering
    keys = parse_keys(f"{SPINE},{LEAF}")
    await label(cluster, {LEAF: "l0", SPINE: "s0"}, {LEAF: "l1", SPINE: "s0"})

    def there_are(*names: str) -> Callable[[], Awaitable[bool]]:
        async def reached() -> bool:
            return {each.key for each in await hyper_nodes(cluster)} == set(names)

        return reached

    connection = load_kubeconfig(str(cluster.plane.kubeconfig_of("controller")))
    async with Client(connection) as client, running(Controllers(client, NAMES, discovery_keys=keys)):
        await cluster.until(there_are("spine.s0", "leaf.s0.l0", "leaf.s0.l1"), "domains are made")
        await label(cluster, {}, {LEAF: "l2"})
        await cluster.until(there_are("spine.s0", "leaf.s0.l0", "leaf.s0.l2"), "domains are changed and removed")
        await until_message(cluster, "spine.s0", "True", 2)
