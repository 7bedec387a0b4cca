"""Claims that wait for their first pod get their volumes with it, and pods are bound when their volumes are ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CLAIMS, EVENTS, NODES, POD_GROUPS, PODS, STORAGE_CLASSES, VOLUMES
from stromboli.kube.objects.storage import BIND_COMPLETED, SELECTED_NODE, PersistentVolumeClaim
from stromboli.local.fakes.storage.volumes import VolumeController
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration, plugin
from tests.testing.world import policy_of

HOST = "kubernetes.io/hostname"
ONCE = ["ReadWriteOnce"]
PATIENT = configuration("priority", "gang", "predicates", "nodeorder")
#: Volumes that are not ready within a second are given up.
IMPATIENT = configuration(
    "priority", "gang", plugin("predicates", {"volumebinding.bindTimeoutSeconds": 1}), "nodeorder"
)


class Provisioner:
    """Plays those who make volumes and those who bring them together with claims, which a bare API server lacks.

    It leaves claims in `ignore` alone, and rejects claims in `refuse` once.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._client = cluster.client
        self._namespace = cluster.namespace
        self.ignored: set[str] = set()
        self.refused: set[str] = set()

    async def run(self) -> None:
        while True:
            with contextlib.suppress(ApiError):  # another client was faster: the next look sees the result
                await self._look()
            await asyncio.sleep(0.05)

    async def _look(self) -> None:
        volumes = {volume.metadata.name: volume for volume in (await self._client.list(VOLUMES)).items}
        for claim in (await self._client.list(CLAIMS, namespace=self._namespace)).items:
            name, node = claim.metadata.name, claim.selected_node
            if claim.is_bound or name in self.ignored:
                continue
            promised = [
                volume.metadata.name
                for volume in volumes.values()
                if volume.spec.claim_ref is not None and volume.spec.claim_ref.uid == claim.metadata.uid
            ]
            if node and name in self.refused:
                self.refused.discard(name)
                await self._patch(claim, {"metadata": {"annotations": {SELECTED_NODE: None}}})
            elif promised or node:
                await self._bind(claim, promised[0] if promised else await self._make(claim, node))

    async def _make(self, claim: PersistentVolumeClaim, node: str) -> str:
        metadata, name = claim.metadata, f"pvc-{claim.metadata.uid}"
        reference = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
        await self._client.create(VOLUMES, local_volume(name, node, claim.spec.storage_class_name or "", reference))
        return name

    async def _bind(self, claim: PersistentVolumeClaim, volume: str) -> None:
        notes = {"annotations": {BIND_COMPLETED: "yes"}}
        await self._patch(claim, {"metadata": notes, "spec": {"volumeName": volume}})
        await self._patch(claim, {"status": {"phase": "Bound", "accessModes": ONCE}}, subresource="status")

    async def _patch(self, claim: PersistentVolumeClaim, body: dict[str, Any], **facts: str) -> None:
        await self._client.patch(CLAIMS, claim.metadata.name, body, namespace=self._namespace, **facts)  # type: ignore[arg-type]


def local_volume(name: str, node: str, of: str, claim: dict[str, str] | None = None) -> dict[str, Any]:
    """A directory on one node, perhaps for a certain claim."""
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    spec: dict[str, Any] = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ONCE,
        "storageClassName": of,
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    if claim is not None:
        spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}
    return {"metadata": {"name": name}, "spec": spec}


class Storage:
    """A cluster with a storage class of its own, whose volumes the test creates."""

    def __init__(self, cluster: Cluster, provisioner: Provisioner) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.namespace = cluster.namespace
        self.provisioner = provisioner
        #: Names of cluster-scoped objects are unique to this test.
        self.of = cluster.namespace

    async def create_class(self, made_by: str = "disks.example.com") -> None:
        body = {"metadata": {"name": self.of}, "provisioner": made_by, "volumeBindingMode": "WaitForFirstConsumer"}
        await self.client.create(STORAGE_CLASSES, body)

    async def create_claim(self, name: str) -> None:
        claim = {"accessModes": ONCE, "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": self.of}
        await self.client.create(CLAIMS, {"metadata": {"name": name}, "spec": claim}, namespace=self.namespace)

    async def create_gang(self, name: str, size: int, *, claims: bool = True, ephemeral: bool = False) -> None:
        """Pods of one cpu, each with a claim that is called as the pod, or made for it."""
        group = {"metadata": {"name": name}, "spec": {"minMember": size}}
        await self.client.create(POD_GROUPS, group, namespace=self.namespace)
        for place in range(size):
            pod = f"{name}-{place}"
            source: dict[str, Any] = {"persistentVolumeClaim": {"claimName": pod}}
            if ephemeral:
                claim = {
                    "accessModes": ONCE,
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": self.of,
                }
                source = {"ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
            elif claims:
                await self.create_claim(pod)
            container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
            spec = {"schedulerName": "volcano", "containers": [container], "volumes": [{"name": "data", **source}]}
            metadata = {"name": pod, "annotations": {GROUP_NAME: name}}
            await self.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=self.namespace)

    async def claim(self, name: str) -> PersistentVolumeClaim:
        return await self.client.get(CLAIMS, name, namespace=self.namespace)

    async def nodes(self) -> list[str]:
        return sorted(node.metadata.name for node in (await self.client.list(NODES)).items)

    async def until_bound(self, gang: str, size: int) -> None:
        async def reached() -> bool:
            return len([node for node in await self.cluster.nodes_of(gang) if node]) == size

        await self.cluster.until(reached, f"{size} pods of {gang} are bound")

    async def until_message(self, name: str, words: str) -> None:
        """Wait for an event about a pod: unlike a condition it stays, whatever happens next."""

        async def reached() -> bool:
            events = (await self.client.list(EVENTS, namespace=self.namespace)).items
            return any(event.involved_object.name == name and words in (event.message or "") for event in events)

        await self.cluster.until(reached, f"{name} reports {words!r}")

    async def clear(self) -> None:
        for claim in (await self.client.list(CLAIMS, namespace=self.namespace)).items:
            await self._drop(CLAIMS, claim.metadata.name, namespace=self.namespace)
        for volume in (await self.client.list(VOLUMES)).items:
            if volume.spec.storage_class_name == self.of:
                await self._drop(VOLUMES, volume.metadata.name)
        await self._drop(STORAGE_CLASSES, self.of)

    async def _drop(self, resource: Any, name: str, namespace: str = "") -> None:
        with contextlib.suppress(ApiError):
            await self.client.patch(resource, name, {"metadata": {"finalizers": None}}, namespace=namespace)
            await self.client.delete(resource, name, namespace=namespace)


