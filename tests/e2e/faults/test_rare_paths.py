"""Rare paths that must work with the installed permissions and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.catalogue import EVENTS, LEASES, PODS, QUEUES
from stromboli.kube.objects.event import ObjectReference
from testbed.fault_proxy import FaultProxy
from testbed.plane import NAMESPACE, ControlPlane
from testbed.proxy_faults import Answer, Match
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.e2e.environment.faulty_cluster import STREAMED_LISTS
from tests.e2e.environment.permissions import admit
from tests.integration.processes.conftest import Command

REFUSED = Answer(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane.url) as between:
        yield between


async def test_a_server_that_cannot_stream_lists_is_asked_for_pages(plane: ControlPlane, proxy: FaultProxy) -> None:
    proxy.faults.add(STREAMED_LISTS, REFUSED, times=None)
    async with running_cluster(plane, proxy.url) as cluster:
        await cluster.create_gang("gang", 3, "1")
        await cluster.until_phase("gang", "Running")
    assert proxy.seen(Match("GET", "/pods.*limit=")), "pods were listed page by page"


@pytest.mark.parametrize(
    ("written", "read", "size"),
    [("/podgroups/gang", "/podgroups/gang$", 2), ("/queues/default/status", "/queues/default$", 3)],
    ids=["the status of a group", "the sums of a queue"],
)
async def test_conflicting_write_is_resolved_by_reading_the_object_again(
    plane: ControlPlane, proxy: FaultProxy, written: str, read: str, size: int
) -> None:
    """Several conflicts, since the controllers write to queues as well."""
    conflict = Answer(409, "Conflict", "the object has been modified")
    proxy.faults.add(Match("PATCH", written), conflict, times=3)
    async with running_cluster(plane, proxy.url) as cluster:
        await cluster.create_gang("gang", size, "1")
        await cluster.until_phase("gang", "Running")

        async def reached() -> bool:
            queue = await cluster.client.get(QUEUES, "default")
            return (queue.status.allocated or {}).get("cpu") == str(size)

        await cluster.until(reached, "the queue status has its allocated amounts")
    assert proxy.seen(Match("GET", read)), "the object was read again"


async def test_what_happens_again_is_counted_on_one_event(cluster: Cluster) -> None:
    account = load_kubeconfig(str(cluster.plane.kubeconfig_of("scheduler")))
    await cluster.create_pod("subject", "64")
    pod = (await cluster.pods())["subject"]
    regarding = ObjectReference(
        api_version="v1", kind="Pod", namespace=cluster.namespace, name="subject", uid=pod.metadata.uid
    )
    async with Client(account) as client:
        recorder = EventRecorder(client, "stromboli", repeat_seconds=0.0)
        for _ in range(3):
            recorder.record(regarding, type="Warning", reason="Repeated", note="again and again")
            assert await recorder.flush(30.0)
    events = (await cluster.client.list(EVENTS, namespace=cluster.namespace)).items
    (repeated,) = [event for event in events if event.reason == "Repeated"]
    assert repeated.count == 3
    assert (repeated.first_timestamp or "") <= (repeated.last_timestamp or "")


async def test_the_pods_of_a_daemon_set_share_a_group(cluster: Cluster) -> None:
    path = f"/apis/apps/v1/namespaces/{cluster.namespace}/daemonsets"
    labels = {"app": "agent"}
    template: dict[str, Any] = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example/main"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    annotations = {"scheduling.volcano.sh/group-min-member": "2"}
    made = await cluster.create_raw(path, {"metadata": {"name": "agent", "annotations": annotations}, "spec": spec})
    owner = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": made["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    for place in range(2):
        metadata = {"name": f"agent-{place}", "ownerReferences": [owner]}
        pod = {"metadata": metadata, "spec": {**template["spec"], "schedulerName": "stromboli"}}
        await cluster.client.create(PODS, pod, namespace=cluster.namespace)
    name = f"podgroup-{made['metadata']['uid']}"
    await cluster.until_phase(name, "Running")
    assert (await cluster.group(name)).spec.min_member == 2


async def test_queues_close_and_open_with_the_queue_above_them(cluster: Cluster) -> None:
    for name, parent in (("upper", ""), ("lower", "upper")):
        spec = {"weight": 1, "parent": parent} if parent else {"weight": 1}
        await cluster.client.create(QUEUES, {"metadata": {"name": name}, "spec": spec})

    async def until(state: str) -> None:
        async def reached() -> bool:
            return (await cluster.client.get(QUEUES, "lower")).status.state == state

        await cluster.until(reached, f"lower is {state}")

    try:
        await until("Open")
        for state, becomes in (("Closing", "Closed"), ("Open", "Open")):
            await cluster.client.patch(QUEUES, "upper", {"status": {"state": state}}, subresource="status")
            await until(becomes)
    finally:
        for name in ("lower", "upper"):
            await cluster.client.delete(QUEUES, name)


async def test_the_controllers_work_while_they_hold_their_lease(plane: ControlPlane, tmp_path: Path) -> None:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await admit(plane, client)
        kubeconfig = str(plane.kubeconfig_of("controller"))
        environment = {"HOME": str(tmp_path), "STROMBOLI_KUBECONFIG": kubeconfig}
        place = f"--leader-elect-resource-namespace={NAMESPACE}"
        often = "--leader-elect-retry-period=200ms"
        command = Command(
            "controller",
            place,
            often,
            "--listen-address=",
            "--healthz-address=",
            environment=environment,
            folder=tmp_path,
        )
        try:
            await asyncio.to_thread(command.wait_for_output, "leadership acquired")
            taken = await client.get(LEASES, "stromboli-controller", namespace=NAMESPACE)
            assert taken.spec.holder_identity
            async with asyncio.timeout(30.0):
                while await client.get(LEASES, "stromboli-controller", namespace=NAMESPACE) == taken:
                    await asyncio.sleep(0.05)
        finally:
            command.kill()
