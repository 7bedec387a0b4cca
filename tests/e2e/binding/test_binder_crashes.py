"""A binder is killed before and after every kind of write, and the next one continues.

Each process dies at its own point, in the middle of a request of its own, and meets what those before it left behind.
When the last one has finished, no pod is bound twice, no node is overcommitted, every
gang is bound whole or not at all, and nothing stays reserved.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stromboli.binding.process.crash_point_client import VARIABLE
from stromboli.binding.requests.placements import BOUND_BY
from stromboli.core.model.devices.shared_devices import NODE_LOCK
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED, UNWOUND, BindRequest
from stromboli.kube.objects.catalogue import (
    BIND_REQUESTS,
    CLAIMS,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    VOLUMES,
)
from stromboli.kube.objects.storage import SELECTED_NODE
from testbed.plane import ControlPlane
from tests.e2e.environment.processes import DEADLINE, Ground, ground
from tests.integration.processes.conftest import Command

#: Before and after these writes processes are killed, by the test in which they are made. A test of the binder
#: compares them with the writes that its code makes.
KILLED = {
    "bound": ("create pods/binding", "patch bindrequests/status", "patch pods/status", "create events"),
    "unwound": ("create pods/eviction", "patch bindrequests/status"),
    "volumes": ("patch persistentvolumeclaims", "patch persistentvolumes"),
    "devices": ("patch resourceclaims", "patch resourceclaims/status"),
    "locked": ("patch nodes",),
    "repeated-events": ("patch events",),
}
LOCK = "example.com/lock"
#: The second binding of a gang, so that it is half bound.
TIMES = {"create pods/binding": 2}


class Place(Ground):
    """An environment in which the test writes requests, and binders execute them."""

    def bind(self, *arguments: str, dies_at: str = "") -> Command:
        environment = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.plane.kubeconfig_of("binder")),
            "STROMBOLI_MASTER": self.proxy.url,
            "STROMBOLI_LEADER_ELECT": "false",
            VARIABLE: dies_at,
        }
        command = Command(
            "binder", "--event-qps=0", "--min-retry-delay=50ms", "--listen-address=", "--healthz-address=", *arguments,
            environment=environment, folder=self.folder,
        )  # fmt: skip
        self._commands.append(command)
        return command

    async def request(
        self, name: str, nodes: Mapping[str, str], facts: Mapping[str, Any] | None = None, **spec: Any
    ) -> None:
        pods = {pod.metadata.name: pod.metadata.uid for pod in await self.pods()}
        members = [
            {"podName": pod, "podUID": pods[pod], "selectedNode": node, **(facts or {})} for pod, node in nodes.items()
        ]
        body = {"scheduler": self.name, "epoch": 1, "minMember": len(members), "pods": members, **spec}
        await self.client.create(BIND_REQUESTS, {"metadata": {"name": name}, "spec": body}, namespace=self.name)

    async def gang(self, name: str, node: str, size: int = 3, **facts: Any) -> None:
        """Pods and the request that binds them to a node."""
        await asyncio.gather(*(self.create_pod(f"{name}-{place}") for place in range(size)))
        await self.request(name, {f"{name}-{place}": node for place in range(size)}, **facts)

    async def requests(self) -> dict[str, BindRequest]:
        return {each.metadata.name: each for each in (await self.client.list(BIND_REQUESTS, namespace=self.name)).items}

    async def until_settled(self) -> dict[str, BindRequest]:
        deadline = time.monotonic() + DEADLINE
        while open_ones := [
            each for each in (await self.requests()).values() if each.status.phase not in (SUCCEEDED, FAILED)
        ]:
            assert time.monotonic() < deadline, f"timed out: {open_ones}\n{self.logs}"
            await asyncio.sleep(0.05)
        return await self.requests()

    async def until_message(self) -> None:
        """Wait until every pod has the right condition."""
        deadline = time.monotonic() + DEADLINE
        while wrong := [pod.metadata.name for pod in await self.pods() if not _has_right_condition(pod)]:
            assert time.monotonic() < deadline, f"timed out: wrong conditions of {wrong}\n{self.logs}"
            await asyncio.sleep(0.05)


def _has_right_condition(pod: Any) -> bool:
    said = [c.status for c in pod.status.conditions or () if c.type == "PodBound"]
    return said == ["True" if pod.spec.node_name else "False"]


@pytest.fixture
async def place(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Place]:
    async with ground(plane, tmp_path, Place) as made:
        assert isinstance(made, Place)
        try:
            yield made
        finally:
            path = BIND_REQUESTS.path(namespace=made.name)
            with contextlib.suppress(ApiError):
                await made.client.request("DELETE", path, body=b"{}")


def deaths(test: str) -> list[str]:
    return [f"{moment} {write}" for write in KILLED[test] for moment in ("before", "after")]


def dies(command: Command) -> None:
    assert command.ends() == -signal.SIGKILL, command.output


async def test_members_are_bound(place: Place) -> None:
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    for number, point in enumerate(deaths("bound")):
        await place.gang(f"gang-{number}", node)
        times = TIMES.get(point.partition(" ")[2], 1)
        dies(place.bind(dies_at=f"{point}#{times}"))
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {SUCCEEDED}, place.logs
    assert await place.bound() == 3 * len(found)
    await place.until_message()
    assert await place.faults() == [], place.logs


async def test_gangs_are_unwound(place: Place) -> None:
    """Two members are bound, and the node of the third is gone: both are evicted."""
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    for number, point in enumerate(deaths("unwound")):
        name = f"gang-{number}"
        await asyncio.gather(*(place.create_pod(f"{name}-{which}") for which in range(3)))
        uids = {pod.metadata.name: pod.metadata.uid for pod in await place.pods()}
        for which in range(2):
            pod = f"{name}-{which}"
            await place.client.bind(place.name, pod, uids[pod], node, annotations={BOUND_BY: name})
        await place.request(name, {f"{name}-0": node, f"{name}-1": node, f"{name}-2": "no-such-node"})
        dies(place.bind(dies_at=point))
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {FAILED}, place.logs
    phases = [[member.phase for member in each.status.pods] for each in found.values()]
    assert phases == [[UNWOUND, UNWOUND, FAILED]] * len(found)
    assert await place.bound() == 0
    assert len(await place.pods()) == len(found)
    await place.until_message()


async def test_volume_preparations_are_rolled_back(place: Place) -> None:
    """No provisioner runs, so the pods are not bound in time: claims and volumes are released."""
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    names: list[str] = []
    await place.client.create(STORAGE_CLASSES, _class(place.name))
    for number, point in enumerate(deaths("volumes")):
        name = f"{place.name}-gang-{number}"
        names.append(name)
        await place.create_pod(f"{name}-0")
        await place.client.create(CLAIMS, _claim(name, place.name), namespace=place.name)
        is_there = "persistentvolumes" in point
        if is_there:
            await place.client.create(VOLUMES, _volume(name, place.name))
        chosen = {"volumes": [{"claim": name, "volume": name if is_there else ""}], "volumeSeconds": 1}
        await place.request(name, {f"{name}-0": node}, chosen, deadlineSeconds=1)
        dies(place.bind(dies_at=point))
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {FAILED}, place.logs
    claims = (await place.client.list(CLAIMS, namespace=place.name)).items
    assert [each.metadata.name for each in claims if SELECTED_NODE in (each.metadata.annotations or {})] == []
    volumes = [each for each in (await place.client.list(VOLUMES)).items if each.metadata.name in names]
    assert [each.spec.claim_ref for each in volumes] == [None] * len(volumes)
    assert await place.bound() == 0
    for each in volumes:
        await place.client.delete(VOLUMES, each.metadata.name)
    await place.client.delete(STORAGE_CLASSES, place.name)


async def test_claims_get_their_devices(place: Place) -> None:
    """Each claim is reserved once for its pod; a claim without chosen devices leaves nothing behind."""
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    points = deaths("devices")
    for number, point in enumerate(points):
        await _claiming(place, f"gang-{number}")
        chosen = {"resourceClaimAllocations": [{"name": "gpu", "allocation": _devices(number)}]}
        await place.request(f"gang-{number}", {f"gang-{number}-0": node}, chosen)
        dies(place.bind(dies_at=point))
    await _claiming(place, "nothing")
    await place.request("nothing", {"nothing-0": node}, backoffLimit=1)
    place.bind()
    found = await place.until_settled()
    phases = {name: each.status.phase for name, each in found.items()}
    assert phases == {**{f"gang-{number}": SUCCEEDED for number in range(len(points))}, "nothing": FAILED}, place.logs
    claims = {
        each.metadata.name: each for each in (await place.client.list(RESOURCE_CLAIMS, namespace=place.name)).items
    }
    users = {name: [user.name for user in each.status.reserved_for or ()] for name, each in claims.items()}
    assert users == {**{f"gang-{number}": [f"gang-{number}-0"] for number in range(len(points))}, "nothing": []}
    assert claims["nothing"].status.allocation is None
    for name in claims:
        await place.client.patch(RESOURCE_CLAIMS, name, {"metadata": {"finalizers": None}}, namespace=place.name)
        await place.client.delete(RESOURCE_CLAIMS, name, namespace=place.name)


@pytest.mark.only("embedded", because="the permission to lock nodes is not installed; administrators grant it")
async def test_nodes_are_locked(place: Place) -> None:
    """The lock of a dead process expires after a while; here it is removed."""
    await place.create_nodes(2, 30)
    nodes = [node.metadata.name for node in await place._nodes()]
    for number, point in enumerate(deaths("locked")):
        facts = {"annotations": {NODE_LOCK: LOCK}}
        await place.gang(f"gang-{number}", nodes[number], 1, facts=facts)
        dies(place.bind(dies_at=point))
    for name in nodes:
        await place.client.patch(NODES, name, {"metadata": {"annotations": {LOCK: None}}})
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {SUCCEEDED}, place.logs
    assert await place.faults() == []


async def test_inherited_request_reports_missing_conditions(place: Place) -> None:
    """The node is cordoned: the same event repeats, and its count is written when the process stops."""
    await place.create_nodes(1, 30)
    node = (await place._nodes())[0].metadata.name
    await place.client.patch(NODES, node, {"spec": {"unschedulable": True}})
    for number, point in enumerate(deaths("repeated-events")):
        await place.gang(f"gang-{number}", node, 1, backoffLimit=1000)
        command = place.bind("--max-retry-delay=50ms", dies_at=point)
        deadline = time.monotonic() + DEADLINE
        while (await place.requests())[f"gang-{number}"].status.failed_attempts < 3:
            assert time.monotonic() < deadline, place.logs
            await asyncio.sleep(0.05)
        command.signal(signal.SIGTERM)
        dies(command)
    await place.client.patch(NODES, node, {"spec": {"unschedulable": None}})
    place.bind()
    found = await place.until_settled()
    assert {each.status.phase for each in found.values()} == {SUCCEEDED}, place.logs
    await place.until_message()


async def _claiming(place: Place, name: str) -> None:
    """A claim, and a pod that uses it."""
    request = {"name": "r", "exactly": {"deviceClassName": "gpus.example.com"}}
    spec: dict[str, Any] = {"devices": {"requests": [request]}}
    await place.client.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace=place.name)
    spec = {
        "containers": [{"name": "main", "image": "example/main"}], "schedulerName": place.name,
        "terminationGracePeriodSeconds": 0, "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
    }  # fmt: skip
    await place.client.create(PODS, {"metadata": {"name": f"{name}-0"}, "spec": spec}, namespace=place.name)


def _devices(number: int) -> dict[str, Any]:
    return {
        "devices": {
            "results": [{"request": "r", "driver": "example.com", "pool": "a", "device": f"gpu-{number}"}]
        }
    }  # fmt: skip


def _class(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name}, "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"
    }  # fmt: skip


def _claim(name: str, storage_class: str) -> dict[str, Any]:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": storage_class}
    return {"metadata": {"name": name}, "spec": spec}


def _volume(name: str, storage_class: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": storage_class,
        "hostPath": {"path": "/nowhere"},
    }  # fmt: skip
    return {"metadata": {"name": name}, "spec": spec}
