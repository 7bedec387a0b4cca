"""A running cluster for one test: server, fake controllers, controllers and a scheduler that can be killed.

Everything runs on the test's event loop and uses HTTP. A `bare` world has no fake controllers and no controllers:
only the scheduler watches, so that a fault in a watch is a fault in the scheduler's watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stromboli.binding.direct.workers import BindWorkers
from stromboli.controllers.wiring import Controllers
from stromboli.core.actions import ACTIONS
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.objects.catalogue import EVENTS, NODES, POD_GROUPS, PODS, QUEUES
from stromboli.kube.objects.event import KubeEvent
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import KubeQueue, PodGroup
from stromboli.kube.work.retry import RetryPolicy
from stromboli.local.api_server.faults import Faults
from stromboli.local.api_server.server import ApiServer
from stromboli.local.fakes.controllers import FakeControllers
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, node_documents
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.cases.case import configuration, flattened
from tests.testing.manifests.builders import Manifest, queue
from tests.testing.priority_classes import until_usable
from tests.testing.stage import TEST_SERVERS, ServerHandle

#: Long, since it is waited for in vain only where something is broken.
DEADLINE = 30.0
#: Everything that waits, waits briefly here; but a gang that can be completed is not unwound because machines are slow.
QUICK = SchedulerOptions(period=0.05, debounce=0.005, flush=0.5, heal=60.0, status_refresh=0.1, grace=2.0, audit=0.1)
#: How long a gang may stay half-bound in tests of just that.
SOON = 0.25
NO_DELAY = RetryPolicy(attempts=3, min_delay=0.01, max_delay=0.05)
#: Jobs by priority, gangs whole, every rule of nodes; queues share as they like.
SIMPLE = configuration("priority", "gang", "predicates", "nodeorder")
KUBECTL = Path(__file__).parents[2] / ".venv/bin/kubectl"

T = TypeVar("T")
What = str | Callable[[], str]


class CountingClient(Client):
    """Counts the confirmed bindings."""

    def __init__(self, connection: Connection, binds: Counter[str], timeout: float) -> None:
        super().__init__(connection, timeout=timeout)
        self._binds = binds

    async def bind(self, namespace: str, name: str, uid: str, node: str, **facts: Any) -> None:
        await super().bind(namespace, name, uid, node, **facts)
        self._binds[uid] += 1


class World:
    """A running cluster. State is read from the API server, not from the scheduler."""

    def __init__(self, stage: ServerHandle, client: Client, policy: ActivePolicy, options: SchedulerOptions) -> None:
        self.stage = stage
        self.client = client
        self.policy = policy
        self.options = options
        self.home: Path | None = None
        #: Whether only the scheduler runs, so that no controller marks new nodes as ready.
        self.is_bare = False
        #: The number of successful binds by uid, of all schedulers.
        self.binds: Counter[str] = Counter()
        #: Differences of the cache from the cluster at the last comparison.
        self.differences: list[str] = []
        self._scheduler: Scheduler | None = None
        self._running: asyncio.Task[None] | None = None
        self._own_client: Client | None = None

    @property
    def server(self) -> ApiServer:
        """The local server, for tests that need it."""
        return self.stage.server

    @property
    def faults(self) -> Faults:
        return self.stage.faults

    @property
    def scheduler(self) -> Scheduler:
        assert self._scheduler is not None
        return self._scheduler

    # -- the scheduler's life -----------------------------------------------------------------------------------

    async def start(self, *, timeout: float = 30.0, **facts: Any) -> None:
        """Start a scheduler; `facts` are arguments of its constructor."""
        client = self._own_client = CountingClient(self.stage.connection, self.binds, timeout)
        scheduler = self._scheduler = Scheduler(client, self.policy, self.options, **facts)
        shorten_delays(scheduler)
        self._running = asyncio.ensure_future(scheduler.run())

    async def kill(self) -> None:
        """Kill the scheduler without any clean-up."""
        assert self._running is not None
        assert self._own_client is not None
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._own_client.close()
        self._running = self._own_client = None

    async def stop(self) -> None:
        """Stop the scheduler in good order."""
        if self._running is None or self._own_client is None:
            return
        self.scheduler.stop()
        try:
            await self._running
        finally:
            await self._own_client.close()
            self._running = self._own_client = None

    @property
    def failure(self) -> BaseException | None:
        """Return the error that ended the scheduler, if any."""
        running = self._running
        return running.exception() if running is not None and running.done() else None

    # -- objects ------------------------------------------------------------------------------------------------

    async def create(self, *manifests: Any) -> None:
        for manifest in flattened(manifests):
            await self._post(manifest)

    async def _post(self, manifest: Manifest) -> None:
        metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
        document = {**manifest, "metadata": metadata}
        path = await Applier(self.client)._path(document, metadata.get("namespace", "default"))
        await self.client.request("POST", path, body=msgspec.json.encode(document))
        if manifest["kind"] == "PriorityClass" and not manifest.get("globalDefault"):
            await until_usable(self.client, metadata["name"])

    async def add_nodes(self, pool: NodePool) -> None:
        for document in node_documents(pool):
            document["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            created = await self.client.create(NODES, document)
            if self.is_bare and created.spec.taints:
                taints = document.get("spec", {}).get("taints")
                await self.client.patch(NODES, created.metadata.name, {"spec": {"taints": taints}})

    async def patch(self, resource: Any, name: str, body: Any, **facts: Any) -> Any:
        return await self.client.patch(resource, name, body, **facts)

    async def delete(self, resource: Any, name: str, **facts: Any) -> None:
        await self.client.delete(resource, name, **facts)

    async def pods(self, prefix: str = "") -> list[Pod]:
        listing = await self.client.list(PODS)
        return [pod for pod in listing.items if pod.metadata.name.startswith(prefix)]

    async def pod(self, name: str) -> Pod | None:
        return await found(self.client.get(PODS, name))

    async def group(self, name: str) -> PodGroup | None:
        return await found(self.client.get(POD_GROUPS, name))

    async def queue(self, name: str) -> KubeQueue | None:
        return await found(self.client.get(QUEUES, name))

    async def events(self, name: str, reason: str = "") -> list[KubeEvent]:
        listing = await self.client.list(EVENTS)
        about = [event for event in listing.items if event.involved_object and event.involved_object.name == name]
        return [event for event in about if not reason or event.reason == reason]

    async def bound(self, prefix: str = "") -> list[Pod]:
        return [pod for pod in await self.pods(prefix) if pod.spec.node_name]

    async def set_status(self, name: str, status: Manifest) -> None:
        """Set the status of a pod, as its kubelet would."""
        await self.client.patch(PODS, name, {"status": status}, subresource="status", kind=PatchKind.STRATEGIC)

    # -- waiting ------------------------------------------------------------------------------------------------

    async def until(self, question: Callable[[], Awaitable[T]], what: What = "") -> T:
        """Wait for a true result, and return it."""
        end = time.monotonic() + DEADLINE
        while not (answer := await question()):
            if self.failure is not None:
                raise AssertionError(f"the scheduler failed; condition not reached: {_text(what)}") from self.failure
            if time.monotonic() > end:
                raise AssertionError(f"condition not reached: {_text(what)}; the last answer was {answer!r}")
            await asyncio.sleep(0.01)
        return answer

    async def until_true(self, question: Callable[[], object], what: What = "") -> None:
        async def asked() -> object:
            return question()

        await self.until(asked, what)

    async def until_bound(self, prefix: str, count: int) -> list[Pod]:
        """Wait until exactly so many pods are bound."""

        async def enough() -> tuple[list[Pod]] | None:
            pods = await self.bound(prefix)
            return (pods,) if len(pods) == count else None

        answer = await self.until(enough, f"{count} pods {prefix}* are bound")
        assert answer is not None
        return answer[0]

    async def until_phase(self, name: str, phase: str) -> PodGroup:
        async def reached() -> PodGroup | None:
            group = await self.group(name)
            return group if group and group.status.phase == phase else None

        group = await self.until(reached, f"PodGroup {name} is {phase}")
        assert group is not None
        return group

    async def until_condition(self, name: str, text: str) -> str:
        """Wait until the Unschedulable condition of a group is true and contains this text."""

        async def message_found() -> str:
            message = unschedulable(await self.group(name))
            return message if text in message else ""

        return await self.until(message_found, f"PodGroup {name} contains {text!r}")

    async def until_event(self, name: str, text: str, reason: str = "") -> KubeEvent:
        """Wait for an event on an object."""

        async def event_found() -> KubeEvent | None:
            return next((event for event in await self.events(name, reason) if text in (event.message or "")), None)

        event = await self.until(event_found, f"an event about {name} contains {text!r}")
        assert event is not None
        return event

    async def cycles(self, number: int = 2) -> None:
        """Wait for a few more cycles."""
        before = self.scheduler.cycles.number
        await self.until_true(lambda: self.scheduler.cycles.number >= before + number, f"{number} more cycles")

    # -- people -------------------------------------------------------------------------------------------------

    async def kubectl(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Run kubectl; return its output."""
        assert self.home is not None
        config = self.stage.kubeconfig(self.home)
        environment = {**os.environ, "KUBECONFIG": str(config), "HOME": str(self.home)}
        run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
        done = await asyncio.to_thread(
            run, [KUBECTL, *arguments], input=stdin, env=environment, text=True, capture_output=True,
            timeout=DEADLINE, check=False,
        )  # fmt: skip
        assert fails == bool(done.returncode), (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr


def _text(what: What) -> str:
    return what if isinstance(what, str) else what()


async def found(answer: Awaitable[T]) -> T | None:
    try:
        return await answer
    except ApiError as error:
        if error.is_missing:
            return None
        raise


def unschedulable(group: PodGroup | None) -> str:
    """Return the message of the group's Unschedulable condition while it is true."""
    conditions = (group.status.conditions if group else None) or ()
    return next((c.message or "" for c in conditions if c.type == "Unschedulable" and c.status == "True"), "")


def shorten_delays(scheduler: Scheduler) -> None:
    """Replace the production delays, which are too long for tests."""
    if isinstance(scheduler.executor, BindWorkers):
        scheduler.executor._binder._retry = NO_DELAY
    scheduler.evictors._evictor._retry = NO_DELAY
    scheduler.writer._retry = NO_DELAY
    scheduler.resync._retry = NO_DELAY


def policy_of(text: str = SIMPLE, *plugins: type[Plugin]) -> ActivePolicy:
    """Return a policy without a file, with further plugins."""
    policy = ActivePolicy(Registry([*PLUGINS, *plugins], ACTIONS))
    policy.program, policy.text = Program(parse_configuration(text, policy.registry), policy.registry), text
    return policy


@contextlib.asynccontextmanager
async def running_cluster(
    *pools: NodePool,
    policy: ActivePolicy | None = None,
    bare: bool = False,
    starts: bool = True,
    home: Path | None = None,
    server: ApiServer | None = None,
    **options: Any,
) -> AsyncIterator[World]:
    """A cluster with these nodes; the scheduler runs unless the test starts it."""
    async with contextlib.AsyncExitStack() as stack:
        stage = await stack.enter_async_context(TEST_SERVERS.stage(server))
        clients = [await stack.enter_async_context(Client(stage.connection)) for _ in range(3)]
        world = World(stage, clients[0], policy or policy_of(), replace(QUICK, **options))
        world.home, world.is_bare = home, bare
        if bare:
            await world.create(queue("root"), queue("default"))
        else:
            controllers = Controllers(clients[2], world.options.scheduler_names)
            parts = [FakeControllers(clients[1], eviction_delay=0.3).run(), controllers.run()]
            await stack.enter_async_context(_running(parts))
        for pool in pools:
            await world.add_nodes(pool)
        if starts:
            await world.start()
        stack.push_async_callback(world.stop)
        yield world


@contextlib.asynccontextmanager
async def _running(parts: Sequence[Awaitable[None]]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def cpus(count: int, cpu: int = 4, **facts: Any) -> NodePool:
    """Equal nodes node-00, node-01, ... with so many CPUs each."""
    return NodePool(count, resources={"cpu": str(cpu), "memory": "64Gi", "pods": "110"}, **facts)
