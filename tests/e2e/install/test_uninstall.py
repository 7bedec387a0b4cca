"""`stromboli uninstall` on a server of its own: what it removes, and that Volcano's controllers can take over."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.controllers.wiring import Controllers
from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.install.documents import installation_documents
from stromboli.install.installation import Installation
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import BIND_REQUESTS, POD_GROUPS, PODS, QUEUES
from stromboli.local.fakes.controllers import FakeControllers
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import NAMES, Cluster, running_processes
from tests.testing.planes import fresh_plane

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    with fresh_plane() as started:
        yield started


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        yield client


async def run(plane: ControlPlane, *options: str, stdin: str = "") -> Result:
    command = ["uninstall", "--kubeconfig", str(plane.kubeconfig), *options]
    return await asyncio.to_thread(CliRunner().invoke, main, command, input=stdin)


@pytest.fixture
async def cluster(plane: ControlPlane, client: Client) -> Cluster:
    """A cluster after an installation ran a job; its processes have ended."""
    scheduler = Scheduler(client, ActivePolicy(Registry(PLUGINS, ACTIONS)), SchedulerOptions(period=0.1))
    cluster = Cluster(plane, client, scheduler, "default")
    await install_crds(client)
    await create_nodes(client, node_documents(NodePool(1, resources={"cpu": "4", "memory": "8Gi"})))
    async with running_processes(scheduler, FakeControllers(client).run(), Controllers(client, NAMES).run()):
        await cluster.create_gang("train", 2, "1", minimum=2)
        await cluster.until_phase("train", "Running")
        await cluster.until(lambda: is_counted(client), "the queue has its allocated amounts")
    await install(client, cluster)
    return cluster


async def is_counted(client: Client) -> bool:
    status = (await client.get(QUEUES, "default")).status
    return (status.allocated or {}).get("cpu") == "2" and status.running == 1


async def install(client: Client, cluster: Cluster) -> None:
    """Install everything; the processes themselves run in the test. No kubelet starts the pods of Deployments."""
    installation = Installation(binder=True, discover_hypernodes="rack")
    parts = ("namespace", "roles", "configuration", "workloads")
    await Applier(client).apply(installation_documents(installation, parts))
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]
    hook: dict[str, Any] = {
        "name": "pods.admission.stromboli.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    hook |= {"rules": rules, "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/validate"}}
    spec = {"scheduler": "other", "pods": [{"podName": "gone", "podUID": "gone", "selectedNode": "gone"}]}
    await client.create(BIND_REQUESTS, {"metadata": {"name": "finished"}, "spec": spec}, namespace="default")
    for name, own in (("our-webhook", hook), ("their-webhook", {**hook, "name": "pods.example.com"})):
        await cluster.create_raw(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [own]})


async def raw(client: Client, path: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(await client.request("GET", path))
    return found


async def names(client: Client, path: str, prefix: str = "stromboli") -> list[str]:
    found = [each["metadata"]["name"] for each in (await raw(client, path))["items"]]
    return [name for name in found if name.startswith(prefix)]


INSTALLED = (
    "/apis/apps/v1/namespaces/stromboli-system/deployments",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/api/v1/namespaces/stromboli-system/serviceaccounts",
    "/api/v1/namespaces/stromboli-system/configmaps",
)


async def managers(client: Client, path: str) -> set[str]:
    return {entry.get("manager", "") for entry in (await raw(client, path))["metadata"].get("managedFields") or ()}


OWNERS = pytest.mark.only("real", because="the embedded server does not record the owners of fields")
OURS = {"stromboli", "stromboli-controller"}
GROUP = f"{POD_GROUPS.path(namespace='default')}/train"
QUEUE = QUEUES.path(name="default")


async def removals(plane: ControlPlane, *options: str) -> set[tuple[str, str, str]]:
    result = await run(plane, "-o", "json", *options)
    assert result.exit_code == 0, result.output
    data = msgspec.json.decode(result.stdout)
    assert data["dryRun"] is ("--dry-run" in options)
    return {(each["action"], each["kind"], each["name"]) for each in data["removals"]}


async def test_dry_run_and_a_refused_confirmation_change_nothing(
    plane: ControlPlane, cluster: Cluster, client: Client
) -> None:
    before = await managers(client, QUEUE)
    planned = await removals(plane, "--dry-run")
    assert {("delete", "Deployment", "stromboli-scheduler"), ("delete", "BindRequest", "finished")} <= planned
    refused = await run(plane, stdin="n\n")
    assert refused.exit_code == 1
    assert "Deployment" in refused.stdout
    assert await names(client, INSTALLED[0]) != []
    assert await managers(client, QUEUE) == before


async def test_uninstall_deletes_what_is_ours_and_nothing_else(
    plane: ControlPlane, cluster: Cluster, client: Client
) -> None:
    pods = (await client.list(PODS, namespace="default")).items
    assert ("delete", "ValidatingWebhookConfiguration", "our-webhook") in await removals(plane, "--dry-run")
    done = await run(plane, "--keep-crds", stdin="y\n")
    assert done.exit_code == 0, done.output
    assert re.search(r"^deleted +Deployment ", done.stdout, re.MULTILINE), done.stdout
    for path in INSTALLED:
        assert await names(client, path) == [], path
    assert await names(client, WEBHOOKS, "") == ["their-webhook"]
    assert (await client.list(BIND_REQUESTS, namespace="default")).items == []
    assert (await cluster.group("train")).status.phase == "Running"
    assert (await client.list(PODS, namespace="default")).items == pods, "pods are not changed"
    left = {each for each in await removals(plane, "--dry-run") if each[1] != "Namespace"}
    assert left == set(), "nothing is left for a second run"


async def test_nothing_more_is_removed_while_processes_run(
    plane: ControlPlane, cluster: Cluster, client: Client
) -> None:
    labels = {"app.kubernetes.io/name": "stromboli", "app.kubernetes.io/instance": "stromboli"}
    spec = {"containers": [{"name": "main", "image": "example/main"}], "terminationGracePeriodSeconds": 0}
    body = {"metadata": {"name": "stuck", "labels": labels}, "spec": spec}
    await client.create(PODS, body, namespace="default")
    failed = await run(plane, "-n", "default", "--yes", "--timeout", "500ms")
    assert failed.exit_code == 1
    assert "pods of the processes still run" in failed.stdout
    assert failed.stderr.endswith("objects were not removed; run the command again\n")
    assert await names(client, INSTALLED[1]) != []
    await client.delete(PODS, "stuck", namespace="default", grace_period=0)
    assert ("delete", "ClusterRole", "stromboli-scheduler") in await removals(plane, "-n", "default", "--yes")


@OWNERS
async def test_volcano_takes_over_after_an_uninstall(plane: ControlPlane, cluster: Cluster, client: Client) -> None:
    annotations = {"scheduling.stromboli.dev/run-time": "1h"}
    await client.patch(QUEUES, "default", {"metadata": {"annotations": annotations}}, field_manager="kubectl-annotate")
    assert OURS & await managers(client, QUEUE)
    assert {("release", "Queue", "default"), ("release", "PodGroup", "train")} <= await removals(plane, "--yes")
    for path in (QUEUE, GROUP, QUEUES.path(name="root")):
        assert not OURS & await managers(client, path), path
    queue = await client.get(QUEUES, "default")
    assert (queue.metadata.annotations or {}) == annotations, "annotations of users stay"
    await apply_status(client, "volcano", {"state": "Closed", "allocated": {"cpu": "3"}, "running": 2})


@OWNERS
async def test_without_uninstall_an_apply_of_volcano_has_a_conflict(cluster: Cluster, client: Client) -> None:
    with pytest.raises(ApiError, match="conflict"):
        await apply_status(client, "volcano", {"state": "Closed", "allocated": {"cpu": "3"}, "running": 2})


async def apply_status(client: Client, manager: str, status: dict[str, Any]) -> None:
    """Apply a status as another controller does, without force."""
    body = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "default"}, "status": status}
    await client.patch(
        QUEUES, "default", body, subresource="status", kind=PatchKind.APPLY, field_manager=manager, force=False
    )
