"""Shared devices with the rights that an installation has, and no more."""

from __future__ import annotations

from typing import Any

from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.manifests.shared_devices import REGISTER, VGPU, VGPU_IDS, cards, ids_in, vgpu
from tests.testing.world import policy_of


async def give_gpus(cluster: Cluster, *ids: str) -> str:
    """One of the nodes gets a device plugin; answers its name."""
    name = sorted(node.metadata.name for node in (await cluster.client.list(NODES)).items)[0]
    amounts = {"volcano.sh/vgpu-number": str(10 * len(ids)), "volcano.sh/vgpu-memory": str(16000 * len(ids))}
    await cluster.client.patch(NODES, name, {"metadata": {"annotations": {REGISTER: cards(*ids)}}})
    await cluster.client.patch(
        NODES, name, {"status": {"capacity": amounts, "allocatable": amounts}}, subresource="status"
    )
    return name


async def create_gang(cluster: Cluster, name: str, size: int, devices: dict[str, int]) -> None:
    group = {"metadata": {"name": name}, "spec": {"minMember": size}}
    await cluster.client.create(POD_GROUPS, group, namespace=cluster.namespace)
    limits = {key: str(amount) for key, amount in devices.items()}
    container = {"name": "main", "image": "example/main", "resources": {"limits": limits}}
    for place in range(size):
        metadata: dict[str, Any] = {"name": f"{name}-{place}", "annotations": {GROUP_NAME: name}}
        pod = {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [container]}}
        await cluster.client.create(PODS, pod, namespace=cluster.namespace)


async def test_pods_share_gpus(plane: ControlPlane) -> None:
    """The ConfigMap of devices may not be read by this role: the usual geometries hold, and nothing waits for it."""
    async with running_cluster(plane, policy=policy_of(VGPU)) as cluster:
        node = await give_gpus(cluster, "g0", "g1")
        await create_gang(cluster, "first", 3, vgpu(memory=8000))
        await cluster.until_phase("first", "Running")
        assert set(await cluster.nodes_of("first")) == {node}
        pods = [pod for name, pod in (await cluster.pods()).items() if name.startswith("first-")]
        given = sorted(ids_in((pod.metadata.annotations or {})[VGPU_IDS]) for pod in pods)
        assert given == ["g0", "g1", "g1"]
        await create_gang(cluster, "second", 2, vgpu(memory=8000))
        await cluster.until_message("second", "didn't have enough free ")
        await cluster.client.delete(PODS, "first-0", namespace=cluster.namespace, grace_period=0)
        await cluster.until_phase("second", "Running")
