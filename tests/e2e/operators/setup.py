"""What a controller of another project finds in a cluster: its kinds, its permissions, queues and priority classes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.credentials import Credentials
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import CRDS, PRIORITY_CLASSES, QUEUES
from tests.e2e.environment.cluster import Cluster
from tests.e2e.operators.cases import GROUP_VERSION, Kind, OperatorCase
from tests.e2e.operators.foreign_objects import Document
from tests.e2e.operators.runner import CaseRunner
from tests.testing.priority_classes import until_usable


class _As:
    """The credentials of one user with the impersonation of another."""

    def __init__(self, user: str, own: Credentials) -> None:
        self._user = user
        self._own = own

    async def headers(self) -> Mapping[str, str]:
        return {**await self._own.headers(), "Impersonate-User": self._user}

    async def renew(self) -> bool:
        return await self._own.renew()

    def certificate(self) -> ssl.SSLContext | None:
        return self._own.certificate()


@contextlib.asynccontextmanager
async def running_case(cluster: Cluster, case: OperatorCase) -> AsyncIterator[CaseRunner]:
    """The controller with its kinds, its rights, and the queues and priorities of its users; what it made goes."""
    own = load_kubeconfig(str(cluster.plane.kubeconfig))
    async with Client(replace(own, credentials=_As(case.user, own.credentials))) as controller:
        for kind in case.kinds:
            await _teach(cluster.client, kind)
        await _admit(cluster.client, case)
        for queue in case.queues:
            await _ensure(cluster.client, QUEUES.path(), {"apiVersion": GROUP_VERSION, "kind": "Queue"}, queue)
        for name, value in case.priorities.items():
            priority_class = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
            await _ensure(cluster.client, PRIORITY_CLASSES.path(), priority_class, name)
            await until_usable(cluster.client, name)
        player = CaseRunner(cluster, case, controller)
        try:
            yield player
        finally:
            await player.clear()


async def _teach(client: Client, kind: Kind) -> None:
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": open_schema}}
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower(), "listKind": f"{kind.kind}List"}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    name = f"{kind.plural}.{kind.group}"
    # API groups of Kubernetes need an approval annotation.
    metadata = {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}}
    body = {"apiVersion": CRDS.api_version, "kind": "CustomResourceDefinition", "metadata": metadata}
    await client.patch(CRDS, name, {**body, "spec": spec}, kind=PatchKind.APPLY)
    path = f"/apis/{kind.group}/{kind.version}/{kind.plural}"
    async with asyncio.timeout(30):
        while not await _is_served(client, path):
            await asyncio.sleep(0.05)


async def _is_served(client: Client, path: str) -> bool:
    try:
        await client.request("GET", path, params={"limit": "1"})
    except ApiError as error:
        if error.status in (404, 429, 503):
            return False
        raise
    return True


async def _admit(client: Client, case: OperatorCase) -> None:
    """What such a controller may do, and nothing about queues, nodes or bindings."""
    everything = ["get", "list", "watch", "create", "update", "patch", "delete"]
    rules = [
        {"apiGroups": [""], "resources": ["pods", "configmaps", "services"], "verbs": everything},
        {"apiGroups": ["apps", "batch"], "resources": ["*"], "verbs": everything},
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": everything},
        *({"apiGroups": [kind.group], "resources": [kind.plural], "verbs": everything} for kind in case.kinds),
    ]
    name = "-".join([case.user.replace(":", "-"), *(kind.plural for kind in case.kinds)])
    group = "rbac.authorization.k8s.io"
    path = f"/apis/{group}/v1"
    kind = {"apiVersion": f"{group}/v1"}
    await _ensure(client, f"{path}/clusterroles", {**kind, "kind": "ClusterRole", "rules": rules}, name)
    binding = {
        **kind,
        "kind": "ClusterRoleBinding",
        "subjects": [{"kind": "User", "apiGroup": group, "name": case.user}],
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
    }
    await _ensure(client, f"{path}/clusterrolebindings", binding, name)


async def _ensure(client: Client, path: str, body: Document, name: str) -> None:
    try:
        await client.request("POST", path, body=msgspec.json.encode({**body, "metadata": {"name": name}}))
    except ApiError as error:
        if not error.is_conflict:
            raise
