"""How the network is described: discovered from labels of nodes, by the command that people use."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import pytest

from stromboli.kube.objects.catalogue import HYPER_NODES, NODES
from stromboli.kube.objects.topology import HyperNode
from testbed.plane import ADMINISTRATOR
from tests.e2e.cluster import Cluster

LEAF, SPINE = "story.example.com/leaf", "story.example.com/spine"


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


async def hyper_nodes(cluster: Cluster) -> list[HyperNode]:
    return (await cluster.client.list(HYPER_NODES)).items


async def label(cluster: Cluster, *labels: dict[str, str]) -> None:
    nodes = sorted((await cluster.client.list(NODES)).items, key=lambda node: node.key)
    for node, given in zip(nodes, labels, strict=False):
        await cluster.client.patch(NODES, node.key, {"metadata": {"labels": given}})


async def discover(cluster: Cluster) -> str:
    arguments = ("hypernodes", "discover", "--keys", f"{SPINE},{LEAF}", "--apply")
    where = ("--kubeconfig", str(cluster.plane.kubeconfig_of(ADMINISTRATOR)))
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "stromboli", *arguments, *where,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ, "COVERAGE_CORE": ""},
    )  # fmt: skip
    shown, complaints = await running.communicate()
    assert running.returncode == 0, complaints.decode()
    return shown.decode().splitlines()[-1]


async def test_the_network_is_discovered_and_followed(cluster: Cluster) -> None:
    by_hand = {"type": "Node", "selector": {"exactMatch": {"name": "somebody"}}}
    body = {"metadata": {"name": "mine"}, "spec": {"tier": 1, "members": [by_hand]}}
    await cluster.client.create(HYPER_NODES, body)
    await label(cluster, {SPINE: "s0", LEAF: "l0"}, {SPINE: "s0", LEAF: "L_1"}, {LEAF: "l0"})
    assert await discover(cluster) == "4 made, 0 changed, 0 removed, 0 as they should be."
    assert await discover(cluster) == "0 made, 0 changed, 0 removed, 4 as they should be."
    await label(cluster, {}, {LEAF: "l2"})
    assert await discover(cluster) == "1 made, 1 changed, 1 removed, 2 as they should be."
    names = {each.key for each in await hyper_nodes(cluster)}
    assert names == {"mine", "spine.s0", "leaf.s0.l0", "leaf.s0.l2", "leaf.none.l0"}
