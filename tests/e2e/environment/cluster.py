"""A running cluster on a control plane, as a test uses it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

import msgspec

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.controllers.wiring import Controllers
from stromboli.core.actions import ACTIONS
from stromboli.core.config.bind_options import REQUEST
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NAMESPACES, POD_GROUPS, PODS, VOLCANO_JOBS
from stromboli.kube.objects.resources import Resource
from stromboli.local.fakes.controllers import FakeControllers
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ADMINISTRATOR, REQUESTER, ControlPlane
from tests.e2e.environment.permissions import admit

NAMES = ("stromboli", "volcano")
DEADLINE = 40.0
_POOL = NodePool(3, resources={"cpu": "4", "memory": "8Gi"})
_NUMBERS = itertools.count(1)


class Cluster:
    def __init__(self, plane: ControlPlane, client: Client, scheduler: Scheduler, namespace: str) -> None:
        self.plane = plane
        #: The administrator's client.
        self.client = client
        self.scheduler = scheduler
        self.namespace = namespace

    async def create_gang(self, name: str, size: int, cpu: str, *, minimum: int | None = None) -> None:
        spec = {"minMember": size if minimum is None else minimum}
        await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=self.namespace)
        for place in range(size):
            await self.create_pod(f"{name}-{place}", cpu, group=name)

    async def create_pod(self, name: str, cpu: str, *, group: str = "") -> None:
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": cpu}}}
        metadata: dict[str, Any] = {"name": name}
        if group:
            metadata["annotations"] = {GROUP_NAME: group}
        pod = {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [container]}}
        await self.client.create(PODS, pod, namespace=self.namespace)

    async def create_raw(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object of a kind that the typed client does not cover; return the stored object."""
        answer = await self.client.request("POST", path, body=msgspec.json.encode(body))
        return cast(dict[str, Any], msgspec.json.decode(answer))

    async def group(self, name: str) -> kube.PodGroup:
        return await self.client.get(POD_GROUPS, name, namespace=self.namespace)

    async def pods(self) -> dict[str, kube.Pod]:
        listing = await self.client.list(PODS, namespace=self.namespace)
        return {pod.metadata.name: pod for pod in listing.items}

    async def nodes_of(self, gang: str) -> list[str]:
        """Node of each member of a gang; empty for pending ones."""
        pods = await self.pods()
        return [pod.spec.node_name or "" for name, pod in sorted(pods.items()) if name.startswith(f"{gang}-")]

    async def until(self, reached: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not await reached():
            assert time.monotonic() < deadline, f"timed out: {what}"
            await asyncio.sleep(0.05)

    async def until_phase(self, name: str, phase: str) -> None:
        async def reached() -> bool:
            try:
                return (await self.group(name)).status.phase == phase
            except ApiError as error:
                if error.is_missing:
                    return False
                raise

        await self.until(reached, f"{name} is {phase}")

    async def until_message(self, name: str, text: str) -> None:
        """Wait until the Unschedulable condition of a group contains the text."""

        async def messages() -> list[str]:
            conditions = (await self.group(name)).status.conditions or []
            return [c.message or "" for c in conditions if (c.type, c.status) == ("Unschedulable", "True")]

        async def reached() -> bool:
            return any(text in message for message in await messages())

        try:
            await self.until(reached, f"condition of {name} contains {text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}, but: {await messages()}") from error


@contextlib.asynccontextmanager
async def running_cluster(
    plane: ControlPlane, through: str = "", policy: ActivePolicy | None = None, pool: NodePool = _POOL
) -> AsyncIterator[Cluster]:
    """Nodes, fake controllers, and the processes of Stromboli, each with its own account.

    The processes connect `through` a proxy if one is set, and the scheduler runs the default policy unless another is
    passed. The scheduler's cache must pass its audit at the end.
    """
    policy = policy or ActivePolicy(Registry(PLUGINS, ACTIONS))
    account = REQUESTER if policy.program.configuration.bind.mode == REQUEST else "scheduler"
    async with contextlib.AsyncExitStack() as stack:
        ours, stand_ins, controllers, scheduler = [
            await stack.enter_async_context(Client(_connection(plane, account, proxy)))
            for account, proxy in (
                (ADMINISTRATOR, ""), (ADMINISTRATOR, ""), ("controller", through), (account, through)
            )
        ]  # fmt: skip
        await install_crds(ours)
        await admit(plane, ours)
        runs = Scheduler(scheduler, policy, SchedulerOptions(period=0.1, heal=2.0, status_refresh=0.2))
        namespace = f"test-{next(_NUMBERS)}"
        await ours.create(NAMESPACES, {"metadata": {"name": namespace}})
        stack.push_async_callback(_empty, ours, namespace)
        await stack.enter_async_context(
            running_processes(runs, FakeControllers(stand_ins).run(), Controllers(controllers, NAMES).run())
        )
        await create_nodes(ours, node_documents(pool))
        yield Cluster(plane, ours, runs, namespace)
        assert not (found := audit(runs.cluster)), found


def _connection(plane: ControlPlane, account: str, proxy: str) -> Connection:
    connection = load_kubeconfig(str(plane.kubeconfig_of(account)))
    return replace(connection, server=proxy) if proxy else connection


@contextlib.asynccontextmanager
async def running_processes(scheduler: Scheduler, *parts: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part) for part in (*parts, scheduler.run())]
    try:
        yield
    finally:
        scheduler.stop()
        await asyncio.wait([tasks[-1]], timeout=DEADLINE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _empty(client: Client, namespace: str) -> None:
    """Delete what the test created: no controller empties namespaces here, and the next test needs the capacity."""
    resources: tuple[Resource[Any], ...] = (VOLCANO_JOBS, PODS, POD_GROUPS)
    for resource in resources:
        for entry in (await client.list(resource, namespace=namespace)).items:
            with contextlib.suppress(ApiError):
                await client.delete(resource, entry.metadata.name, namespace=namespace, grace_period=0)
