"""A job keeps its domain, whatever becomes of the scheduler, of its pods, and of the domain."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE
from stromboli.kube.objects.catalogue import PODS
from stromboli.workloads.groups import GROUP_NAME
from testbed.fault_proxy import BINDINGS
from testbed.plane import ControlPlane
from testbed.proxy_faults import Gate
from tests.e2e.environment.kubectl import kubectl
from tests.e2e.environment.processes import DEADLINE, Ground, ground
from tests.integration.processes.conftest import Command
from tests.testing.cases.case import configuration
from tests.testing.manifests.hypernodes import HARD_RACK, hyper_node, named

CONF = configuration("gang", "predicates", "network-topology-aware", actions="enqueue, allocate")
#: Pods of the gang, and nodes of a rack.
SIZE = 8
GROUPS = "podgroups.scheduling.volcano.sh"


class Racks:
    """Two racks of nodes that fit one pod each, and what kubectl prints about them."""

    def __init__(self, place: Ground) -> None:
        self.place = place
        self.names = f"{place.name}-rack-0", f"{place.name}-rack-1"
        self.nodes: list[list[str]] = []

    async def build(self) -> None:
        await self.place.create_nodes(2 * SIZE, 1)
        found = sorted(await self.place.free())
        self.nodes = [found[:SIZE], found[SIZE:]]
        racks = [hyper_node(name, 1, *named(*nodes)) for name, nodes in zip(self.names, self.nodes, strict=True)]
        for rack in racks:
            del rack["metadata"]["uid"]
        await self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(racks))

    async def remove(self) -> None:
        await self.kubectl("delete", "hypernodes", *self.names, "--ignore-not-found")

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        return await kubectl(self.place.plane, *words, "--namespace", self.place.name, stdin=stdin)

    def start(self) -> Command:
        conf = self.place.folder / "scheduler.yaml"
        conf.write_text(CONF)
        return self.place.start(f"--scheduler-conf={conf}", "--event-qps=50")

    async def submit(self) -> None:
        """The gang, or those of its pods that are missing."""
        spec = {"minMember": SIZE, "networkTopology": HARD_RACK}
        metadata = {"name": "train"}
        group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}
        pods = [self._pod(f"train-{number}") for number in range(SIZE)]
        await self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([group, *pods]))

    def _pod(self, name: str) -> dict[str, Any]:
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
        spec = {"schedulerName": self.place.name, "terminationGracePeriodSeconds": 0, "containers": [container]}
        metadata = {"name": name, "annotations": {GROUP_NAME: "train"}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    async def in_use(self) -> list[int]:
        """The racks in which the gang is."""
        nodes = {pod.spec.node_name for pod in await self.place.pods("train")}
        return [number for number, rack in enumerate(self.nodes) if nodes & set(rack)]

    async def record(self) -> str:
        path = ALLOCATED_HYPERNODE.replace(".", "\\.")
        return await self.kubectl("get", GROUPS, "train", "-o", f"jsonpath={{.metadata.annotations.{path}}}")

    async def until_recorded(self, domain: str) -> None:
        await self._until(self.record, lambda found: found == domain, f"train records the domain {domain!r}")

    async def until_message(self, words: str) -> None:
        async def events() -> str:
            return await self.kubectl("get", "events", "--field-selector=reason=DomainLost", "-o", "yaml")

        await self._until(events, lambda found: words in found, f"an event contains {words!r}")

    async def _until(self, ask: Callable[[], Awaitable[str]], holds: Callable[[str], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not holds(found := await ask()):
            assert time.monotonic() < deadline, f"waited in vain: {what}, but: {found}\n{self.place.logs}"
            await asyncio.sleep(0.1)


@pytest.fixture
async def racks(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Racks]:
    async with ground(plane, tmp_path) as place:
        made = Racks(place)
        await made.build()
        try:
            yield made
        finally:
            await made.remove()


def kill(scheduler: Command) -> None:
    scheduler.signal(signal.SIGKILL)
    scheduler.ends()


async def test_a_job_keeps_its_rack(racks: Racks) -> None:
    place = racks.place
    await place.occupy({racks.nodes[0][0]: 1})
    gate = Gate()
    place.proxy.faults.add(BINDINGS, gate, times=None, after=SIZE // 2)
    first = racks.start()
    await racks.submit()
    await place.until(lambda: gate.is_reached and not place.proxy.sent(BINDINGS), "half of the gang is bound")
    kill(first)
    gate.refuse()
    place.proxy.faults.clear()
    assert await place.bound("train") == SIZE // 2, place.logs

    # The first rack would do now, and comes first by name; but the job has begun in the second one.
    await place.client.delete(PODS, f"foreign-{racks.nodes[0][0]}-0", namespace=place.name, grace_period=0)
    second = racks.start()
    await place.until_bound("train", SIZE)
    assert await racks.in_use() == [1], place.logs
    await racks.until_recorded(racks.names[1])
    kill(second)

    # None of its pods has a node any more: only the record on the group is left.
    await racks.kubectl("delete", "pods", *(f"train-{number}" for number in range(SIZE)))
    third = racks.start()
    await racks.submit()
    await place.until_bound("train", SIZE)
    assert await racks.in_use() == [1], place.logs

    # A record that is deleted or changed by another client is written again.
    for record in (f"{ALLOCATED_HYPERNODE}-", f"{ALLOCATED_HYPERNODE}={racks.names[0]}"):
        await racks.kubectl("annotate", GROUPS, "train", "--overwrite", record)
        await racks.until_recorded(racks.names[1])

    await racks.kubectl("delete", "hypernode", racks.names[1])
    await racks.until_recorded("")
    await racks.until_message(f"previous domain '{racks.names[1]}' no longer exists")
    kill(third)
    assert await place.faults() == [], place.logs
