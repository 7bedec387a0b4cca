"""Behaviour of an API server that the scheduler relies on, checked on the server under test.

It holds on a real one; the embedded one must behave alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import CRDS, DISRUPTION_BUDGETS, EVENTS, NAMESPACES, POD_GROUPS, PODS, QUEUES
from stromboli.kube.objects.resources import Resource
from testbed.plane import ControlPlane

KUBECTL = Path(sys.executable).parent / "kubectl"
DEADLINE = 60.0
_NUMBERS = itertools.count(1)

Document = dict[str, Any]


class Server:
    """The server, accessed through the client and through kubectl, in a namespace of its own."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._kubeconfig = plane.kubeconfig

    async def create_pod(self, name: str, *, label: str = "", **spec: Any) -> Document:
        """Create a pod that no scheduler is responsible for."""
        pod = {
            "metadata": {"name": name, "labels": {"app": label}, "annotations": {"example.com/before": "yes"}},
            "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "example/main"}], **spec},
        }
        await self.client.create(PODS, pod, namespace=self.namespace)
        return await self.pod(name)

    async def pod(self, name: str) -> Document:
        return await self.read(PODS.path(namespace=self.namespace, name=name))

    async def read(self, path: str) -> Document:
        """The whole object, not only the fields that the structs cover."""
        document: Document = msgspec.json.decode(await self.client.request("GET", path))
        return document

    async def bind(self, pod: Document, node: str, **facts: Any) -> None:
        await self.client.bind(self.namespace, pod["metadata"]["name"], pod["metadata"]["uid"], node, **facts)

    async def evict(self, name: str) -> None:
        await self.client.evict(self.namespace, name, (await self.pod(name))["metadata"]["uid"], grace_period=0)

    async def kubectl(self, *arguments: str) -> str:
        command = [str(KUBECTL), f"--kubeconfig={self._kubeconfig}", f"--namespace={self.namespace}", *arguments]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False, timeout=DEADLINE
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout)


@pytest.fixture
async def server(plane: ControlPlane) -> AsyncIterator[Server]:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        namespace = f"facts-{next(_NUMBERS)}"
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield Server(plane, client, namespace)
        resources: tuple[Resource[Any], ...] = (PODS, POD_GROUPS, DISRUPTION_BUDGETS)
        for resource in resources:
            for entry in (await client.list(resource, namespace=namespace)).items:
                with contextlib.suppress(ApiError):
                    await client.delete(resource, entry.metadata.name, namespace=namespace, grace_period=0)


def conditions(pod: Document) -> dict[str, Document]:
    return {condition["type"]: condition for condition in pod.get("status", {}).get("conditions", ())}


# -- binding ----------------------------------------------------------------------------------------------------------


async def test_a_binding_brings_annotations_and_labels_in_the_same_write(server: Server) -> None:
    pod = await server.create_pod("bound")
    watched = PODS.path(namespace=server.namespace)
    query = {"watch": "true", "resourceVersion": pod["metadata"]["resourceVersion"]}
    async with server.client.stream(watched, query, idle_seconds=DEADLINE) as lines:
        annotations = {"stromboli.dev/commit": "0.a.1.0/2", "example.com/gpu": "3"}
        await server.bind(pod, "some-node", annotations=annotations)
        first: Document = msgspec.json.decode(await anext(lines))["object"]
    assert first["spec"]["nodeName"] == "some-node"
    assert first["metadata"]["annotations"] == {"example.com/before": "yes", **annotations}
    assert conditions(first)["PodScheduled"]["status"] == "True"


async def test_a_pod_with_gates_cannot_be_bound(server: Server) -> None:
    pod = await server.create_pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    with pytest.raises(ApiError, match=r"has non-empty \.spec\.schedulingGates") as refused:
        await server.bind(pod, "some-node")
    assert refused.value.is_conflict
    assert "SchedulingGated" in await server.kubectl("get", "pod", "gated")
    assert conditions(await server.pod("gated"))["PodScheduled"]["reason"] == "SchedulingGated"


async def test_pod_can_be_bound_to_an_unknown_node(server: Server) -> None:
    pod = await server.create_pod("lost")
    await server.bind(pod, "no-such-node")
    assert (await server.pod("lost"))["spec"]["nodeName"] == "no-such-node"


