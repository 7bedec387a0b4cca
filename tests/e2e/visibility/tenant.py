"""A tenant of a real API server: an account with the role `edit` in one namespace, and a scheduler that it can ask."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.install.installation import Installation
from stromboli.install.roles import user_role_documents
from stromboli.install.workloads import visibility_documents
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES, PODS
from stromboli.scheduler.answers import answering_server
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.visibility.questions import GROUP, ROOT, VERSION
from stromboli.visibility.server import VisibilityServer
from testbed.plane import ControlPlane, write_kubeconfig
from tests.e2e.environment.cluster import running_processes
from tests.e2e.environment.permissions import admit
from tests.testing.manifests.builders import Manifest, node

TENANT, OTHER, STRANGER = "tenant-a", "tenant-b-secret", "tenant-c"
_RBAC = "rbac.authorization.k8s.io"
DEADLINE = 30.0


@dataclass(slots=True)
class AskingTenant:
    """Runs commands as the tenant, whose kubeconfig has its namespace."""

    administrator: Client
    server: VisibilityServer
    kubeconfigs: dict[str, Path]
    folder: Path

    async def run(self, *arguments: str, account: str = TENANT, files: list[Manifest] | None = None) -> Result:
        command = [*arguments, "--kubeconfig", str(self.kubeconfigs[account])]
        if files is not None:
            path = self.folder / "submitted.json"
            path.write_text(json.dumps([_without_identity(each) for each in files]))
            command += ["-f", str(path)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    async def apply(self, *documents: Manifest) -> None:
        await _apply(self.administrator, *documents)

    async def until_bound(self, pod: str, namespace: str) -> None:
        async with asyncio.timeout(DEADLINE):
            while not (await self.administrator.get(PODS, pod, namespace=namespace)).spec.node_name:
                await asyncio.sleep(0.1)

    async def report(self, *arguments: str, files: list[Manifest] | None = None) -> dict[str, Any]:
        result = await self.run(*arguments, "-o", "json", files=files)
        assert result.exit_code in (0, 3), result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found


@contextlib.asynccontextmanager
async def asking_tenant(
    plane: ControlPlane, folder: Path, *objects: Manifest, nodes: int = 2, history: str = ""
) -> AsyncIterator[AskingTenant]:
    """Start a scheduler with the rights of an installation, and register its aggregated API."""
    async with contextlib.AsyncExitStack() as stack:
        administrator = await stack.enter_async_context(Client(load_kubeconfig(str(plane.kubeconfig))))
        await install_crds(administrator)
        await admit(plane, administrator)
        await _create_people(administrator)
        connect = partial(load_kubeconfig, str(plane.kubeconfig_of("scheduler")))
        client = await stack.enter_async_context(Client(connect()))
        options = SchedulerOptions(period=0.1, history=history, scheduler_names=("stromboli",))
        scheduler = Scheduler(client, ActivePolicy(Registry(PLUGINS, ACTIONS)), options)
        await stack.enter_async_context(running_processes(scheduler))
        server = answering_server("127.0.0.1:0", scheduler, connect)
        server.start()
        stack.callback(server.stop)
        stack.push_async_callback(_clean, administrator, nodes)
        await _create_nodes(administrator, nodes)
        await _apply(administrator, *objects)
        await _register(administrator, server)
        kubeconfigs = {name: await _kubeconfig(administrator, plane, folder, name) for name in (TENANT, STRANGER)}
        yield AskingTenant(administrator, server, kubeconfigs, folder)


async def _create_people(administrator: Client) -> None:
    """An account in each namespace; the tenant may edit its namespace, and the stranger nothing."""
    documents: list[Manifest] = [*user_role_documents()]
    for name in (TENANT, OTHER, STRANGER):
        documents.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {"name": "person", "namespace": name}
        documents.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    documents.append(
        {
            "apiVersion": f"{_RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "edit", "namespace": TENANT},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "person", "namespace": TENANT}],
        }
    )  # fmt: skip
    await _apply(administrator, *documents)


async def _create_nodes(administrator: Client, number: int) -> None:
    for place in range(number):
        await _apply(administrator, node(f"asked-{place}", 4))
        await administrator.patch(NODES, f"asked-{place}", {"spec": {"taints": None}})


async def _clean(administrator: Client, nodes: int) -> None:
    """Delete also the registration: an API that does not answer blocks the deletion of namespaces."""
    with contextlib.suppress(ApiError):
        await administrator.request("DELETE", f"/apis/apiregistration.k8s.io/v1/apiservices/{VERSION}.{GROUP}")
    for place in range(nodes):
        with contextlib.suppress(ApiError):
            await administrator.delete(NODES, f"asked-{place}")
    for namespace in (TENANT, OTHER):
        for path in (f"/api/v1/namespaces/{namespace}/pods",
                     f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups"):  # fmt: skip
            await administrator.request("DELETE", path, body=b'{"gracePeriodSeconds": 0}')


async def _register(administrator: Client, server: VisibilityServer) -> None:
    """Register the API as an installation does, with a service that leads to this machine."""
    service, registered = visibility_documents(Installation())
    assert server.address is not None
    service["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    registered["spec"]["service"]["port"] = server.address.port
    await _apply(administrator, service, registered)
    deadline = time.monotonic() + DEADLINE
    while True:
        try:
            await administrator.request("GET", f"{ROOT}/namespaces/{TENANT}/jobs")
        except ApiError as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"the API server does not forward requests: {error}") from error
            await asyncio.sleep(0.2)
        else:
            return


async def _kubeconfig(administrator: Client, plane: ControlPlane, folder: Path, name: str) -> Path:
    path = f"/api/v1/namespaces/{name}/serviceaccounts/person/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = json.loads(await administrator.request("POST", path, body=json.dumps(body).encode()))
    written = write_kubeconfig(folder / name, plane.url, answer["status"]["token"])
    document = yaml.safe_load(written.read_text())
    document["contexts"][0]["context"]["namespace"] = name
    written.write_text(yaml.safe_dump(document))
    return written


async def _apply(administrator: Client, *documents: Manifest) -> None:
    await Applier(administrator).apply([_without_identity(each) for each in documents], lambda *_: None)


def _without_identity(document: Manifest) -> Manifest:
    metadata = {key: value for key, value in document["metadata"].items() if key not in ("uid", "creationTimestamp")}
    return {**document, "metadata": metadata}
