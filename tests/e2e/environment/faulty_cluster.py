"""A scheduler inside the test process, with a fault proxy between it and the API server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from stromboli.cluster.audit.auditor import audit
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import EVENTS, POD_GROUPS
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from testbed.fault_proxy import BINDINGS, FaultProxy
from testbed.plane import ControlPlane
from testbed.proxy_faults import Action, Fault, Gate, Match
from tests.e2e.environment.processes import DEADLINE, POOL, Ground, furnish
from tests.testing.invariants import unfinished
from tests.testing.world import QUICK, policy_of, shorten_delays

PODS_WATCH = Match("GET", r"^/api/v1/pods\?.*watch=true")
#: The request of a streamed list. A server that rejects it is listed in pages.
STREAMED_LISTS = Match("GET", "sendInitialEvents=true")


class FaultyCluster(Ground):
    """Nodes, gangs and one scheduler; every request of the scheduler passes the proxy."""

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, client: Client, folder: Path) -> None:
        super().__init__(plane, proxy, client, folder)
        self.turns = 0
        self._gates: list[Gate] = []
        self._scheduler: Scheduler | None = None
        self._running: asyncio.Task[None] | None = None
        self._scheduler_client: Client | None = None

    @property
    def scheduler(self) -> Scheduler:
        assert self._scheduler is not None
        return self._scheduler

    @property
    def connection(self) -> Connection:
        """The scheduler's connection, through the proxy."""
        account = load_kubeconfig(str(self.plane.kubeconfig_of("scheduler")))
        return replace(account, server=self.proxy.url, ssl=None)

    async def begin(self, *, connection: Connection | None = None, limits: Any = None, **options: Any) -> None:
        """Start the scheduler; `limits` are the limits of its client."""
        mine = {"scheduler_names": (self.name,), "node_selector": {POOL: frozenset([self.name])}, "heal": 5.0}
        chosen: SchedulerOptions = replace(QUICK, **{**mine, **options})
        client = self._scheduler_client = Client(connection or self.connection, **(limits or {}))
        scheduler = self._scheduler = Scheduler(client, policy_of(), chosen)
        scheduler.on_iteration = self._turned
        shorten_delays(scheduler)
        self._running = asyncio.ensure_future(scheduler.run())

    def _turned(self) -> None:
        self.turns += 1

    async def end(self) -> None:
        if self._running is None or self._scheduler_client is None:
            return
        self.proxy.faults.clear()
        for gate in self._gates:
            gate.open()
        self.scheduler.stop()
        await asyncio.wait([self._running], timeout=DEADLINE)
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._scheduler_client.close()

    # -- faults -------------------------------------------------------------------------------------------------

    def fault(self, match: Match, action: Action, *, times: int | None = 1, after: int = 0) -> Fault:
        return self.proxy.faults.add(match, action, times=times, after=after)

    def gate(self, match: Match = BINDINGS, *, times: int = 1, after: int = 0) -> Gate:
        """Hold this number of requests from now on; `blocked_at` waits for them."""
        gate = Gate()
        self.fault(match, gate, times=times, after=after)
        self._gates.append(gate)
        return gate

    async def blocked_at(self, gate: Gate, number: int = 1) -> None:
        await self.until(lambda: len(gate.waiting) == number, "requests are held at the gate")

    async def iterate(self, number: int = 5) -> None:
        """Wait for a number of iterations of the scheduler's loop."""
        before = self.turns
        await self.until(lambda: self.turns >= before + number, f"{number} more iterations")

    async def until_synced(self) -> None:
        await self.until(lambda: self.scheduler.watches.is_up_to_date, "all watches are synced")

    async def until_watch_fails(self) -> None:
        await self.until(lambda: not self.scheduler.watches.is_up_to_date, "the scheduler reports a failed watch")

    # -- conditions and events ----------------------------------------------------------------------------------

    async def until_requested(self, question: Callable[[], Awaitable[object]], what: Callable[[], str]) -> None:
        deadline = time.monotonic() + DEADLINE
        while not await question():
            assert time.monotonic() < deadline, f"timed out: {what()}"
            await asyncio.sleep(0.02)

    async def until_condition(self, group: str, text: str) -> None:
        """Wait until the true Unschedulable condition of a group contains the text."""

        async def reached() -> bool:
            conditions = (await self.client.get(POD_GROUPS, group, namespace=self.name)).status.conditions or ()
            return any(
                c.type == "Unschedulable" and c.status == "True" and text in (c.message or "") for c in conditions
            )

        await self.until_requested(reached, lambda: f"condition of {group} contains {text!r}")

    async def until_event(self, text: str) -> None:
        """Wait for an event that contains the text."""

        notes: list[str] = []

        async def reached() -> bool:
            events = (await self.client.list(EVENTS, namespace=self.name)).items
            notes[:] = [event.message or "" for event in events]
            return any(text in note for note in notes)

        await self.until_requested(reached, lambda: f"an event contains {text!r}; events are {notes}")

    # -- the end ------------------------------------------------------------------------------------------------

    async def check(self, *, torn: Collection[str] = (), overfull: Collection[str] = ()) -> None:
        """Wait until idle, then check the invariants; the test itself broke `torn` gangs and `overfull` nodes."""
        scheduler = self.scheduler
        await self.until(lambda: not [*unfinished(scheduler)], f"idle: {[*unfinished(scheduler)]}")
        excused = [f"members of {gang} have" for gang in torn] + [f"node {node} lacks" for node in overfull]
        assert [each for each in await self.faults() if not any(words in each for words in excused)] == []
        assert audit(scheduler.cluster) == []
        assert self._running is not None
        assert not self._running.done(), self._running


@contextlib.asynccontextmanager
async def disturbed(plane: ControlPlane, folder: Path) -> AsyncIterator[FaultyCluster]:
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await furnish(plane, client)
        with FaultProxy(plane.url) as proxy:
            made = FaultyCluster(plane, proxy, client, folder)
            await made.prepare()
            try:
                yield made
            finally:
                await made.end()
                await made.clear()