async def test_a_pod_is_bound_once_and_by_its_uid(server: Server) -> None:
    pod = await server.create_pod("once")
    stranger = {"metadata": {**pod["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}}
    with pytest.raises(ApiError) as other:
        await server.bind(stranger, "some-node")
    assert other.value.is_conflict
    await server.bind(pod, "some-node")
    with pytest.raises(ApiError, match="already assigned to node") as again:
        await server.bind(pod, "some-node")
    assert again.value.is_conflict


# -- conditions of a pending pod --------------------------------------------------------------------------------------


async def waits(server: Server, name: str, **status: Any) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/4 nodes are available.",
    }
    await set_status(server, name, conditions=[condition], **status)


async def set_status(server: Server, name: str, **status: Any) -> None:
    await server.client.patch(
        PODS, name, {"status": status}, namespace=server.namespace, subresource="status", kind=PatchKind.STRATEGIC
    )


async def test_a_condition_is_merged_by_its_type(server: Server) -> None:
    await server.create_pod("waits")
    await set_status(server, "waits", conditions=[{"type": "example.com/ready", "status": "True"}])
    await waits(server, "waits")
    found = conditions(await server.pod("waits"))
    assert found.keys() >= {"example.com/ready", "PodScheduled"}
    assert (found["PodScheduled"]["reason"], found["PodScheduled"]["message"]) == (
        "Unschedulable",
        "0/4 nodes are available.",
    )


async def test_a_nominated_node_is_shown_and_cleared_at_binding(server: Server) -> None:
    pod = await server.create_pod("hopes")
    await waits(server, "hopes", nominatedNodeName="wished-for")
    table = (await server.kubectl("get", "pod", "hopes", "-o", "wide")).splitlines()
    place = table[0].index("NOMINATED NODE")
    assert table[1][place:].startswith("wished-for")
    assert "PodScheduled" in await server.kubectl("describe", "pod", "hopes")
    await server.bind(pod, "another-node")
    bound = await server.pod("hopes")
    assert "nominatedNodeName" not in bound["status"]
    scheduled = conditions(bound)["PodScheduled"]
    assert (scheduled["status"], scheduled.get("reason"), scheduled.get("message")) == ("True", None, None)


# -- evictions --------------------------------------------------------------------------------------------------------


async def test_a_budget_protects_what_runs_and_not_what_waits_on_its_node(server: Server) -> None:
    for name in ("runs", "starts"):
        await server.bind(await server.create_pod(name, label="kept"), "some-node")
    await set_status(server, "runs", phase="Running", conditions=[{"type": "Ready", "status": "True"}])
    budget = {"metadata": {"name": "keep"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "kept"}}}}
    await server.client.create(DISRUPTION_BUDGETS, budget, namespace=server.namespace)
    counted = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 2}
    await server.client.patch(
        DISRUPTION_BUDGETS, "keep", {"status": {**counted, "expectedPods": 2}}, namespace=server.namespace,
        subresource="status",
    )  # fmt: skip
    with pytest.raises(ApiError, match="would violate the pod's disruption budget") as refused:
        await server.evict("runs")
    assert refused.value.is_throttled
    await server.evict("starts")
    assert "deletionTimestamp" not in (await server.pod("runs"))["metadata"]


# -- Volcano's kinds --------------------------------------------------------------------------------------------------


