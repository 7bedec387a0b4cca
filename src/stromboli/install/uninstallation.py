"""Uninstalling: which objects are deleted, and from which only the traces of Stromboli are removed.

The processes end first, so that none of them writes again. Pods, and whatever they use, are not changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import quote

import msgspec

from stromboli.install.installation import NAME
from stromboli.install.owned_fields import DOMAIN, release_of
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.crds.install import crd_documents

DELETE, RELEASE, KEEP = "delete", "release", "keep"
_OURS = f"app.kubernetes.io/part-of={NAME}"
_PAGE = 500
_ATTEMPTS = 5
_CONCURRENCY = 16
_POLL = 0.5
_RBAC = "rbac.authorization.k8s.io/v1"
_WEBHOOKS = "admissionregistration.k8s.io/v1"

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource of the API, and how its objects are found."""

    api_version: str
    plural: str
    kind: str
    #: Whether only the namespace of the installation counts.
    is_namespaced: bool = False
    #: Whether conditions are written to the status subresource.
    has_status: bool = False

    def path(self, namespace: str = "") -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/namespaces/{quote(namespace, safe='')}/{self.plural}" if namespace else f"{root}/{self.plural}"


_ADMISSION = (
    Listed(_WEBHOOKS, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    Listed(_WEBHOOKS, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
)
_DEPLOYMENTS = Listed("apps/v1", "deployments", "Deployment", is_namespaced=True)
_PODS = Listed("v1", "pods", "Pod")
_BIND_REQUESTS = Listed("scheduling.stromboli.dev/v1alpha1", "bindrequests", "BindRequest")
#: Objects of others on which the processes write.
WRITTEN = (
    Listed("scheduling.volcano.sh/v1beta1", "queues", "Queue", has_status=True),
    Listed("scheduling.volcano.sh/v1beta1", "podgroups", "PodGroup"),
    Listed("scheduling.k8s.io/v1beta1", "podgroups", "PodGroup", has_status=True),
    Listed("scheduling.k8s.io/v1alpha2", "podgroups", "PodGroup", has_status=True),
    Listed("topology.volcano.sh/v1alpha1", "hypernodes", "HyperNode", has_status=True),
    Listed("v1", "nodes", "Node", has_status=True),
)
_INSTALLED = (
    Listed("apiregistration.k8s.io/v1", "apiservices", "APIService"),
    Listed("v1", "services", "Service", is_namespaced=True),
    Listed("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", is_namespaced=True),
    Listed("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    Listed("v1", "configmaps", "ConfigMap", is_namespaced=True),
    Listed("v1", "serviceaccounts", "ServiceAccount", is_namespaced=True),
    Listed(_RBAC, "rolebindings", "RoleBinding"),
    Listed(_RBAC, "roles", "Role"),
    Listed(_RBAC, "clusterrolebindings", "ClusterRoleBinding"),
    Listed(_RBAC, "clusterroles", "ClusterRole"),
)
_LEASES = Listed("coordination.k8s.io/v1", "leases", "Lease", is_namespaced=True)
_NAMESPACES = Listed("v1", "namespaces", "Namespace")
_CRDS = Listed("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition")


@dataclass(slots=True)
class Removal:
    """One object, and what is done with it."""

    action: str
    listed: Listed
    namespace: str
    name: str
    uid: str = ""
    #: What is removed from the object, or why it stays.
    details: Sequence[str] = ()
    error: str = ""

    @property
    def path(self) -> str:
        return f"{self.listed.path(self.namespace)}/{quote(self.name, safe='')}"


@dataclass(slots=True)
class Uninstallation:
    """Removes an installation from a cluster. Raises RequestFailed if the cluster cannot be read."""

    client: Client
    namespace: str
    delete_crds: bool = False
    #: How long the pods of the processes may take to end, in seconds.
    timeout: float = 120.0
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)

    # -- what there is ------------------------------------------------------------------------------------------

    async def plan(self) -> list[Removal]:
        """Return everything that is removed, in the order of removal."""
        removals = [each for listed in _ADMISSION for each in await self._webhooks(listed)]
        removals += await self._labelled(_DEPLOYMENTS)
        removals += [self._deletion(_BIND_REQUESTS, each) for each in await self._list(_BIND_REQUESTS)]
        for listed in WRITTEN:
            if not self.delete_crds or "volcano.sh" not in listed.api_version:
                removals += await self._releases(listed)
        for listed in _INSTALLED:
            removals += await self._labelled(listed)
        leases = await self._list(_LEASES)
        removals += [self._deletion(_LEASES, each) for each in leases if each["metadata"]["name"].startswith(NAME)]
        if self.delete_crds:
            names = {document["metadata"]["name"] for document in crd_documents()}
            found = await self._list(_CRDS)
            removals += [self._deletion(_CRDS, each) for each in found if each["metadata"]["name"] in names]
        return removals + await self._namespaces()

    async def _webhooks(self, listed: Listed) -> list[Removal]:
        """The webhook configurations of the admission process, whatever their name."""
        return [
            self._deletion(listed, each)
            for each in await self._list(listed)
            if any(str(hook.get("name")).endswith(f".{DOMAIN}") for hook in each.get("webhooks") or ())
        ]

    async def _labelled(self, listed: Listed) -> list[Removal]:
        return [self._deletion(listed, each) for each in await self._list(listed, _OURS)]

    async def _releases(self, listed: Listed) -> list[Removal]:
        removals = []
        for each in await self._list(listed):
            if parts := release_of(each)[1]:
                metadata = each["metadata"]
                removals.append(
                    Removal(RELEASE, listed, metadata.get("namespace", ""), metadata["name"], metadata["uid"], parts)
                )
        return removals

    async def _namespaces(self) -> list[Removal]:
        """The namespaces of the installation, unless pods of others, or reservations of GPUs in use, run there."""
        removals = []
        for each in await self._list(_NAMESPACES, _OURS):
            removal = self._deletion(_NAMESPACES, each)
            others = [pod for pod in await self._pods(removal.name) if not _is_process(pod)]
            if others:
                removal.action, removal.details = KEEP, [f"{len(others)} other pods run in it"]
            removals.append(removal)
        return removals

    @staticmethod
    def _deletion(listed: Listed, document: Document) -> Removal:
        metadata = document["metadata"]
        return Removal(DELETE, listed, metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""))

    async def _pods(self, namespace: str) -> list[Document]:
        return await self._pages(_PODS.path(namespace), {})

    async def _list(self, listed: Listed, selector: str = "") -> list[Document]:
        """All objects; none if the API server does not have the kind."""
        path = listed.path(self.namespace if listed.is_namespaced else "")
        try:
            return await self._pages(path, {"labelSelector": selector} if selector else {})
        except ApiError as error:
            if error.is_missing:
                return []
            raise

    async def _pages(self, path: str, params: Mapping[str, str]) -> list[Document]:
        found: list[Document] = []
        token = ""
        while True:
            further = {"continue": token} if token else {}
            answer = await self.client.request("GET", path, params={**params, "limit": str(_PAGE), **further})
            page = msgspec.json.decode(answer)
            found += page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return found

    # -- removal ------------------------------------------------------------------------------------------------

    async def remove(self, removals: Sequence[Removal]) -> None:
        """Remove everything. An error is recorded with its object, and the others are removed nevertheless; if the
        processes do not end, nothing more is removed.
        """
        first = [each for each in removals if each.listed in (*_ADMISSION, _DEPLOYMENTS)]
        later = [each for each in removals if each.listed not in (*_ADMISSION, _DEPLOYMENTS)]
        await self._remove_all(first)
        if not await self._have_ended():
            for removal in later:
                removal.error = "not removed, because pods of the processes still run; try again when they have ended"
            return
        await self._remove_all(later)

    async def _remove_all(self, removals: Sequence[Removal]) -> None:
        """Remove one kind after the other."""
        limit = asyncio.Semaphore(_CONCURRENCY)
        for _, group in groupby(removals, key=lambda removal: removal.listed):
            await asyncio.gather(*(self._remove(removal, limit) for removal in group))

    async def _remove(self, removal: Removal, limit: asyncio.Semaphore) -> None:
        async with limit:
            try:
                if removal.action == DELETE:
                    await self._delete(removal)
                elif removal.action == RELEASE:
                    await self._release(removal)
            except RequestFailed as error:
                removal.error = str(error)

    async def _have_ended(self) -> bool:
        """Wait for the pods of the processes."""
        waited = 0.0
        while any(_is_process(pod) for pod in await self._pods(self.namespace)):
            if waited >= self.timeout:
                return False
            await self.sleep(_POLL)
            waited += _POLL
        return True

    async def _delete(self, removal: Removal) -> None:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options["preconditions"] = {"uid": removal.uid}
        try:
            await self.client.request("DELETE", removal.path, body=msgspec.json.encode(options))
        except ApiError as error:
            if not error.is_missing:
                raise

    async def _release(self, removal: Removal) -> None:
        """Remove what is ours from the object as it is now; others may write to it meanwhile."""
        for attempt in range(_ATTEMPTS):
            try:
                await self._release_once(removal)
                return
            except ApiError as error:
                if error.is_missing:
                    return
                if not error.is_conflict or attempt + 1 == _ATTEMPTS:
                    raise

    async def _release_once(self, removal: Removal) -> None:
        document = msgspec.json.decode(await self.client.request("GET", removal.path))
        body, _ = release_of(document)
        status = body.pop("status", None)
        if status is not None:  # before the ownership, as every write of ours is recorded there
            path = f"{removal.path}/status" if removal.listed.has_status else removal.path
            document = await self._patch(path, document, {"status": status})
            body, _ = release_of(document)
        if body:
            await self._patch(removal.path, document, body)

    async def _patch(self, path: str, document: Document, body: Mapping[str, Any]) -> Document:
        version = {"resourceVersion": document["metadata"]["resourceVersion"]}
        patch = {**body, "metadata": {**body.get("metadata", {}), **version}}
        answer = await self.client.request(
            "PATCH", path, params={"fieldManager": NAME}, body=msgspec.json.encode(patch),
            content_type=PatchKind.MERGE.value,
        )  # fmt: skip
        found: Document = msgspec.json.decode(answer)
        return found


def _is_process(pod: Document) -> bool:
    """Report whether a pod is one of the installed processes."""
    labels = pod["metadata"].get("labels") or {}
    return labels.get("app.kubernetes.io/name") == NAME and "app.kubernetes.io/instance" in labels
