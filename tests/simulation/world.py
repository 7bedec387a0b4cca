"""The cluster around the processes: its objects, its users, kubelets and controllers of Kubernetes.

Users write through the network and the webhook. Kubelets and controllers act on the store at once, in ticks: they are
not what is tested.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from stromboli.admission.requests import GroupKind, Request, User
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.crds.install import crd_documents
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.local.api_server.api import ResourceRequest
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.deletion import DeleteOptions
from stromboli.local.api_server.errors import StatusError
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, StoreEntry
from stromboli.local.api_server.write_options import WriteOptions
from tests.simulation.event_loop import Process
from tests.simulation.network import Message, NetworkClient
from tests.simulation.processes import Installation
from tests.simulation.schedule import CPUS, LIMIT, NODES, TENANTS, Event
from tests.testing.manifests.builders import GROUP_NAME, pod, priority_class, queue

TICK = 0.5
#: Seconds until the webhook must have answered.
REVIEW_SECONDS = 5.0
_REVIEWED = ("pods", "podgroups", "queues")
_GROUP = "scheduling.volcano.sh"
_ROLLED_BACK = DeleteOptions.parse({"gracePeriodSeconds": 0}, {})


def gang_of(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(GROUP_NAME, ""))


@cache
def _definitions() -> list[Object]:
    return crd_documents()


class SimulatedCluster:
    """The store, and everything that is not Stromboli."""

    def __init__(self, plane: ControlPlane, chance: random.Random) -> None:
        self.plane = plane
        self.chance = chance
        #: The gangs that their users want, with the number of members, CPUs each, tenant, queue and priority.
        self.gangs: dict[str, tuple[int, int, str, str, str]] = {}
        #: Gangs that lost a bound pod, and not by Stromboli.
        self.disturbed: set[str] = set()
        self.nodes = set(NODES)
        for document in _definitions():
            self._create("apiextensions.k8s.io", "v1", "customresourcedefinitions", dict(document))
        for name in ("red", "blue"):
            self._create(_GROUP, "v1beta1", "queues", queue(name, capability={"cpu": str(LIMIT)}))
        for name, value in (("low", 1), ("high", 100)):
            self._create("scheduling.k8s.io", "v1", "priorityclasses", priority_class(name, value))
        for name in TENANTS:
            self._create("", "v1", "namespaces", {"metadata": {"name": name}})
        for name in NODES:
            self.add_node(name)

    # -- the store --------------------------------------------------------------------------------------------------

    def resource(self, group: str, version: str, plural: str) -> ServedResource:
        return self.plane.registry.named(group, version, plural)

    def _create(self, group: str, version: str, plural: str, body: Object, namespace: str = "") -> None:
        metadata = {key: value for key, value in body["metadata"].items() if key not in ("uid", "namespace")}
        resource = self.resource(group, version, plural)
        self.plane.writes.create(resource, namespace, {**body, "metadata": metadata}, WriteOptions())

    def entries(self, group: str, plural: str) -> Iterator[StoreEntry]:
        return iter(list(self.plane.store.collection(group, plural).entries("")))

    def pods(self) -> list[Object]:
        return [entry.body for entry in self.entries("", "pods")]

    def groups(self) -> list[Object]:
        return [entry.body for entry in self.entries(_GROUP, "podgroups")]

    def requests(self) -> list[Object]:
        return [entry.body for entry in self.entries("scheduling.stromboli.dev", "bindrequests")]

    def tickets(self) -> list[str]:
        names = [entry.key[1] for entry in self.entries("", "configmaps")]
        return [name.removeprefix("ticket-") for name in names if name.startswith("ticket-")]

    def _delete(self, group: str, version: str, plural: str, entry: StoreEntry) -> None:
        self.plane.delete(self.resource(group, version, plural), entry, _ROLLED_BACK)

    def _update(self, group: str, plural: str, entry: StoreEntry, changes: Object, subresource: str = "") -> None:
        options = WriteOptions(subresource=subresource, is_patched=True)
        self.plane.writes.update(self.resource(group, "v1", plural), entry, {**entry.body, **changes}, options)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def add_node(self, name: str) -> None:
        self.nodes.add(name)
        amounts = {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"allocatable": amounts, "capacity": amounts, "conditions": ready}
        collection = self.plane.store.collection("", "nodes")
        if collection.get(("", name)) is None:
            self._create("", "v1", "nodes", {"metadata": {"name": name}, "status": status})
        if (entry := collection.get(("", name))) is not None:
            self._update("", "nodes", entry, {"spec": {}})

    def remove_node(self, name: str) -> None:
        self.nodes.discard(name)
        if (entry := self.plane.store.collection("", "nodes").get(("", name))) is not None:
            self._delete("", "v1", "nodes", entry)

    def cordon(self, name: str, cordoned: bool) -> None:
        if (entry := self.plane.store.collection("", "nodes").get(("", name))) is not None:
            self._update("", "nodes", entry, {"spec": {"unschedulable": True} if cordoned else {}})

    # -- kubelets and controllers -----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Start bound pods, end deleted ones, and collect what has lost its owner."""
        for entry in self.entries("", "pods"):
            spec, status = entry.body["spec"], entry.body.get("status") or {}
            is_leaving = "deletionTimestamp" in entry.metadata
            if is_leaving or (spec.get("nodeName") and spec["nodeName"] not in self.nodes):
                if self.chance.random() < 0.6:
                    self._lose(entry, is_leaving)
            elif spec.get("nodeName") and status.get("phase") == "Pending" and self.chance.random() < 0.6:
                self._update("", "pods", entry, {"status": {**status, "phase": "Running"}}, "status")
        self._collect_garbage()

    def _lose(self, entry: StoreEntry, is_leaving: bool = False) -> None:
        if entry.body["spec"].get("nodeName") and not is_leaving:
            self.disturbed.add(gang_of(entry.body))
        self._delete("", "v1", "pods", entry)

    def _collect_garbage(self) -> None:
        entries = (*self.entries("", "pods"), *self.entries(_GROUP, "podgroups"))
        uids = {entry.metadata["uid"] for entry in entries}
        for entry in self.entries("scheduling.stromboli.dev", "bindrequests"):
            owners = entry.metadata.get("ownerReferences") or ()
            if owners and not any(owner["uid"] in uids for owner in owners):
                self._delete("scheduling.stromboli.dev", "v1alpha1", "bindrequests", entry)

    def finish_gang(self, name: str) -> None:
        """Its running pods succeed, and its controller creates no more."""
        self.gangs.pop(name, None)
        for entry in self.entries("", "pods"):
            if gang_of(entry.body) == name:
                status = entry.body.get("status") or {}
                if status.get("phase") == "Running":
                    self._update("", "pods", entry, {"status": {**status, "phase": "Succeeded"}}, "status")
                elif not entry.body["spec"].get("nodeName"):
                    self._delete("", "v1", "pods", entry)

    def delete_gang(self, name: str) -> None:
        self.gangs.pop(name, None)
        for kind in (("", "v1", "pods"), (_GROUP, "v1beta1", "podgroups")):
            for entry in self.entries(kind[0], kind[2]):
                if name in (entry.key[1], gang_of(entry.body)):
                    self._delete(*kind, entry)

    def delete_pod(self, name: str) -> None:
        for entry in self.entries("", "pods"):
            if entry.key[1] == name:
                self._lose(entry)

    def delete_requests(self, number: int) -> None:
        for entry in list(self.entries("scheduling.stromboli.dev", "bindrequests"))[number:]:
            self._delete("scheduling.stromboli.dev", "v1alpha1", "bindrequests", entry)


