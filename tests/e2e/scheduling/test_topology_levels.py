"""A network by labels while the scheduler lives: on servers that know KAI's kind, which is not ours to install."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import CRDS, NODES, POD_GROUPS, TOPOLOGIES
from testbed.plane import ADMINISTRATOR, ControlPlane
from tests.e2e.environment.cluster import DEADLINE, Cluster, running_cluster
from tests.testing.cases.case import configuration
from tests.testing.world import policy_of

CONF = configuration("gang", "predicates", "network-topology-aware", actions="enqueue, allocate")
RACK = "test.example.com/rack"
DEFINITION_NAME = f"topologies.{TOPOLOGIES.group}"
DEFINITION = {
    "apiVersion": CRDS.api_version,
    "kind": CRDS.kind,
    "metadata": {"name": DEFINITION_NAME},
    "spec": {
        "group": TOPOLOGIES.group,
        "scope": "Cluster",
        "names": {"plural": "topologies", "singular": "topology", "kind": "Topology", "listKind": "TopologyList"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with (
        Client(load_kubeconfig(str(plane.kubeconfig_of(ADMINISTRATOR)))) as client,
        _knowing_topologies(client),
        running_cluster(plane, policy=policy_of(CONF)) as cluster,
    ):
        yield cluster


@contextlib.asynccontextmanager
async def _knowing_topologies(client: Client) -> AsyncIterator[None]:
    await client.patch(CRDS, DEFINITION_NAME, DEFINITION, kind=PatchKind.APPLY)
    async with asyncio.timeout(DEADLINE):
        while not await _is_served(client):
            await asyncio.sleep(0.05)
    try:
        yield
    finally:
        for node in (await client.list(NODES)).items:
            await client.patch(NODES, node.key, {"metadata": {"labels": {RACK: None}}})
        await client.delete(CRDS, DEFINITION_NAME)


async def _is_served(client: Client) -> bool:
    try:
        await client.list(TOPOLOGIES)
    except ApiError as error:
        if error.is_missing:
            return False
        raise
    return True


async def test_a_gang_waits_for_its_network_and_stays_in_one_rack(cluster: Cluster) -> None:
    client = cluster.client
    names = sorted(node.key for node in (await client.list(NODES)).items)
    for name, rack in zip(names, ("r0", "r1", "r1"), strict=True):
        await client.patch(NODES, name, {"metadata": {"labels": {RACK: rack}}})
    notes = {"kai.scheduler/topology": "test", "kai.scheduler/topology-required-placement": RACK}
    body = {"metadata": {"name": "train", "annotations": notes}, "spec": {"minMember": 2}}
    await client.create(POD_GROUPS, body, namespace=cluster.namespace)
    for place in range(2):
        await cluster.create_pod(f"train-{place}", "3", group="train")
    await cluster.until_message("train", "there is no valid Topology 'test'")
    await client.create(TOPOLOGIES, {"metadata": {"name": "test"}, "spec": {"levels": [{"nodeLabel": RACK}]}})
    await cluster.until_phase("train", "Running")
    assert sorted(await cluster.nodes_of("train")) == names[1:]
