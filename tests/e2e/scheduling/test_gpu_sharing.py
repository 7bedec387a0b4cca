"""Pods share GPUs: reserved before they are bound, written on the pods, and released after the last pod."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stromboli.binding.plugins.loading import BUILT_IN, load_plugins
from stromboli.binding.requests.binder import Binder
from stromboli.binding.steps.gpu_sharing.config_maps import CONFIG_MAP, VISIBLE
from stromboli.core.model.devices.gpu_fractions import DEFAULT_NAMESPACE
from stromboli.install.gpu_sharing import gpu_sharing_documents
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import CONFIG_MAPS, EVENTS, NODES, POD_GROUPS, PODS
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import NAMESPACE, ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.manifests.fractional_gpus import sharing
from tests.testing.world import policy_of
from tests.unit.local.fakes.running import running

FAKE = sharing(FakeGPUs=True)
MODES = {"direct": FAKE, "request": f"{FAKE}bind:\n  mode: request\n"}


@contextlib.asynccontextmanager
async def sharing_cluster(plane: ControlPlane, mode: str = "direct") -> AsyncIterator[Cluster]:
    """Permissions of a process that binds pods and reserves GPUs, which are simulated."""
    async with running_cluster(plane, policy=policy_of(MODES[mode])) as cluster:
        documents = gpu_sharing_documents("scheduler" if mode == "direct" else "binder", NAMESPACE)
        await Applier(cluster.client).apply(
            [*documents, *writing_requests()] if plane.kind == "real" else documents[:1]
        )
        async with binding(plane) if mode == "request" else contextlib.nullcontext():
            yield cluster


def writing_requests() -> list[dict[str, Any]]:
    """The scheduler may write bind requests."""
    verbs = ["get", "list", "watch", "create", "delete"]
    rule = {"apiGroups": ["scheduling.stromboli.dev"], "resources": ["bindrequests"], "verbs": verbs}
    rbac = "rbac.authorization.k8s.io"
    kind = {"apiVersion": f"{rbac}/v1", "metadata": {"name": "test-bind-requests"}}
    subject = {"kind": "ServiceAccount", "name": "stromboli-scheduler", "namespace": NAMESPACE}
    reference = {"apiGroup": rbac, "kind": "ClusterRole", "name": "test-bind-requests"}
    return [
        {**kind, "kind": "ClusterRole", "rules": [rule]},
        {**kind, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
    ]


@contextlib.asynccontextmanager
async def binding(plane: ControlPlane) -> AsyncIterator[None]:
    """A binder is at work, with its own account."""
    async with Client(load_kubeconfig(str(plane.kubeconfig_of("binder")))) as client:
        binder = Binder(client, load_plugins(BUILT_IN, options={"gpusharing": {"fake": "true"}}))
        binder.lead()
        async with running(binder):
            yield


async def give_gpus(cluster: Cluster, number: int) -> str:
    """One of the nodes has GPUs; answers its name."""
    name = sorted(node.metadata.name for node in (await cluster.client.list(NODES)).items)[0]
    amounts = {"nvidia.com/gpu": str(number)}
    await cluster.client.patch(
        NODES, name, {"status": {"capacity": amounts, "allocatable": amounts}}, subresource="status"
    )
    return name


async def create(cluster: Cluster, name: str, fraction: str = "", *, gpu: str = "") -> None:
    """A gang of one, with a part of a GPU or a whole one."""
    await cluster.client.create(
        POD_GROUPS, {"metadata": {"name": name}, "spec": {"minMember": 1}}, namespace=cluster.namespace
    )
    annotations = {GROUP_NAME: name}
    container: dict[str, Any] = {"name": "main", "image": "example/main"}
    if fraction:
        annotations |= {"gpu-fraction": fraction, CONFIG_MAP: f"{name}-gpu"}
        taken = {"configMapKeyRef": {"name": f"{name}-gpu", "key": VISIBLE}}
        container["env"] = [{"name": VISIBLE, "valueFrom": taken}]
    else:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpu}}
    spec = {"schedulerName": "volcano", "containers": [container], "terminationGracePeriodSeconds": 0}
    metadata = {"name": f"{name}-0", "annotations": annotations}
    await cluster.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=cluster.namespace)


async def visible_gpu(cluster: Cluster, name: str) -> str:
    found = await cluster.client.get(CONFIG_MAPS, f"{name}-gpu", namespace=cluster.namespace)
    assert [owner.name for owner in found.metadata.owner_references or ()] == [f"{name}-0"]
    return (found.data or {})[VISIBLE]


async def holders(cluster: Cluster) -> list[str]:
    return sorted(each.metadata.name for each in (await cluster.client.list(PODS, namespace=DEFAULT_NAMESPACE)).items)


@pytest.mark.parametrize("mode", MODES)
async def test_two_pods_share_a_gpu_until_both_end(plane: ControlPlane, mode: str) -> None:
    async with sharing_cluster(plane, mode) as cluster:
        node = await give_gpus(cluster, 1)
        await create(cluster, "one", "0.5")
        await create(cluster, "two", "0.5")
        await cluster.until_phase("one", "Running")
        await cluster.until_phase("two", "Running")
        assert await cluster.nodes_of("one") == await cluster.nodes_of("two") == [node]
        [holder] = await holders(cluster)
        assert (
            await visible_gpu(cluster, "one")
            == await visible_gpu(cluster, "two")
            == f"GPU-fake-{holder.rpartition('-')[2]}"
        )
        await create(cluster, "three", "0.5")
        await cluster.until_message("three", "nvidia.com/gpu")
        await create(cluster, "whole", gpu="1")
        await cluster.until_message("whole", "nvidia.com/gpu")
        for name in ("one", "two", "three"):
            await cluster.client.delete(PODS, f"{name}-0", namespace=cluster.namespace, grace_period=0)
        await cluster.until_phase("whole", "Running")
        assert await holders(cluster) == []


async def test_pod_without_config_map_is_not_bound(plane: ControlPlane) -> None:
    async with sharing_cluster(plane) as cluster:
        await give_gpus(cluster, 1)
        await cluster.client.create(
            CONFIG_MAPS, {"metadata": {"name": "one-gpu"}, "data": {"mine": "yes"}}, namespace=cluster.namespace
        )
        await create(cluster, "one", "0.5")

        async def failed() -> bool:
            events = await cluster.client.list(EVENTS, namespace=cluster.namespace)
            return any("does not belong to pod" in (each.message or "") for each in events.items)

        await cluster.until(failed, "the pod reports the foreign ConfigMap")
        await cluster.client.delete(CONFIG_MAPS, "one-gpu", namespace=cluster.namespace)
        await cluster.until_phase("one", "Running")
