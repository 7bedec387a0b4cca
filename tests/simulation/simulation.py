"""One simulation: a schedule is carried out, then everything must settle."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from stromboli.binding.steps.node_lock import NodeLock
from stromboli.kube.client.rate_limit import TokenBucket
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.cycle import CycleResult, CycleRunner
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from tests.simulation.event_loop import SimulationLoop, bound_late, virtual_world
from tests.simulation.invariants import Invariants
from tests.simulation.network import Network
from tests.simulation.processes import Installation
from tests.simulation.schedule import LENGTH, NODES, Event, Schedule, processes_of
from tests.simulation.world import TICK, SimulatedCluster, Users, Webhooks, answer_access_review
from tests.testing.cases.case import configuration
from tests.testing.world import policy_of

_PLUGINS = ("priority", "gang", "predicates", "capacity", "nodeorder")
#: Time limits, and how long everything must stay settled, in seconds.
SETTLE_SECONDS, QUIET_SECONDS = 400.0, 2.0


@dataclass(slots=True)
class Outcome:
    schedule: Schedule
    #: What was violated; empty if nothing.
    violations: list[str]
    trace: list[str] = field(default_factory=list)
    #: Virtual seconds until everything had settled.
    seconds: float = 0.0

    @property
    def digest(self) -> str:
        """The same for two runs in which the same happened."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]


@cache
def _policy(preempts: bool) -> ActivePolicy:
    actions = "enqueue, allocate, preempt, backfill" if preempts else "enqueue, allocate, backfill"
    return policy_of(configuration(*_PLUGINS, actions=actions))


def simulate(schedule: Schedule) -> Outcome:
    """Carry out a schedule. The same one always has the same outcome."""
    loop = SimulationLoop()
    asyncio.set_event_loop(loop)
    logging.disable(logging.CRITICAL)
    gc.disable()
    clocks = bound_late(CycleRunner, BindTracker, EventRecorder, StatusWriter, TokenBucket, NodeLock)
    try:
        with virtual_world(loop, schedule.seed), clocks:
            return loop.run_until_complete(_Simulation(loop, schedule).run())
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
        asyncio.set_event_loop(None)
        loop.close()


class _Simulation:
    def __init__(self, loop: SimulationLoop, schedule: Schedule) -> None:
        self._loop, self._schedule = loop, schedule
        self.outcome = Outcome(schedule, [])
        self.cluster = SimulatedCluster(ControlPlane(), random.Random(f"{schedule.seed}/cluster"))  # noqa: S311
        self.network = Network(loop, self.cluster.plane)
        options = SchedulerOptions(bind_mode=schedule.bind_mode, heal=8.0, flush=10.0, event_rate=0, audit=5.0)
        self.installation = Installation(loop, self.network, schedule.seed, _policy(schedule.preempts), options)
        self.installation.usurpers.update(schedule.usurpers)
        self.invariants = Invariants(self.cluster, self.installation)
        self.users = Users(self.cluster, self.installation)
        self.network.trace = self.installation.trace = self._trace
        self.network.admit, self.network.answered = Webhooks(self.installation), answer_access_review
        self.network.written = self.invariants.written
        self.installation.scheduler_started = self._observe
        self._ticks = asyncio.Event()

    def _trace(self, line: str) -> None:
        self.outcome.trace.append(f"{self._loop.time():9.4f} {line}")

    def _observe(self, scheduler: Scheduler) -> None:
        scheduler.observers.append(self._decided)

    def _decided(self, result: CycleResult) -> None:
        for statement in result.session.decisions.binds:
            for placement in statement:
                self.invariants.decisions.setdefault(placement.uid, set()).add(placement.node)

    async def run(self) -> Outcome:
        for name in processes_of(self._schedule.bind_mode, self._schedule.replicas):
            self.installation.start(name)
        ticking = asyncio.ensure_future(self._tick())
        await self._carry_out()
        self._stop_faults()
        await self._settle()
        ticking.cancel()
        self.outcome.violations += [*self.installation.failures, *self._loop.errors]
        self.outcome.seconds = self._loop.time()
        await self.installation.close()
        return self.outcome

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self.cluster.tick()
            self.users.tick()

    async def _carry_out(self) -> None:
        for event in self._schedule.events:
            await asyncio.sleep(max(event.at - self._loop.time(), 0.0))
            if self.invariants.violations:
                return
            self._trace(f"-- {event.what} {event.subject} {event.number} {event.amount} {event.other}")
            _EVENTS[event.what](self, event)
        await asyncio.sleep(max(LENGTH - self._loop.time(), 0.0))

    def _stop_faults(self) -> None:
        for conditions in self.network.conditions.values():
            conditions.clear()
        for name in NODES:
            self.cluster.add_node(name)

    async def _settle(self) -> None:
        """Wait until nothing is left to do."""
        end, quiet_since = self._loop.time() + SETTLE_SECONDS, self._loop.time()
        while self._loop.time() - quiet_since < QUIET_SECONDS:
            found = list(self.invariants.violations)
            if found or self.installation.failures:
                break
            found = self.invariants.unsettled()
            if found:
                quiet_since = self._loop.time()
            if self._loop.time() > end:
                break
            await asyncio.sleep(TICK)
        self.outcome.violations += list(dict.fromkeys(found or self.invariants.inconsistent()))

    # -- events ---------------------------------------------------------------------------------------------------

    def kill(self, event: Event) -> None:
        if event.subject in self.installation.running:
            self.installation.running[event.subject].kill_after(event.number)

    def suspend(self, event: Event) -> None:
        if event.subject in self.installation.running:
            self.installation.running[event.subject].suspend(event.amount)

    def jump_clock(self, event: Event) -> None:
        if event.subject in self.installation.running:
            self.installation.running[event.subject].clock_offset += event.amount

    def cut_streams(self, event: Event) -> None:
        for stream in self.network.streams_of(event.subject):
            stream.end()

    def freeze_streams(self, event: Event) -> None:
        for stream in self.network.streams_of(event.subject):
            stream.is_frozen = True

    def compact(self, event: Event) -> None:
        self.cluster.plane.compact()
        self.cut_streams(event)


_EVENTS: dict[str, Callable[[_Simulation, Event], None]] = {
    "submit": lambda it, event: it.users.submit(event),
    "delete gang": lambda it, event: it.cluster.delete_gang(event.subject),
    "finish gang": lambda it, event: it.cluster.finish_gang(event.subject),
    "delete pod": lambda it, event: it.cluster.delete_pod(f"{event.subject}-{event.number}"),
    "delete requests": lambda it, event: it.cluster.delete_requests(event.number),
    "cordon": lambda it, event: it.cluster.cordon(event.subject, True),
    "uncordon": lambda it, event: it.cluster.cordon(event.subject, False),
    "remove node": lambda it, event: it.cluster.remove_node(event.subject),
    "add node": lambda it, event: it.cluster.add_node(event.subject),
    "noise": lambda it, event: setattr(it.network.of(event.subject), event.other, event.amount),
    "silence": lambda it, event: setattr(it.network.of(event.subject), event.other, 0.0),
    "kill": _Simulation.kill,
    "suspend": _Simulation.suspend,
    "jump clock": _Simulation.jump_clock,
    "cut streams": _Simulation.cut_streams,
    "freeze streams": _Simulation.freeze_streams,
    "compact": _Simulation.compact,
}
