"""Arrivals and ends of gangs in virtual time, through a whole scheduler without its watches.

The scheduler is the real one: cache, cycles, bind workers, status writer, events, metrics and maintenance. The client
answers at once, and what the watches would report is passed to the cache directly, so that a gang costs a fraction of a
millisecond.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any

import msgspec

from benchmarks import clusters
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import static_token
from stromboli.kube.objects.pod import PodStatus
from stromboli.kube.objects.resources import Resource
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from tests.testing.world import policy_of

SIZE = 2
NODES, CPU = 10, 20
FULL = NODES * CPU // SIZE
#: Gangs that arrive per cycle, and virtual seconds between cycles.
_PER_CYCLE = 50
_SECONDS = 30.0


class SoakClient(Client):
    """Accepts every write. Bindings are kept until the driver reports them."""

    def __init__(self, soak: Soak) -> None:
        super().__init__(Connection("http://memory", None, static_token("")))
        self._soak = soak
        self.bound: list[tuple[str, str, dict[str, str]]] = []

    async def bind(self, namespace: str, name: str, uid: str, node: str, **facts: Any) -> None:
        self.bound.append((uid, node, facts["annotations"]))

    async def patch(self, resource: Resource[Any], name: str, body: Any, *, namespace: str = "", **facts: Any) -> Any:
        known = self._soak.scheduler.ingest.get(resource.type, f"{namespace}/{name}" if namespace else name)
        assert known is not None
        merged = _merged(msgspec.to_builtins(known), body)
        merged["metadata"]["resourceVersion"] = self._soak.next_version()
        return msgspec.convert(merged, resource.type)

    async def create(self, resource: Resource[Any], body: Any, *, namespace: str = "") -> Any:
        return None


class Soak:
    """Keeps a cluster full: with every cycle the oldest gangs end and as many arrive."""

    def __init__(self) -> None:
        self.now = 0.0
        self.gangs = 0
        #: Pods that started, and gangs that ended.
        self.started = self.ended = 0
        self._version = 1
        self._chance = random.Random(1)  # noqa: S311
        self.client = SoakClient(self)
        options = SchedulerOptions(event_rate=0.0)
        self.scheduler = Scheduler(self.client, policy_of(), options, clock=lambda: self.now)
        self._running: deque[tuple[kube.PodGroup, list[str]]] = deque()
        self._pods: dict[str, kube.Pod] = {}
        for entry in (*standard_queues(), *(clusters.plain_node(number, CPU) for number in range(NODES))):
            self.report(entry)

    def next_version(self) -> str:
        self._version += 1
        return str(self._version)

    def report(self, entry: Any, *, is_gone: bool = False) -> Any:
        """Pass an object to the cache, as a watch does, with a new version."""
        metadata = msgspec.structs.replace(entry.metadata, resource_version=self.next_version())
        entry = msgspec.structs.replace(entry, metadata=metadata)
        ingest = self.scheduler.ingest
        ingest.remove(entry) if is_gone else ingest.apply(entry)
        return entry

    async def run(self, gangs: int) -> None:
        """Run until so many further gangs have arrived."""
        scheduler, until = self.scheduler, self.gangs + gangs
        parts = (scheduler.executor, scheduler.writer, scheduler.recorder)
        services = [asyncio.ensure_future(part.run()) for part in parts]
        while self.gangs < until:
            self.now += _SECONDS
            for _ in range(_PER_CYCLE):
                if len(self._running) >= FULL:
                    self._end(*self._running.popleft())
                self._arrive()
            scheduler.maintenance.run()
            scheduler.run_cycle()
            await self._settle()
            self._start()
        for service in services:
            service.cancel()
        await asyncio.gather(*services, return_exceptions=True)

    async def _settle(self) -> None:
        """Let the workers finish everything that can be written."""
        scheduler = self.scheduler
        while scheduler.executor.waiting or scheduler.writer.waiting or scheduler.recorder._queue.pending:
            await asyncio.sleep(0)

    def _arrive(self) -> None:
        self.gangs += 1
        name = f"gang-{self.gangs}-{self._chance.getrandbits(40):x}"
        group, *pods = clusters.job(name, SIZE, clusters.cpu_template())
        assert isinstance(group, kube.PodGroup)
        uids = [pod.metadata.uid for pod in pods]
        self._pods.update(zip(uids, map(self.report, pods), strict=True))
        self._running.append((self.report(group), uids))

    def _start(self) -> None:
        """Report the bound pods, and that they run."""
        bound, self.client.bound = self.client.bound, []
        for uid, node, added in bound:
            pod, replaced = self._pods[uid], msgspec.structs.replace
            metadata = replaced(pod.metadata, annotations={**(pod.metadata.annotations or {}), **added})
            spec = replaced(pod.spec, node_name=node)
            running = replaced(pod, metadata=metadata, spec=spec, status=PodStatus(phase="Running"))
            self._pods[uid] = self.report(running)
            self.started += 1

    def _end(self, group: kube.PodGroup, uids: list[str]) -> None:
        self.ended += 1
        for uid in uids:
            ended = msgspec.structs.replace(self._pods.pop(uid), status=PodStatus(phase="Succeeded"))
            self.report(self.report(ended), is_gone=True)
        self.report(group, is_gone=True)


def _merged(document: Any, patch: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    known = document if isinstance(document, dict) else {}
    merged = {**known, **{name: _merged(known.get(name), value) for name, value in patch.items()}}
    return {name: value for name, value in merged.items() if value is not None}
