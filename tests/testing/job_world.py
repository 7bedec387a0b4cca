"""A small in-memory cluster with the controller of Volcano Jobs, for tests in virtual time.

The scheduler and the kubelets are played by the test: it admits groups, and sets how pods proceed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.controllers.jobs.pods import TASK_PODS, TaskPod
from stromboli.controllers.names import JOB
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.crds.install import crd_documents
from stromboli.kube.objects.catalogue import EVENTS, POD_GROUPS, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.watch.informer import Informer
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.fakes.garbage_collector import GarbageCollector
from stromboli.workloads.families.volcano.tasks import JOB_VERSION
from tests.testing.in_memory_client import InjectedFaults, InMemoryClient, SimulatedClient

NAMESPACE = "default"
NODE = "node"
TICK = 0.05
RESTART_SECONDS = 1.0
#: Virtual seconds until a test fails that waits: requests that fail are retried after up to half a minute.
LONGEST = 300.0


def crash_points(writes: Mapping[str, int]) -> list[str]:
    """Return the moments before and after each write, by the number of times that a life makes it."""
    return [
        f"{moment} {write}#{number + 1}"
        for write, count in writes.items()
        for number in range(count)
        for moment in ("before", "after")
    ]


def task(name: str, replicas: int = 1, **fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main"}
    spec = {"containers": [container], "restartPolicy": "Never", "nodeName": NODE, **fields.pop("pod", {})}
    template = {"spec": spec}
    return {"name": name, "replicas": replicas, "template": template, **fields}


class FreezingClient(SimulatedClient):
    """A client whose watches can stand still, by plural."""

    frozen: set[str]

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async with super().stream(path, params, idle_seconds=idle_seconds) as lines:
            yield self._thawed(path.rpartition("/")[2], lines)

    async def _thawed(self, plural: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            while plural in self.frozen:
                await asyncio.sleep(TICK)
            yield line


@dataclass
class RunningControllers:
    """A simulated process of controllers, which can die at any point."""

    client: SimulatedClient
    task: asyncio.Task[None]

    def kill(self) -> None:
        self.client.is_dead = True
        self.task.cancel()


class JobWorld:
    """`admits` and `runs`: whether new groups are admitted, and new pods run, without a step of the test. `end_seconds`
    is the time that pods take to end when they are deleted; None for until `end_pods`.
    """

    def __init__(
        self,
        *,
        admits: bool = True,
        runs: bool = False,
        end_seconds: float | None = 0.0,
        controllers: Sequence[str] = (JOB,),
    ) -> None:
        self.controllers = controllers
        self.plane = ControlPlane()
        definitions = self.plane.registry.named("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        for document in crd_documents():
            self.plane.writes.create(definitions, "", dict(document), WriteOptions())
        self.client = InMemoryClient(self.plane)
        self.injected = InjectedFaults()
        self.admits, self.runs = admits, runs
        self.end_seconds = end_seconds
        #: Names of pods of which the first does not run.
        self.stuck: set[str] = set()
        #: As they were when they were removed.
        self.removed_groups: list[PodGroup] = []
        #: The uids of all pods that ever existed, by name.
        self.generations: dict[str, list[str]] = {}
        #: Generations of pods that existed at a time.
        self.mixed: list[tuple[str, ...]] = []
        #: The crash points that the controllers have passed, and the number of their deaths.
        self.passed: list[str] = []
        self.deaths = 0
        self.process: RunningControllers | None = None
        self._running: list[asyncio.Task[None]] = []
        self._ending: set[str] = set()
        self._frozen: set[str] = set()
        self._groups, self._pods = Informer(self.client, POD_GROUPS), Informer(self.client, TASK_PODS)
        self._groups.listen(self._group_changed)
        self._pods.listen(self._pod_changed)

    # -- processes ------------------------------------------------------------------------------------------------

    def start(self, die_at: str = "") -> RunningControllers:
        """Start the controllers; they die at this crash point, such as `after create pods#2`, and are started again."""
        name, _, number = die_at.partition("#")

        def point(reached: str) -> None:
            self.passed.append(reached)
            if reached == name and self.passed.count(reached) == int(number or 1):
                process.kill()
                self.deaths += 1
                self._do(self._start_later())
                raise asyncio.CancelledError

        client = FreezingClient(self.plane, self.injected, point=point)
        client.frozen = self._frozen
        controllers = Controllers(client, ["volcano"], enabled=self.controllers)
        process = RunningControllers(client, asyncio.ensure_future(controllers.run()))
        self.process = process
        self._running.append(process.task)
        return process

    async def _start_later(self) -> None:
        await asyncio.sleep(RESTART_SECONDS)
        self.start()

    @contextlib.contextmanager
    def frozen_watch(self, plural: str) -> Iterator[None]:
        """Let the watch of the controllers stand still."""
        self._frozen.add(plural)
        try:
            yield
        finally:
            self._frozen.discard(plural)

    @contextlib.asynccontextmanager
    async def running(self, die_at: str = "") -> AsyncIterator[JobWorld]:
        for part in (self._groups, self._pods, GarbageCollector(InMemoryClient(self.plane))):
            self._do(part.run())
        self.start(die_at)
        try:
            yield self
        finally:
            for each in self._running:
                each.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is None and old is not None:
            self.removed_groups.append(old)
        if self.admits and new is not None and new.status.phase in (None, "", "Pending"):
            self._do(self.group_phase(new.metadata.name, "Inqueue"))

    def _pod_changed(self, old: TaskPod | None, new: TaskPod | None) -> None:
        if new is None:
            return
        name, uid = new.metadata.name, new.metadata.uid
        uids = self.generations.setdefault(name, [])
        if uid not in uids:
            uids.append(uid)
            versions = {version_of(pod) for pod in self._pods.objects.values()}
            if len(versions) > 1:
                self.mixed.append(tuple(sorted(versions)))
            is_stuck = name in self.stuck and len(uids) == 1
            if self.runs and not is_stuck:
                self._do(self.phase(name, "Running"))
        is_ending = new.metadata.deletion_timestamp is not None
        if is_ending and uid not in self._ending and self.end_seconds is not None:
            self._ending.add(uid)
            self._do(self._end(new, self.end_seconds))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._running.append(asyncio.ensure_future(work))

    async def _end(self, pod: TaskPod, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._remove(pod)

    # -- objects --------------------------------------------------------------------------------------------------

    async def job(self, name: str = "train", **spec: Any) -> VolcanoJob:
        spec.setdefault("tasks", [task("worker", 2)])
        metadata = {"name": name, **spec.pop("metadata", {})}
        return await self.client.create(VOLCANO_JOBS, {"metadata": metadata, "spec": spec}, namespace=NAMESPACE)

    async def change(self, name: str = "train", **spec: Any) -> None:
        await self.client.patch(VOLCANO_JOBS, name, {"spec": spec}, namespace=NAMESPACE)

    async def plain_pod(self, name: str, **metadata: Any) -> None:
        spec = {"containers": [{"name": "main", "image": "example/main"}]}
        await self.client.create(TASK_PODS, {"metadata": {"name": name, **metadata}, "spec": spec}, namespace=NAMESPACE)

    async def copy_of(self, pod: str) -> dict[str, Any]:
        """Return what a client would send to create a pod again."""
        document: dict[str, Any] = msgspec.json.decode(
            await self.client.request("GET", TASK_PODS.path(namespace=NAMESPACE, name=pod))
        )
        for field in ("uid", "resourceVersion", "creationTimestamp"):
            del document["metadata"][field]
        del document["status"]
        return document

    async def new_group(self) -> PodGroup | None:
        return next((group for group in await self.groups() if group.status.phase in (None, "", "Pending")), None)

    async def command(self, action: str, name: str = "train") -> None:
        job = await self.found(name)
        target = {"apiVersion": VOLCANO_JOBS.api_version, "kind": "Job", "name": name, "uid": job.metadata.uid}
        body = {"metadata": {"generateName": f"{name}-"}, "action": action, "target": target}
        await self.client.create(VOLCANO_COMMANDS, body, namespace=NAMESPACE)

    async def found(self, name: str = "train") -> VolcanoJob:
        return await self.client.get(VOLCANO_JOBS, name, namespace=NAMESPACE)

    async def pods(self) -> list[TaskPod]:
        return (await self.client.list(TASK_PODS)).items

    def group_of(self, job: str = "train") -> PodGroup | None:
        owned = (group for group in self._groups.objects.values() if group.metadata.name.startswith(f"{job}-"))
        return next(owned, None)

    async def groups(self) -> list[PodGroup]:
        return (await self.client.list(POD_GROUPS)).items

    async def events(self, reason: str = "") -> list[str]:
        found = (await self.client.list(EVENTS)).items
        return [event.message or "" for event in found if reason in ("", event.reason)]

    # -- what the scheduler and kubelets do -----------------------------------------------------------------------

    async def group_phase(self, name: str, phase: str) -> None:
        await self.client.patch(POD_GROUPS, name, {"status": {"phase": phase}}, namespace=NAMESPACE)

    async def phase(self, pod: str, phase: str, exit_code: int | None = None, restarts: int = 0) -> None:
        container: dict[str, Any] = {"name": "main", "ready": phase == "Running", "restartCount": restarts}
        container |= {"image": "example/main", "imageID": ""}
        if exit_code is not None:
            container["state"] = {"terminated": {"exitCode": exit_code}}
        body = {"status": {"phase": phase, "containerStatuses": [container]}}
        with contextlib.suppress(ApiError):
            await self.client.patch(TASK_PODS, pod, body, namespace=NAMESPACE, subresource="status")

    async def all_pods(self, phase: str) -> None:
        for pod in await self.pods():
            await self.phase(pod.metadata.name, phase)

    async def evict(self, pod: str) -> None:
        """Delete a pod, as an eviction does."""
        await self.client.delete(TASK_PODS, pod, namespace=NAMESPACE)

    async def end_pods(self) -> None:
        """Remove the pods that are being deleted, as kubelets do."""
        for pod in await self.pods():
            if pod.metadata.deletion_timestamp is not None:
                await self._remove(pod)

    async def _remove(self, pod: TaskPod) -> None:
        with contextlib.suppress(ApiError):
            await self.client.delete(
                TASK_PODS, pod.metadata.name, namespace=NAMESPACE, uid=pod.metadata.uid, grace_period=0
            )

    # -- waiting --------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], Awaitable[Any]], seconds: float = LONGEST) -> Any:
        async with asyncio.timeout(seconds):
            while not (answer := await condition()):
                await asyncio.sleep(TICK)
            return answer

    async def until_created(self, name: str, seconds: float = 60.0) -> VolcanoJob:
        """Wait for a Job that a controller creates."""

        async def reached() -> VolcanoJob | None:
            found = (await self.client.list(VOLCANO_JOBS)).items
            return next((job for job in found if job.metadata.name == name), None)

        created: VolcanoJob = await self.until(reached, seconds)
        return created

    async def until_phase(self, phase: str, name: str = "train", seconds: float = LONGEST) -> VolcanoJob:
        async def reached() -> VolcanoJob | None:
            job = await self.found(name)
            return job if job.status.state.phase == phase else None

        try:
            found: VolcanoJob = await self.until(reached, seconds)
        except TimeoutError:
            raise AssertionError(f"phase is {(await self.found(name)).status.state}, not {phase}") from None
        return found

    async def until_restarts(self, restarts: int, version: int | None = None, name: str = "train") -> VolcanoJob:
        """Wait until a Job runs, all its pods too, after this number of restarts."""

        async def reached() -> VolcanoJob | None:
            job = await self.found(name)
            status = job.status
            replicas = sum(each["replicas"] for each in job.spec["tasks"])
            is_new = (status.retry_count or 0) == restarts and version in (None, status.version or 0)
            return job if is_new and status.state.phase == "Running" and status.running == replicas else None

        found: VolcanoJob = await self.until(reached)
        return found

    async def until_pods(self, *expected: str, seconds: float = LONGEST) -> None:
        """Wait until exactly these pods exist, as `name=phase` or `name`, and stay."""
        found: list[str] = []

        async def reached() -> bool:
            nonlocal found
            found = [_matching(pod, expected) for pod in await self.pods()]
            return sorted(found) == sorted(expected)

        try:
            await self.until(reached, seconds)
            await asyncio.sleep(1.0)
            assert await reached(), f"the pods are {found}, not {sorted(expected)}"
        except TimeoutError:
            raise AssertionError(f"the pods are {found}, not {sorted(expected)}") from None

    async def settled(self, seconds: float = 3.0) -> VolcanoJob:
        await asyncio.sleep(seconds)
        return await self.found()


def version_of(pod: TaskPod) -> str:
    return (pod.metadata.annotations or {}).get(JOB_VERSION, "")


def _matching(pod: TaskPod, expected: Iterable[str]) -> str:
    name = pod.metadata.name
    return name if name in expected else f"{name}={pod.status.phase}"
