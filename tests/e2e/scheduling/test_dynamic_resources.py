"""Devices that drivers offer are given to claims together with a node, and written down before the pod is bound."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import (
    DEVICE_CLASSES,
    NODES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from stromboli.kube.objects.claims import EXTENDED_CLAIM, PROTECTION, ResourceClaim
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.manifests.resource_claims import (
    attempted_claim,
    claim_spec,
    claiming,
    device,
    device_class,
    exactly,
    offer,
)


class Devices:
    """A cluster in which the test acts as the driver; classes and slices have names of this test alone."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.namespace = cluster.namespace
        self.driver = f"{cluster.namespace}.example.com"

    async def nodes(self) -> list[str]:
        return sorted(node.metadata.name for node in (await self.client.list(NODES)).items)

    @property
    def resource(self) -> str:
        """The extended resource of the class."""
        return f"{self.driver}/gpu"

    async def create_class(self) -> None:
        selector = f'device.driver == "{self.driver}"'
        body = device_class(self.namespace, selector, extendedResourceName=self.resource)
        await self.client.create(DEVICE_CLASSES, _bare(body))

    async def offer(self, node: str | None, *devices: Any, **facts: Any) -> None:
        body = offer(node, *devices, driver=self.driver, name=f"{self.namespace}-{node or 'net'}", **facts)
        await self.client.create(RESOURCE_SLICES, _bare(body))

    def spec(self, *requests: dict[str, Any]) -> dict[str, Any]:
        return claim_spec(*(requests or (exactly(of=self.namespace),)))

    async def create_claim(self, name: str, spec: dict[str, Any] | None = None) -> None:
        body = {"metadata": {"name": name}, "spec": spec or self.spec()}
        await self.client.create(RESOURCE_CLAIMS, body, namespace=self.namespace)

    async def create_template(self, spec: dict[str, Any] | None = None) -> None:
        body = {"metadata": {"name": "each"}, "spec": {"spec": spec or self.spec()}}
        await self.client.create(RESOURCE_CLAIM_TEMPLATES, body, namespace=self.namespace)

    async def create_gang(self, name: str, size: int, claims: list[dict[str, Any]], **amounts: str) -> None:
        group = {"metadata": {"name": name}, "spec": {"minMember": size}}
        await self.client.create(POD_GROUPS, group, namespace=self.namespace)
        for place in range(size):
            resources = {"requests": {"cpu": "1", **amounts}, "limits": amounts}
            container = {"name": "main", "image": "example/main", "resources": resources}
            spec = {"schedulerName": "volcano", "containers": [container], "resourceClaims": claims}
            metadata = {"name": f"{name}-{place}", "annotations": {GROUP_NAME: name}}
            await self.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=self.namespace)

    async def claims(self) -> dict[str, ResourceClaim]:
        listing = await self.client.list(RESOURCE_CLAIMS, namespace=self.namespace)
        return {claim.metadata.name: claim for claim in listing.items}

    async def claim_of(self, pod: str) -> ResourceClaim:
        """The claim that was made for a pod."""
        statuses = (await self.cluster.pods())[pod].status.resource_claim_statuses or []
        return (await self.claims())[statuses[0].resource_claim_name or ""]

    async def clear(self) -> None:
        for name in await self.claims():
            with contextlib.suppress(ApiError):
                body = {"metadata": {"finalizers": None}}
                await self.client.patch(RESOURCE_CLAIMS, name, body, namespace=self.namespace)
                await self.client.delete(RESOURCE_CLAIMS, name, namespace=self.namespace)
        for entry in (await self.client.list(RESOURCE_SLICES)).items:
            if entry.spec.driver == self.driver:
                await self.client.delete(RESOURCE_SLICES, entry.metadata.name)
        with contextlib.suppress(ApiError):
            await self.client.delete(DEVICE_CLASSES, self.namespace)


