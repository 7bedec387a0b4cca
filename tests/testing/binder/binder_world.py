"""A small in-memory cluster with binders, for tests in virtual time."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import yaml

from stromboli import kube
from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.requests.binder import Binder
from stromboli.binding.requests.placements import BOUND_BY
from stromboli.binding.requests.wiring import BinderOptions
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED, BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS, EVENTS, NODES, PODS
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.write_options import WriteOptions
from tests.testing.in_memory_client import InjectedFaults, InMemoryClient, SimulatedClient

_DEFINITION = yaml.safe_load(
    (files("stromboli.kube") / "crds" / "bindrequests.scheduling.stromboli.dev.yaml").read_text()
)
ENDED = (SUCCEEDED, FAILED)


@dataclass
class Running:
    """A simulated binder process, which can die at any point."""

    client: SimulatedClient
    binder: Binder
    task: asyncio.Task[None]
    #: The crash points that it has reached.
    passed: list[str] = field(default_factory=list)
    #: The crash point at which it dies, and at which pass.
    dies_at: tuple[str, int] = ("", 0)

    @property
    def is_dead(self) -> bool:
        return self.client.is_dead

    def kill(self) -> None:
        self.client.is_dead = True
        self.task.cancel()


class World:
    def __init__(self, seed: int = 0) -> None:
        self.chance = random.Random(seed)  # noqa: S311
        self.plane = ControlPlane()
        definitions = self.plane.registry.named("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        self.plane.writes.create(definitions, "", dict(_DEFINITION), WriteOptions())
        self.injected = InjectedFaults(self.chance)
        self.client = InMemoryClient(self.plane)
        self.binders: list[Running] = []
        self.uids: dict[str, str] = {}
        #: The uids of pods that another client deleted or bound.
        self.disturbed: set[str] = set()
        self._numbers = itertools.count(1)

    # -- objects ------------------------------------------------------------------------------------------------

    async def node(self, name: str, cpu: int = 4) -> None:
        allocatable = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        status = {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        await self.client.create(NODES, {"metadata": {"name": name}, "status": status})
        # New nodes have a taint until a controller removes it, and there is none.
        await self.client.patch(NODES, name, {"spec": {"taints": None}})

    async def pod(self, name: str, cpu: int = 1, *, node: str = "", **spec: Any) -> str:
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": str(cpu)}}}
        body: dict[str, Any] = {"containers": [container], "schedulerName": "stromboli", **spec}
        body["terminationGracePeriodSeconds"] = 0
        if node:
            body["nodeName"] = node
        made = await self.client.create(PODS, {"metadata": {"name": name}, "spec": body}, namespace="default")
        self.uids[name] = made.metadata.uid
        return made.metadata.uid

    async def gang(self, name: str, nodes: str, *, cpu: int = 1, **facts: Any) -> BindRequest:
        """Create a pod for every node (one letter each), and a request that binds them there."""
        pods = {f"{name}-{place}": node for place, node in enumerate(nodes)}
        for pod in pods:
            await self.pod(pod, cpu)
        return await self.request(name, pods, **facts)

    async def request(
        self,
        name: str,
        pods: Mapping[str, str],
        *,
        minimum: int | None = None,
        scheduler: str = "stromboli",
        facts: Mapping[str, Mapping[str, Any]] | None = None,
        **spec: Any,
    ) -> BindRequest:
        members = [
            {"podName": pod, "podUID": self.uids[pod], "selectedNode": node, **(facts or {}).get(pod, {})}
            for pod, node in pods.items()
        ]
        needed = len(members) if minimum is None else minimum
        body = {
            "podGroup": name, "scheduler": scheduler, "epoch": 1, "minMember": needed, "size": len(members),
            "pods": members, **spec,
        }  # fmt: skip
        return await self.client.create(BIND_REQUESTS, {"metadata": {"name": name}, "spec": body}, namespace="default")

    async def found(self, name: str) -> BindRequest:
        return await self.client.get(BIND_REQUESTS, name, namespace="default")

    async def requests(self) -> list[BindRequest]:
        return (await self.client.list(BIND_REQUESTS)).items

    async def pods(self) -> dict[str, kube.Pod]:
        return {pod.metadata.name: pod for pod in (await self.client.list(PODS)).items}

    async def places(self, gang: str) -> str:
        """Return the nodes of a gang, a letter each; a dash for a pod without a node, a dot for a deleted one."""
        pods = await self.pods()
        names = [name for name in self.uids if name.rpartition("-")[0] == gang]
        return "".join((pods[name].spec.node_name or "-") if name in pods else "." for name in names)

    async def events(self, reason: str) -> list[str]:
        found = (await self.client.list(EVENTS)).items
        return [f"{e.involved_object.kind} {e.involved_object.name}: {e.message}" for e in found if e.reason == reason]

    async def remove_pod(self, name: str) -> None:
        self.disturbed.add(self.uids[name])
        await self._gone(lambda: self.client.delete(PODS, name, namespace="default", grace_period=0))

    async def remove_node(self, name: str) -> None:
        await self._gone(lambda: self.client.delete(NODES, name))

    async def remove_request(self, name: str) -> None:
        await self._gone(lambda: self.client.delete(BIND_REQUESTS, name, namespace="default"))

    async def bind_elsewhere(self, name: str, node: str) -> None:
        """Another scheduler binds a pod."""
        self.disturbed.add(self.uids[name])
        await self._gone(lambda: self.client.bind("default", name, self.uids[name], node))

    async def _gone(self, write: Callable[[], Awaitable[object]]) -> None:
        try:
            await write()
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise

    # -- binders ------------------------------------------------------------------------------------------------

    def start(
        self,
        plugins: Sequence[BinderPlugin] = (),
        options: BinderOptions | None = None,
        *,
        dies_at: tuple[str, int] = ("", 0),
    ) -> Running:
        term = next(self._numbers)
        passed: list[str] = []
        client = SimulatedClient(self.plane, self.injected, point=lambda name: self._pass(running, name))
        binder = Binder(
            client, plugins, options or BinderOptions(event_rate=0), epoch=lambda: term,
            clock=asyncio.get_running_loop().time,
        )  # fmt: skip
        binder.lead()
        running = Running(client, binder, asyncio.ensure_future(binder.run()), passed, dies_at)
        self.binders.append(running)
        return running

    def _pass(self, running: Running, name: str) -> None:
        running.passed.append(name)
        if (name, Counter(running.passed)[name]) == running.dies_at:
            running.kill()

    @property
    def alive(self) -> list[Running]:
        return [each for each in self.binders if not each.is_dead]

    # -- waiting ------------------------------------------------------------------------------------------------

    async def until(self, reached: Callable[[], Awaitable[bool]], seconds: float = 600.0) -> None:
        """Wait for a condition, in virtual time."""
        end = asyncio.get_running_loop().time() + seconds
        while not await reached():
            assert asyncio.get_running_loop().time() < end, f"timed out\n{await self.described()}"
            await asyncio.sleep(0.2)

    async def until_settled(self, seconds: float = 600.0) -> None:
        """Wait until all requests have ended, and everything is reported."""

        async def settled() -> bool:
            return all(each.status.phase in ENDED for each in await self.requests())

        await self.until(settled, seconds)
        for running in self.alive:
            await running.binder.conditions.flush(30.0)
            await running.binder.recorder.flush(30.0)
        await asyncio.sleep(1.0)

    async def described(self) -> str:
        lines = [f"{each.metadata.name}: {each.status}" for each in await self.requests()]
        lines += [f"{name}: {pod.spec.node_name or '-'}" for name, pod in (await self.pods()).items()]
        return "\n".join(lines)

    async def close(self) -> None:
        for running in self.binders:
            running.kill()
        await asyncio.gather(*(each.task for each in self.binders), return_exceptions=True)

    # -- what must hold -----------------------------------------------------------------------------------------

    async def faults(self) -> list[str]:
        """Return all violated invariants after all requests have ended."""
        pods, requests = await self.pods(), await self.requests()
        return [
            *self._bound_twice(),
            *await self._over_committed(pods),
            *(fault for each in requests for fault in self._torn(each, pods)),
            *self._held(),
            *self._wrong_conditions(requests, pods),
        ]

    def _bound_twice(self) -> list[str]:
        binds = Counter(path for write, path in self.injected.writes if write == "create pods/binding")
        removed = {name for name, uid in self.uids.items() if uid in self.disturbed}
        return [
            f"{path} was bound {count} times"
            for path, count in binds.items()
            if count > 1 and path.split("/")[-2] not in removed
        ]

    async def _over_committed(self, pods: Mapping[str, kube.Pod]) -> list[str]:
        """Count only pods that the binder bound."""
        used: Counter[str] = Counter()
        for pod in pods.values():
            if BOUND_BY in (pod.metadata.annotations or {}):
                used[pod.spec.node_name or ""] += _cpu(pod)
        offered = {node.metadata.name: int(str((node.status.allocatable or {})["cpu"])) for node in
                   (await self.client.list(NODES)).items}  # fmt: skip
        return [f"node {name} lacks {used[name] - cpu} cpus" for name, cpu in offered.items() if used[name] > cpu]

    def _torn(self, request: BindRequest, pods: Mapping[str, kube.Pod]) -> list[str]:
        """A request that succeeded has its minimum, and one that failed has left no pod behind."""
        by_uid = {pod.metadata.uid: pod for pod in pods.values()}
        name, members = request.metadata.name, request.spec.pods
        standing = [each.pod_uid for each in members if each.pod_uid in by_uid and by_uid[each.pod_uid].spec.node_name]
        marks = {uid: (by_uid[uid].metadata.annotations or {}).get(BOUND_BY) for uid in standing}
        ours = [uid for uid in standing if marks[uid] == name]
        found = []
        if request.status.phase == FAILED and ours:
            found.append(f"request {name} failed and left {len(ours)} bound pods")
        lost = sum(each.pod_uid in self.disturbed and each.pod_uid not in standing for each in members)
        if request.status.phase == SUCCEEDED and len(standing) + lost < request.spec.min_member:
            found.append(f"request {name} succeeded with {len(standing)} of {request.spec.min_member} pods")
        chosen = {each.pod_uid: each.selected_node for each in members}
        found += [
            f"pod {uid} is not on the node that {name} selected"
            for uid in ours
            if by_uid[uid].spec.node_name != chosen[uid]
        ]
        return found

    def _held(self) -> list[str]:
        return [f"a binder assumes {len(each.binder.assumed)} placements" for each in self.alive if each.binder.assumed]

    def _wrong_conditions(self, requests: Sequence[BindRequest], pods: Mapping[str, kube.Pod]) -> list[str]:
        by_uid = {pod.metadata.uid: pod for pod in pods.values()}
        found = []
        for request in requests:
            for state in request.status.pods:
                pod = by_uid.get(state.pod_uid)
                if pod is None or state.pod_uid in self.disturbed:
                    continue
                found_status = [c.status for c in pod.status.conditions or () if c.type == "PodBound"]
                expected = "True" if pod.spec.node_name else "False"
                if found_status != [expected]:
                    found.append(f"pod {pod.metadata.name} has PodBound={found_status}, expected {expected}")
        return found


def _cpu(pod: kube.Pod) -> int:
    requests = [(each.resources and each.resources.requests) or {} for each in pod.spec.containers or ()]
    return sum(int(str(each.get("cpu", 0))) for each in requests)
