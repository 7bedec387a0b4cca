"""Scheduler processes behind a fault proxy, with nodes of their own and large gangs: for crash tests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from stromboli import kube
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import BIND_REQUESTS, NAMESPACES, NODES, POD_GROUPS, PODS, QUEUES
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from stromboli.workloads.groups import GROUP_NAME
from testbed.fault_proxy import WRITES, FaultProxy
from testbed.plane import NAMESPACE, ControlPlane
from testbed.proxy_faults import Fault, Gate
from tests.e2e.environment.permissions import admit
from tests.integration.processes.conftest import Command

DEADLINE = 60.0
#: Lease duration in these tests, in seconds.
LEASE = 5.0
POOL = "stromboli.dev/pool"
_LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/stromboli"
_NUMBERS = itertools.count(1)


class Ground:
    """Nodes that no other test uses, a namespace, and the scheduler processes of one test.

    All requests of the processes pass the proxy; requests of the test itself do not.
    """

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, client: Client, folder: Path) -> None:
        self.plane = plane
        self.proxy = proxy
        self.client = client
        self.name = f"ground-{next(_NUMBERS)}"
        self.folder = folder
        self._commands: list[Command] = []

    # -- processes ----------------------------------------------------------------------------------------------

    def start(self, *arguments: str, elects: bool = False, scheduler: str = "", account: str = "scheduler") -> Command:
        """Start a scheduler for this test's pods, or for those that name it; with `elects` it uses leader election."""
        environment = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.plane.kubeconfig_of(account)),
            "STROMBOLI_MASTER": self.proxy.url,
            "STROMBOLI_LEADER_ELECT": "true" if elects else "false",
        }
        command = Command(
            "scheduler",
            f"--scheduler-name={scheduler or self.name}",
            f"--node-selector={POOL}:{self.name}",
            "--schedule-period=200ms",
            "--recovery-period=1s",
            "--event-qps=0",
            "--listen-address=",
            "--healthz-address=",
            f"--leader-elect-resource-namespace={NAMESPACE}",
            f"--leader-elect-lease-duration={LEASE:g}s",
            "--leader-elect-renew-deadline=4s",
            "--leader-elect-retry-period=200ms",
            *arguments,
            environment=environment,
            folder=self.folder,
        )
        return self.keep(command)

    def keep(self, command: Command) -> Command:
        """Kill the process at the end of the test, and print its output if the test fails."""
        self._commands.append(command)
        return command

    def stop_before_write(self, number: int) -> tuple[Gate, Fault]:
        """Hold the write of this number, counted from 1, and all later ones at a gate."""
        gate = Gate()
        return gate, self.proxy.faults.add(WRITES, gate, times=None, after=number - 1)

    async def until_between_writes(self, gate: Gate) -> None:
        """Wait until the next write is held at the gate, and the server has answered all earlier ones."""
        await self.until(lambda: gate.is_reached and not self.proxy.sent(WRITES), "a write is held at the gate")

    # -- objects ------------------------------------------------------------------------------------------------

    async def create_nodes(self, count: int, cpu: int) -> None:
        resources = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        pool = NodePool(count, prefix=self.name, resources=resources, labels={POOL: self.name})
        documents = node_documents(pool)
        for document in documents:
            document["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        await create_nodes(self.client, documents)
        # A real server taints new nodes until a controller has seen them, and no such controller runs here.
        names = [document["metadata"]["name"] for document in documents]
        await asyncio.gather(*(self.client.patch(NODES, name, {"spec": {"taints": None}}) for name in names))

    async def create_gang(
        self, name: str, size: int, *, minimum: int | None = None, scheduler: str = "", **facts: Any
    ) -> None:
        """Create members of one cpu each; `facts` are fields of the group's spec."""
        spec = {"minMember": size if minimum is None else minimum, **facts}
        await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=self.name)
        members = [f"{name}-{place:03}" for place in range(size)]
        await asyncio.gather(*(self.create_pod(member, group=name, scheduler=scheduler) for member in members))

    async def occupy(self, cpus: dict[str, int]) -> None:
        """Create pods of another scheduler that use this number of cpus on these nodes."""
        wanted = [(node, place) for node, count in cpus.items() for place in range(count)]
        await asyncio.gather(*(self.create_pod(f"foreign-{node}-{place}", node=node) for node, place in wanted))

    async def create_pod(self, name: str, *, group: str = "", node: str = "", scheduler: str = "") -> None:
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
        # No kubelet runs: evicted pods disappear at once.
        spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 0}
        spec |= {"nodeName": node} if node else {"schedulerName": scheduler or self.name}
        metadata = {"name": name, "annotations": {GROUP_NAME: group}} if group else {"name": name}
        await self.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=self.name)

    async def pods(self, prefix: str = "") -> list[kube.Pod]:
        listing = await self.client.list(PODS, namespace=self.name)
        return [pod for pod in listing.items if pod.metadata.name.startswith(prefix)]

    async def bound(self, prefix: str = "") -> int:
        return sum(bool(pod.spec.node_name) for pod in await self.pods(prefix))

    async def free(self) -> dict[str, int]:
        """Free cpus of every node."""
        free = {node.metadata.name: _cpus(node) for node in await self._nodes()}
        for pod in await self.pods():
            if pod.spec.node_name in free:
                free[pod.spec.node_name] -= 1
        return free

    async def _nodes(self) -> list[kube.KubeNode]:
        return (await self.client.list(NODES, label_selector=f"{POOL}={self.name}")).items

    # -- waiting ------------------------------------------------------------------------------------------------

    async def until(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not reached():
            assert time.monotonic() < deadline, f"timed out: {what}\n{self.logs}"
            await asyncio.sleep(0.01)

    async def until_bound(self, prefix: str, count: int) -> None:
        """Wait until exactly this number of pods is bound."""
        deadline = time.monotonic() + DEADLINE
        while (found := await self.bound(prefix)) != count:
            waited = f"timed out: {found} instead of {count} pods of {prefix}* are bound"
            assert time.monotonic() < deadline, f"{waited}\n{self.logs}"
            await asyncio.sleep(0.05)

    async def until_waiting(self, group: str) -> None:
        """Wait until the scheduler has evaluated a group and reported why it is pending."""
        deadline = time.monotonic() + DEADLINE
        while not await self._waits(group):
            assert time.monotonic() < deadline, f"timed out: {group} reports why it is pending\n{self.logs}"
            await asyncio.sleep(0.05)

    async def _waits(self, group: str) -> bool:
        conditions = (await self.client.get(POD_GROUPS, group, namespace=self.name)).status.conditions or ()
        return any(c.type == "Unschedulable" and c.status == "True" for c in conditions)

    @property
    def logs(self) -> str:
        """Output of the processes, for failure messages."""
        return "\n".join(f"--- process {number}\n{command.output}" for number, command in enumerate(self._commands))

    # -- what must hold -----------------------------------------------------------------------------------------

    async def faults(self) -> list[str]:
        """All violated invariants, by the objects on the server and the requests that passed the proxy."""
        return [*self._bound_twice(), *await self._over_committed(), *await self._torn()]

    def _bound_twice(self) -> list[str]:
        return [f"{uid} was bound {count} times" for uid, count in self.proxy.binds().items() if count > 1]

    async def _over_committed(self) -> list[str]:
        return [f"node {name} lacks {-free} cpus" for name, free in (await self.free()).items() if free < 0]

    async def _torn(self) -> list[str]:
        placed: Counter[str] = Counter()
        for pod in await self.pods():
            placed[(pod.metadata.annotations or {}).get(GROUP_NAME, "")] += bool(pod.spec.node_name)
        return [
            f"{placed[group.metadata.name]} members of {group.metadata.name} have a node, and at least "
            f"{group.spec.min_member} should"
            for group in (await self.client.list(POD_GROUPS, namespace=self.name)).items
            if 0 < placed[group.metadata.name] < (group.spec.min_member or 0)
        ]

    # -- set-up and clean-up ------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.name}})

    async def clear(self) -> None:
        """Kill the processes and delete everything that would disturb the next test."""
        for command in self._commands:
            command.kill()
        self.proxy.faults.clear()
        at_once = msgspec.json.encode({"gracePeriodSeconds": 0})
        kinds = (BIND_REQUESTS, PODS, POD_GROUPS)
        for path in (*(kind.path(namespace=self.name) for kind in kinds), _LEASE_PATH):
            with contextlib.suppress(ApiError):
                await self.client.request("DELETE", path, body=at_once)
        selected = {"labelSelector": f"{POOL}={self.name}"}
        await self.client.request("DELETE", NODES.path(), params=selected, body=at_once)


def _cpus(node: kube.KubeNode) -> int:
    return parse_quantity(str((node.status.allocatable or {})["cpu"]), milli=False)


@contextlib.asynccontextmanager
async def ground(plane: ControlPlane, folder: Path, kind: type[Ground] = Ground) -> AsyncIterator[Ground]:
    """Set up a test of processes, with a proxy in front of the server."""
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await furnish(plane, client)
        with FaultProxy(plane.url) as proxy:
            made = kind(plane, proxy, client, folder)
            await made.prepare()
            try:
                yield made
            finally:
                await made.clear()


async def furnish(plane: ControlPlane, client: Client) -> None:
    """Install Volcano's kinds, a queue, and the permissions of the process accounts."""
    await install_crds(client)
    await admit(plane, client)
    with contextlib.suppress(ApiError):
        await client.create(QUEUES, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
