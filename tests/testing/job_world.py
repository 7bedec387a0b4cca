"""A small in-memory cluster with the controller of Volcano Jobs, for tests in virtual time.

The scheduler and the kubelets are played by the test: it admits groups, and sets how pods proceed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stromboli.controllers.jobs.pods import TASK_PODS, TaskPod
from stromboli.controllers.names import JOB
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.crds.install import crd_documents
from stromboli.kube.objects.catalogue import EVENTS, NODES, POD_GROUPS, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.fakes.garbage_collector import GarbageCollector
from stromboli.workloads.families.volcano.tasks import JOB_VERSION
from tests.testing.in_memory_client import InjectedFaults, InMemoryClient, SimulatedClient

NAMESPACE = "default"
NODE = "node"
TICK = 0.05


def task(name: str, replicas: int = 1, **fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never", **fields.pop("pod", {})}}
    return {"name": name, "replicas": replicas, "template": template, **fields}


@dataclass
class RunningControllers:
    """A simulated process of controllers, which can die at any point."""

    client: SimulatedClient
    task: asyncio.Task[None]
    #: The crash points that it has passed.
    passed: list[str] = field(default_factory=list)

    def kill(self) -> None:
        self.client.is_dead = True
        self.task.cancel()


class JobWorld:
    """`admits` and `runs`: whether new groups are admitted, and new pods run, without a step of the test."""

    def __init__(
        self,
        *,
        admits: bool = True,
        runs: bool = False,
        is_slow_to_end: bool = False,
        controllers: Sequence[str] = (JOB,),
        tick: float = TICK,
    ) -> None:
        self.controllers = controllers
        #: Seconds between looks at the cluster.
        self.tick = tick
        self.plane = ControlPlane()
        definitions = self.plane.registry.named("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        for document in crd_documents():
            self.plane.writes.create(definitions, "", dict(document), WriteOptions())
        self.client = InMemoryClient(self.plane)
        self.injected = InjectedFaults()
        self.admits, self.runs = admits, runs
        #: Whether pods that are deleted stay until `end_pods`.
        self.is_slow_to_end = is_slow_to_end
        #: The uids of all pods that ever existed, by name.
        self.generations: dict[str, list[str]] = {}
        self.process: RunningControllers | None = None
        self._running: list[asyncio.Task[None]] = []

    # -- processes ------------------------------------------------------------------------------------------------

    def start(self, die_at: str = "") -> RunningControllers:
        """Start the controllers; they die at this crash point, such as `after create pods#2`."""
        name, _, number = die_at.partition("#")
        passed: list[str] = []

        def point(reached: str) -> None:
            passed.append(reached)
            if reached == name and passed.count(reached) == int(number or 1):
                process.kill()
                raise asyncio.CancelledError

        client = SimulatedClient(self.plane, self.injected, point=point)
        controllers = Controllers(client, ["volcano"], enabled=self.controllers)
        process = RunningControllers(client, asyncio.ensure_future(controllers.run()), passed)
        self.process = process
        self._running.append(process.task)
        return process

    @contextlib.asynccontextmanager
    async def running(self, die_at: str = "") -> AsyncIterator[JobWorld]:
        for part in (self._play(), GarbageCollector(InMemoryClient(self.plane)).run()):
            self._running.append(asyncio.ensure_future(part))
        self.start(die_at)
        try:
            yield self
        finally:
            for each in self._running:
                each.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _play(self) -> None:
        """Be the scheduler and the kubelets."""
        while True:
            for group in (await self.client.list(POD_GROUPS)).items:
                if self.admits and group.status.phase in (None, "", "Pending"):
                    await self.group_phase(group.metadata.name, "Inqueue")
            for pod in await self.pods():
                uids = self.generations.setdefault(pod.metadata.name, [])
                if pod.metadata.uid not in uids:
                    uids.append(pod.metadata.uid)
                if pod.metadata.deletion_timestamp is not None:
                    if not self.is_slow_to_end:
                        await self._remove(pod)
                elif self.runs and pod.status.phase == "Pending":
                    await self.phase(pod.metadata.name, "Running")
            await asyncio.sleep(self.tick)

    # -- objects --------------------------------------------------------------------------------------------------

    async def job(self, name: str = "train", **spec: Any) -> VolcanoJob:
        spec.setdefault("tasks", [task("worker", 2)])
        metadata = {"name": name, **spec.pop("metadata", {})}
        return await self.client.create(VOLCANO_JOBS, {"metadata": metadata, "spec": spec}, namespace=NAMESPACE)

    async def change(self, name: str = "train", **spec: Any) -> None:
        await self.client.patch(VOLCANO_JOBS, name, {"spec": spec}, namespace=NAMESPACE)

    async def command(self, action: str, name: str = "train") -> None:
        job = await self.found(name)
        target = {"apiVersion": VOLCANO_JOBS.api_version, "kind": "Job", "name": name, "uid": job.metadata.uid}
        body = {"metadata": {"generateName": f"{name}-"}, "action": action, "target": target}
        await self.client.create(VOLCANO_COMMANDS, body, namespace=NAMESPACE)

    async def found(self, name: str = "train") -> VolcanoJob:
        return await self.client.get(VOLCANO_JOBS, name, namespace=NAMESPACE)

    async def pods(self) -> list[TaskPod]:
        return (await self.client.list(TASK_PODS)).items

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

    async def until(self, condition: Callable[[], Awaitable[Any]], seconds: float = 30.0) -> Any:
        async with asyncio.timeout(seconds):
            while not (answer := await condition()):
                await asyncio.sleep(self.tick)
            return answer

    async def until_created(self, name: str, seconds: float = 60.0) -> VolcanoJob:
        """Wait for a Job that a controller creates."""

        async def reached() -> VolcanoJob | None:
            found = (await self.client.list(VOLCANO_JOBS)).items
            return next((job for job in found if job.metadata.name == name), None)

        created: VolcanoJob = await self.until(reached, seconds)
        return created

    async def until_phase(self, phase: str, name: str = "train", seconds: float = 30.0) -> VolcanoJob:
        async def reached() -> VolcanoJob | None:
            job = await self.found(name)
            return job if job.status.state.phase == phase else None

        try:
            found: VolcanoJob = await self.until(reached, seconds)
        except TimeoutError:
            raise AssertionError(f"phase is {(await self.found(name)).status.state}, not {phase}") from None
        return found

    async def until_pods(self, *expected: str, seconds: float = 30.0) -> None:
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

    async def versions(self) -> Counter[str]:
        """The number of pods by generation."""
        annotations = (pod.metadata.annotations or {} for pod in await self.pods())
        return Counter(each.get(JOB_VERSION, "") for each in annotations)


def _matching(pod: TaskPod, expected: Iterable[str]) -> str:
    name = pod.metadata.name
    return name if name in expected else f"{name}={pod.status.phase}"


__all__ = ["NODES", "JobWorld", "task"]