class Users:
    """Submit gangs as tenants, and keep their pods as a job controller does."""

    def __init__(self, cluster: SimulatedCluster, installation: Installation) -> None:
        self._cluster = cluster
        self._installation = installation
        self._process = Process("users", 0, installation.loop, installation.seed)
        self._busy: set[str] = set()

    def submit(self, event: Event) -> None:
        tenant, queue_name, priority = event.other.split("/")
        self._cluster.gangs[event.subject] = (event.number, int(event.amount), tenant, queue_name, priority)

    def tick(self) -> None:
        """Create what is missing of every gang."""
        pods = {entry.key[1] for entry in self._cluster.entries("", "pods")}
        groups = {entry.key[1] for entry in self._cluster.entries(_GROUP, "podgroups")}
        for name, (size, *_) in list(self._cluster.gangs.items()):
            missing = [index for index in range(size) if f"{name}-{index}" not in pods]
            if name not in self._busy and (missing or name not in groups):
                self._busy.add(name)
                self._process.start(self._create(name, missing, name not in groups))

    async def _create(self, name: str, missing: list[int], with_group: bool) -> None:
        size, cpu, tenant, queue_name, priority = self._cluster.gangs[name]
        client = NetworkClient(self._installation.network, self._process, user=tenant)
        try:
            if with_group:
                spec = {"minMember": size, "queue": queue_name, "priorityClassName": priority}
                await client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=tenant)
            for index in missing:
                if name in self._cluster.gangs:
                    body = pod(cpu, priorityClassName=priority, annotations={GROUP_NAME: name})
                    metadata = {"name": f"{name}-{index}", "annotations": body["metadata"]["annotations"]}
                    document = {"metadata": metadata, "spec": body["spec"]}
                    await client.create(PODS, document, namespace=tenant)
        except ApiError as error:
            if error.status in (403, 422):
                self._cluster.delete_gang(name)
        except RequestFailed:
            pass
        finally:
            self._busy.discard(name)


class Webhooks:
    """What the API server does before a write of a tenant: it calls the webhook, and rejects what that rejects."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    def __call__(self, message: Message, request: ResourceRequest) -> Any:
        call = request.call
        if message.user not in TENANTS or call.plural not in _REVIEWED or call.subresource:
            return None
        return self._reviewed(message, request)

    async def _reviewed(self, message: Message, request: ResourceRequest) -> bytes:
        call, body = request.call, msgspec.json.decode(message.body)
        asked = Request(
            uid="1", kind=GroupKind(call.group, call.version, request.resource.kind), namespace=call.namespace,
            name=body["metadata"].get("name", ""), operation="CREATE", object=body,
            user_info=User(message.user, groups=["system:authenticated"]),
        )  # fmt: skip
        for name, (reviewer, lister) in list(self._installation.reviewers.items()):
            if lister.missing() is None:
                process = self._installation.running[name]
                task: asyncio.Task[Any] = self._installation.loop.create_task(
                    reviewer.review(asked), context=process.context
                )
                done, _ = await asyncio.wait([task], timeout=REVIEW_SECONDS)
                if done and task.exception() is None:
                    verdict = task.result()
                    if not verdict.is_allowed:
                        code = 403 if verdict.is_forbidden else 422
                        raise StatusError(code, "Forbidden" if code == 403 else "Invalid", verdict.message)
                    return message.body
        raise StatusError(500, "InternalError", "failed calling webhook")


def answer_access_review(message: Message) -> bytes | None:
    """Tenants may use their own queue."""
    if not message.path.endswith("/subjectaccessreviews"):
        return None
    review = msgspec.json.decode(message.body)
    spec = review["spec"]
    allowed = TENANTS.get(spec["user"]) == spec["resourceAttributes"]["name"]
    return msgspec.json.encode({**review, "status": {"allowed": allowed}})
