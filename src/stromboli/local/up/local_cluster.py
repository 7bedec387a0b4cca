"""A local cluster in one process.

Its parts are those of a real cluster, or fakes of them, and communicate only through the API server: each has a
connection of its own, as it would have in a separate process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.binding.plugins.loading import BUILT_IN, load_plugins
from stromboli.binding.requests.binder import Binder
from stromboli.controllers.wiring import Controllers
from stromboli.core.config.bind_options import REQUEST
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.work.collection import collect_young_objects
from stromboli.local.api_server.server import ADDRESS, ApiServer
from stromboli.local.fakes.controllers import FakeControllers
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from stromboli.local.up.published_policy import PolicyPublisher
from stromboli.scheduler.answers import answering_server
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.visibility.callers import CONFIGURATION, CONFIGURATION_NAMESPACE
from stromboli.visibility.questions import GROUP

#: Simulated nodes have no real GPUs.
_FAKE_GPUS = {"gpusharing": {"fake": "true"}}


@dataclass(slots=True)
class LocalCluster:
    """A running cluster. `client` is for its user."""

    server: ApiServer
    client: Client
    scheduler: Scheduler
    _tasks: list[asyncio.Task[Any]] = field(default_factory=list)

    async def until_failure(self) -> None:
        """Wait until a part of the cluster fails, and raise its error."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def run_until(self, stop: asyncio.Event, timeout: float | None, *works: Coroutine[Any, Any, None]) -> None:
        """Run `works` until `stop` is set, the time is over, or a work or a part of the cluster fails.

        The works are then cancelled; an error is raised.
        """
        tasks = [asyncio.ensure_future(work) for work in (_until_set(stop), self.until_failure(), *works)]
        done, others = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_EXCEPTION)
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for task in done:
            with contextlib.suppress(_Stopped):
                task.result()


class _Stopped(Exception):
    """The user stopped the cluster."""


async def _until_set(stop: asyncio.Event) -> None:
    await stop.wait()
    raise _Stopped


@contextlib.asynccontextmanager
async def local_cluster(
    policy: ActivePolicy,
    *,
    pools: Sequence[NodePool] = (),
    options: SchedulerOptions | None = None,
    server: ApiServer | None = None,
) -> AsyncIterator[LocalCluster]:
    """Start a cluster with these nodes; it ends with the context."""
    options = options or SchedulerOptions()
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(server or ApiServer())
        clients = [await stack.enter_async_context(Client(server.local_connection)) for _ in range(5)]
        await install_crds(clients[0])
        publisher = PolicyPublisher(clients[0], policy, options)
        await publisher.publish()
        fakes, controllers = (
            FakeControllers(clients[1], scheduler_names=options.scheduler_names),
            Controllers(clients[2], options.scheduler_names, options.default_queue),
        )
        scheduler = Scheduler(clients[3], policy, options)
        running = LocalCluster(server, clients[0], scheduler)
        await stack.enter_async_context(
            _running_parts(running, [fakes.run(), controllers.run(), publisher.run(), collect_young_objects()])
        )
        if scheduler.bind_mode == REQUEST:
            binder = Binder(clients[4], load_plugins(BUILT_IN, options=_FAKE_GPUS))
            await stack.enter_async_context(_binding(running, binder))
        await stack.enter_async_context(_scheduling(running))
        await stack.enter_async_context(_answering(running))
        for pool in pools:
            await create_nodes(clients[0], node_documents(pool))
        yield running


@contextlib.asynccontextmanager
async def _answering(running: LocalCluster) -> AsyncIterator[None]:
    """Answer questions as an aggregated API, as an installation does. The ConfigMap of every API server names no
    authority here: requests are forwarded with the token of the person.
    """
    await running.client.create(CONFIG_MAPS, {"metadata": {"name": CONFIGURATION}}, namespace=CONFIGURATION_NAMESPACE)
    answering = answering_server(f"{ADDRESS}:0", running.scheduler, lambda: running.server.connection)
    answering.start()
    running.server.aggregate(GROUP, f"https://{answering.address}")
    try:
        yield
    finally:
        answering.stop()


@contextlib.asynccontextmanager
async def _running_parts(running: LocalCluster, parts: Sequence[Awaitable[None]]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part) for part in parts]
    running._tasks += tasks
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def _binding(running: LocalCluster, binder: Binder) -> AsyncIterator[None]:
    """Run the binder as leader: there is no other."""
    binder.lead()
    task = asyncio.ensure_future(binder.run())
    running._tasks.append(task)
    try:
        yield
    finally:
        binder.stop()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def _scheduling(running: LocalCluster) -> AsyncIterator[None]:
    """Run the scheduler; it stops first, while the other parts still run."""
    task = asyncio.ensure_future(running.scheduler.run())
    running._tasks.append(task)
    try:
        yield
    finally:
        running.scheduler.stop()
        await asyncio.gather(task, return_exceptions=True)