async def test_a_group_has_no_status_of_its_own(server: Server) -> None:
    group = {"metadata": {"name": "group"}, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
    await server.client.create(POD_GROUPS, group, namespace=server.namespace)
    path = POD_GROUPS.path(namespace=server.namespace, name="group")
    created = await server.read(path)
    assert created["status"]["phase"] == "Pending", "operators send a phase when they create"
    with pytest.raises(ApiError) as missing:
        await server.client.patch(
            POD_GROUPS, "group", {"status": {"phase": "Running"}}, namespace=server.namespace, subresource="status"
        )
    assert missing.value.is_missing
    await server.client.patch(POD_GROUPS, "group", {"status": {"phase": "Inqueue"}}, namespace=server.namespace)
    changed = await server.read(path)
    assert changed["status"]["phase"] == "Inqueue"
    assert changed["metadata"]["generation"] == created["metadata"]["generation"] + 1


async def test_a_queue_has_a_status_of_its_own(server: Server) -> None:
    name = f"queue-of-{server.namespace}"
    queue = {"metadata": {"name": name}, "spec": {"weight": 1}, "status": {"state": "Closed"}}
    await server.client.create(QUEUES, queue)
    try:
        created = await server.read(QUEUES.path(name=name))
        assert "state" not in created.get("status", {}), "a status is not taken when a queue is created"
        await server.client.patch(QUEUES, name, {"status": {"state": "Closing"}})
        assert "state" not in (await server.read(QUEUES.path(name=name))).get("status", {})
        both = {"status": {"state": "Open"}, "spec": {"weight": 9}}
        await server.client.patch(QUEUES, name, both, subresource="status")
        changed = await server.read(QUEUES.path(name=name))
    finally:
        await server.client.delete(QUEUES, name)
    assert (changed["status"]["state"], changed["spec"]["weight"]) == ("Open", 1)
    assert changed["metadata"]["generation"] == created["metadata"]["generation"]


async def test_custom_kinds_know_no_strategic_merge(server: Server) -> None:
    group = {"metadata": {"name": "plain"}, "spec": {"minMember": 1}}
    await server.client.create(POD_GROUPS, group, namespace=server.namespace)
    with pytest.raises(ApiError) as refused:
        await server.client.patch(
            POD_GROUPS, "plain", {"spec": {"minMember": 2}}, namespace=server.namespace, kind=PatchKind.STRATEGIC
        )
    assert refused.value.status == 415


# -- events -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pod", "podgroups.scheduling.volcano.sh"])
async def test_an_event_about_an_object_is_shown_by_describe(kind: str, server: Server) -> None:
    pod = await server.create_pod("pending")
    group = {"metadata": {"name": "pending"}, "spec": {"minMember": 1}}
    created = await server.client.create(POD_GROUPS, group, namespace=server.namespace)
    about = {
        "pod": ("v1", "Pod", pod["metadata"]["uid"]),
        "podgroups.scheduling.volcano.sh": (POD_GROUPS.api_version, "PodGroup", created.metadata.uid),
    }[kind]
    await server.client.create(EVENTS, event(server.namespace, *about), namespace=server.namespace)
    described = await server.kubectl("describe", kind, "pending")
    assert "text of the event" in described
    assert "Unschedulable" in described
    events = await server.kubectl("events", "--for", f"{kind}/pending")
    assert "text of the event" in events


def event(namespace: str, version: str, kind: str, uid: str) -> Document:
    return {
        "metadata": {"generateName": "pending-"},
        "eventTime": timestamps.now(),
        "reportingComponent": "stromboli",
        "reportingInstance": "stromboli-0",
        "action": "Scheduling",
        "reason": "Unschedulable",
        "type": "Warning",
        "involvedObject": {"apiVersion": version, "kind": kind, "name": "pending", "namespace": namespace, "uid": uid},
        "message": "text of the event",
    }


# -- names ------------------------------------------------------------------------------------------------------------


async def test_the_beginning_of_a_name_must_be_the_beginning_of_a_name(server: Server) -> None:
    named = {"spec": {"minMember": 1}}
    made = await server.client.create(
        POD_GROUPS, {**named, "metadata": {"generateName": "begun-"}}, namespace=server.namespace
    )
    assert made.metadata.name.startswith("begun-")
    with pytest.raises(ApiError, match=r"metadata\.generateName: Invalid value: \"begun\.\"") as refused:
        await server.client.create(
            POD_GROUPS, {**named, "metadata": {"generateName": "begun."}}, namespace=server.namespace
        )
    assert refused.value.status == 422


# -- definitions of kinds ---------------------------------------------------------------------------------------------

#: A schema that schema generators produce, and the server's error.
REFUSED_SCHEMAS: Mapping[str, tuple[Document, str]] = {
    "a reference": ({"type": "object", "properties": {"spec": {"$ref": "#/definitions/Spec"}}}, "$ref"),
    "a type inside of anyOf": (
        {"type": "object", "properties": {"spec": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        "must be empty to be structural",
    ),
    "a field without a type": ({"type": "object", "properties": {"spec": {"description": "?"}}}, "must not be empty"),
}


@pytest.mark.parametrize(("schema", "words"), REFUSED_SCHEMAS.values(), ids=REFUSED_SCHEMAS)
async def test_a_schema_must_be_structural(schema: Document, words: str, server: Server) -> None:
    names = {"plural": "dreams", "singular": "dream", "kind": "Dream", "listKind": "DreamList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": CRDS.api_version,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "dreams.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    with pytest.raises(ApiError) as refused:
        await server.client.request("POST", CRDS.path(), params={"dryRun": "All"}, body=msgspec.json.encode(definition))
    assert refused.value.status == 422
    assert words in refused.value.message


#: An amount of a resource, and the server's error.
AMOUNTS: Mapping[str, tuple[Any, str]] = {
    "an integer": (2, ""),
    "a quantity": ("1.5Gi", ""),
    "a fraction": (1.5, "must be of type integer,string"),
    "a boolean": (True, "must be of type integer,string"),
    "a map": ({"cpu": 1}, "must be of type integer,string"),
    "a word": ("much", "should match"),
}


@pytest.mark.parametrize(("amount", "words"), AMOUNTS.values(), ids=AMOUNTS)
async def test_amounts_are_integers_or_quantities(amount: Any, words: str, server: Server) -> None:
    group = {"metadata": {"generateName": "amount-"}, "spec": {"minMember": 1, "minResources": {"cpu": amount}}}
    if not words:
        await server.client.create(POD_GROUPS, group, namespace=server.namespace)
        return
    with pytest.raises(ApiError, match=re.escape(words)) as refused:
        await server.client.create(POD_GROUPS, group, namespace=server.namespace)
    assert refused.value.status == 422