@contextlib.asynccontextmanager
async def storing(plane: ControlPlane, conf: str) -> AsyncIterator[Storage]:
    async with running_cluster(plane, policy=policy_of(conf)) as cluster:
        provisioner = Provisioner(cluster)
        storage = Storage(cluster, provisioner)
        plays = asyncio.ensure_future(provisioner.run())
        try:
            yield storage
        finally:
            plays.cancel()
            await asyncio.gather(plays, return_exceptions=True)
            await storage.clear()


@pytest.fixture(autouse=True)
def no_other_provisioner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake volume controller is off: the test binds claims and volumes itself."""

    async def look_away(self: VolumeController, key: str) -> None:
        return

    monkeypatch.setattr(VolumeController, "_reconcile_claim", look_away)


@pytest.fixture
async def storage(plane: ControlPlane) -> AsyncIterator[Storage]:
    async with storing(plane, PATIENT) as storage:
        yield storage


async def test_volumes_are_made_where_the_pods_of_a_gang_go(storage: Storage) -> None:
    await storage.create_class()
    await storage.create_gang("train", 3)
    await storage.create_gang("scratch", 2, ephemeral=True)
    await storage.cluster.until_phase("train", "Running")
    await storage.cluster.until_phase("scratch", "Running")
    claims = {name: name for name in ("train-0", "train-1", "train-2")} | {"scratch-0": "scratch-0-data"}
    pods = await storage.cluster.pods()
    for pod, name in claims.items():
        claim = await storage.claim(name)
        assert (claim.is_bound, claim.selected_node) == (True, pods[pod].spec.node_name)


async def test_gang_waits_for_its_last_volume_without_delaying_others(storage: Storage) -> None:
    storage.provisioner.ignored.add("slow-1")
    await storage.create_class()
    await storage.create_gang("slow", 2)

    async def one_is_ready() -> bool:
        return (await storage.claim("slow-0")).is_bound and bool((await storage.claim("slow-1")).selected_node)

    await storage.cluster.until(one_is_ready, "one claim has its volume, and the other is being served")
    await storage.cluster.create_gang("other", 2, "1")
    await storage.cluster.until_phase("other", "Running")
    assert await storage.cluster.nodes_of("slow") == ["", ""]
    storage.provisioner.ignored.clear()
    await storage.cluster.until_phase("slow", "Running")


async def test_pods_go_to_the_volumes_that_are_there_and_each_volume_to_one(storage: Storage) -> None:
    await storage.create_class("kubernetes.io/no-provisioner")
    nodes = await storage.nodes()
    for node in nodes[1:]:
        await storage.client.create(VOLUMES, local_volume(f"{storage.of}-{node}", node, storage.of))
    await storage.create_gang("two", 2)
    await storage.cluster.until_phase("two", "Running")
    assert sorted(await storage.cluster.nodes_of("two")) == nodes[1:]
    claims = [await storage.claim(name) for name in ("two-0", "two-1")]
    assert len({claim.spec.volume_name for claim in claims}) == 2
    await storage.create_gang("third", 1)
    await storage.cluster.until_message("third", "3 node(s) didn't find available persistent volumes to bind")


async def test_a_pod_whose_node_the_provisioner_refuses_is_tried_again(storage: Storage) -> None:
    storage.provisioner.refused.add("moved-0")
    await storage.create_class()
    await storage.create_gang("moved", 1)
    await storage.until_message("moved-0", "no volume can be provisioned for claim")
    await storage.cluster.until_phase("moved", "Running")


async def test_a_claim_that_is_not_there_is_waited_for(storage: Storage) -> None:
    await storage.create_class()
    await storage.create_gang("early", 1, claims=False)
    await storage.cluster.until_message("early", 'persistentvolumeclaim "early-0" not found')
    await storage.create_claim("early-0")
    await storage.cluster.until_phase("early", "Running")


async def test_what_was_asked_for_in_vain_is_taken_back(plane: ControlPlane) -> None:
    async with storing(plane, IMPATIENT) as storage:
        storage.provisioner.ignored.update(("vain-0", "vain-1"))
        await storage.create_class()
        await storage.create_gang("vain", 2)
        await storage.until_message("vain-0", "not ready after 1 seconds")

        async def is_taken_back() -> bool:
            return not (await storage.claim("vain-0")).selected_node

        await storage.cluster.until(is_taken_back, "the claim names no node any more")
        assert await storage.cluster.nodes_of("vain") == ["", ""]
        storage.provisioner.ignored.clear()
        await storage.cluster.until_phase("vain", "Running")