def _bare(document: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": document["metadata"]["name"]}, "spec": document["spec"]}


def given(claim: ResourceClaim) -> list[tuple[str | None, str | None]]:
    """Pool and name of each device that a claim has."""
    devices = claim.status.allocation.devices if claim.status.allocation else None
    return [(each.pool, each.device) for each in (devices.results if devices else None) or ()]


def users(claim: ResourceClaim) -> list[str | None]:
    return [user.name for user in claim.status.reserved_for or ()]


@pytest.fixture
async def devices(plane: ControlPlane) -> AsyncIterator[Devices]:
    async with running_cluster(plane) as cluster:
        devices = Devices(cluster)
        await devices.create_class()
        try:
            yield devices
        finally:
            await devices.clear()


async def test_every_member_of_a_gang_gets_a_device_of_its_own_and_it_is_written_down(devices: Devices) -> None:
    first, second, _ = await devices.nodes()
    await devices.offer(first, 2)
    await devices.offer(second, 1)
    await devices.create_template()
    await devices.create_gang("train", 3, claiming(gpu="each"))
    await devices.cluster.until_phase("train", "Running")
    pods = await devices.cluster.pods()
    claims = {name: await devices.claim_of(name) for name in pods}
    assert sorted(device for claim in claims.values() for device in given(claim)) == [
        (first, "gpu-0"), (first, "gpu-1"), (second, "gpu-0"),
    ]  # fmt: skip
    for name, claim in claims.items():
        assert [pool for pool, _ in given(claim)] == [pods[name].spec.node_name]
        assert users(claim) == [name]
        assert PROTECTION in (claim.metadata.finalizers or ())


async def test_pod_without_a_free_device_waits_until_another_pod_ends(devices: Devices) -> None:
    first, *_ = await devices.nodes()
    await devices.offer(first, 1)
    await devices.create_template()
    await devices.create_gang("early", 1, claiming(gpu="each"))
    await devices.cluster.until_phase("early", "Running")
    await devices.create_gang("late", 1, claiming(gpu="each"))
    words = f'claim "gpu", request "r": 1 device of class {devices.namespace}: too few free'
    await devices.cluster.until_message("late", words)
    await devices.client.delete(PODS, "early-0", namespace=devices.namespace, grace_period=0)
    await devices.cluster.until_phase("late", "Running")
    assert given(await devices.claim_of("late-0")) == [(first, "gpu-0")]


async def test_pods_share_a_claim_and_the_part_of_a_device_that_it_got(devices: Devices) -> None:
    node = (await devices.nodes())[1]
    await devices.offer(node, device("big", capacity={"memory": "40Gi"}, model="large"), device("other", model="small"))
    large = f'device.attributes["{devices.driver}"].model == "large"'
    await devices.create_claim("shared", devices.spec(exactly(1, large, of=devices.namespace)))
    await devices.create_gang("pair", 2, claiming("shared"))
    await devices.cluster.until_phase("pair", "Running")
    assert await devices.cluster.nodes_of("pair") == [node, node]
    claim = (await devices.claims())["shared"]
    assert given(claim) == [(node, "big")]
    assert sorted(map(str, users(claim))) == ["pair-0", "pair-1"]


async def test_a_claim_and_devices_that_come_late_are_waited_for(devices: Devices) -> None:
    node = (await devices.nodes())[2]
    await devices.create_gang("eager", 1, claiming("mine"))
    await devices.cluster.until_message("eager", 'resourceclaim "mine" not found')
    await devices.create_claim("mine")
    await devices.create_gang("next", 1, claiming("mine"))
    await devices.cluster.until_message("next", "too few there")
    await devices.offer(node, 1)
    await devices.cluster.until_phase("next", "Running")
    await devices.cluster.until_phase("eager", "Running")
    assert await devices.cluster.nodes_of("eager") == [node]


async def test_devices_of_a_class_are_an_extended_resource(devices: Devices) -> None:
    """The class provides two: one pod gets both, and its claim is deleted with it."""
    first, *_ = await devices.nodes()
    await devices.offer(first, 2)
    await devices.create_gang("early", 1, [], **{devices.resource: "2"})
    await devices.cluster.until_phase("early", "Running")
    pod = (await devices.cluster.pods())["early-0"]
    status = pod.status.extended_resource_claim_status
    assert status is not None
    [mapping] = status.request_mappings or []
    assert (mapping.container_name, mapping.resource_name) == ("main", devices.resource)
    claim = (await devices.claims())[status.resource_claim_name or ""]
    assert (given(claim), users(claim)) == ([(first, "gpu-0"), (first, "gpu-1")], ["early-0"])
    assert (claim.metadata.annotations or {})[EXTENDED_CLAIM] == "true"
    implicit = f"deviceclass.resource.kubernetes.io/{devices.namespace}"
    await devices.create_gang("late", 1, [], **{implicit: "1"})
    await devices.cluster.until_message("late", f"extended resource {implicit}: 1 device")
    await devices.client.delete(PODS, "early-0", namespace=devices.namespace, grace_period=0)
    await devices.cluster.until_phase("late", "Running")

    async def is_deleted() -> bool:
        return list(await devices.claims()) != [claim.metadata.name] and len(await devices.claims()) == 1

    await devices.cluster.until(is_deleted, "the claim of the first pod is gone")


async def test_claim_of_an_earlier_attempt_with_other_requests_is_replaced(devices: Devices) -> None:
    await devices.create_gang("retried", 1, [], **{devices.resource: "2"})
    await devices.cluster.until_message("retried", devices.resource)
    claim = attempted_claim((await devices.cluster.pods())["retried-0"], devices.spec())
    name = claim["metadata"]["name"]
    await devices.client.create(RESOURCE_CLAIMS, claim, namespace=devices.namespace)
    first, *_ = await devices.nodes()
    await devices.offer(first, 2)
    await devices.cluster.until_phase("retried", "Running")
    assert given((await devices.claims())[name]) == [(first, "gpu-0"), (first, "gpu-1")]
