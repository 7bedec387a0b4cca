"""The processes of an installation in a simulation: two schedulers, two binders, the controllers and the webhook.

A worker is started as its process does it: watches at once, work when it is elected. A process that has ended, or was
killed, is started again after a pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stromboli.admission.access.authorisation import Authorisation
from stromboli.admission.access.members import GroupMembers
from stromboli.admission.facts import AdmissionPolicy
from stromboli.admission.lister import AdmissionLister
from stromboli.admission.reviewer import Reviewer
from stromboli.binding.requests.binder import Binder
from stromboli.binding.requests.wiring import BinderOptions
from stromboli.controllers.wiring import Controllers
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import Client
from stromboli.kube.election.elector import LeaderElector
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.observability.process import Worker
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.process import FencingCheck
from tests.simulation.event_loop import Process, SimulationLoop
from tests.simulation.network import Network, NetworkClient
from tests.testing.binder.tickets_plugin import TICKET, Tickets


class _NoMetrics:
    """Counts nothing: metrics decide nothing, and cost a third of a simulation."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **facts: None


_NO_METRICS: Any = _NoMetrics()
_BINDER_OPTIONS = BinderOptions(event_rate=0, max_retry_delay=5.0)
LEASE, RENEW, RETRY = 6.0, 4.0, 1.0
RESTART = (0.5, 3.0)


class TicketForEachPod(Tickets):
    """Prepares something for every pod, which must not stay when the pod is not bound."""

    watches: ClassVar[tuple[Resource[Any], ...]] = (CONFIG_MAPS,)

    def applies_to(self, placement: Placement) -> bool:
        return True

    def prepared_for(self, pod: Pod) -> bool:
        key = f"{pod.metadata.namespace}/ticket-{pod.metadata.uid}"
        return self.context.view.get(ConfigMap, key) is not None

    async def pre_bind(self, placement: Placement) -> None:
        placement.annotations[TICKET] = "yes"
        await super().pre_bind(placement)


@dataclass
class Installation:
    """The processes that run now, by name."""

    loop: SimulationLoop
    network: Network
    seed: object
    policy: ActivePolicy
    options: SchedulerOptions
    #: Called with every scheduler that starts.
    scheduler_started: Callable[[Scheduler], None] = lambda scheduler: None
    trace: Callable[[str], None] = lambda line: None
    running: dict[str, Process] = field(default_factory=dict)
    schedulers: dict[str, Scheduler] = field(default_factory=dict)
    binders: dict[str, Binder] = field(default_factory=dict)
    reviewers: dict[str, tuple[Reviewer, AdmissionLister]] = field(default_factory=dict)
    electors: dict[str, LeaderElector] = field(default_factory=dict)
    #: Errors that ended a process.
    failures: list[str] = field(default_factory=list)
    #: Processes that work although another one holds the lease.
    usurpers: set[str] = field(default_factory=set)
    is_over: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)
    #: All processes, so that the coroutines of dead ones stay where they were.
    _all: list[tuple[Process, asyncio.Task[None]]] = field(default_factory=list)

    def start(self, name: str) -> None:
        number = self._numbers[name] = self._numbers.get(name, -1) + 1
        process = Process(name, number, self.loop, self.seed)
        process.on_death = lambda: self._died(process)
        self.running[name] = process
        work = self._work(name.partition("-")[0])
        self._all.append((process, process.start(self._run(process, work))))

    def _work(self, kind: str) -> Callable[[Process], Coroutine[Any, Any, None]]:
        return {
            "scheduler": self._scheduler, "binder": self._binder, "controllers": self._controllers,
            "webhook": self._webhook,
        }[kind]  # fmt: skip

    async def _run(self, process: Process, work: Callable[[Process], Coroutine[Any, Any, None]]) -> None:
        try:
            await work(process)
        except asyncio.CancelledError:
            if not self.is_over:
                raise
        except BaseException as error:
            self.failures.append(f"{process.name}: {_innermost(error)!r}")
        if not self.is_over:
            process.kill()

    def _died(self, process: Process) -> None:
        if self.is_over:
            return
        self.trace(f"{process.name} has ended")
        self.network.disconnect(process)
        for table in (self.running, self.schedulers, self.binders, self.reviewers, self.electors):
            table.pop(process.name, None)
        self.network.later(process.chance.uniform(*RESTART), self.start, process.name)

    # -- kinds of processes ---------------------------------------------------------------------------------------

    async def _scheduler(self, process: Process) -> None:
        elector = self._elector(process, "stromboli-scheduler")
        fencing = FencingCheck(elector, self.loop.time)

        def is_leader() -> bool:
            return fencing.is_leader() or process.name in self.usurpers

        client = NetworkClient(self.network, process, may_write=is_leader)
        scheduler = self.schedulers[process.name] = Scheduler(
            client, self.policy, self.options, metrics=_NO_METRICS, is_leader=is_leader,
            epoch=lambda: elector.epoch, clock=self.loop.time,
        )  # fmt: skip
        scheduler.maintenance.update_metrics = lambda: None  # type: ignore[method-assign]
        scheduler.observe_term = fencing.observe
        self.scheduler_started(scheduler)
        await self._lead(process, scheduler, elector)

    async def _binder(self, process: Process) -> None:
        elector = self._elector(process, "stromboli-binder")

        def is_leader() -> bool:
            return elector.is_leading or process.name in self.usurpers

        client = NetworkClient(self.network, process, may_write=is_leader)
        binder = self.binders[process.name] = Binder(
            client, [TicketForEachPod()], _BINDER_OPTIONS, metrics=_NO_METRICS, is_leader=is_leader,
            epoch=lambda: elector.epoch, clock=self.loop.time,
        )  # fmt: skip
        await self._lead(process, binder, elector)

    async def _controllers(self, process: Process) -> None:
        client = NetworkClient(self.network, process)
        await Controllers(client, self.options.scheduler_names).run()

    async def _webhook(self, process: Process) -> None:
        client = NetworkClient(self.network, process)
        lister, authorisation = AdmissionLister(client), Authorisation(client, 10.0, clock=self.loop.time)
        reviewer = Reviewer(client, lister.facts, AdmissionPolicy(), authorisation, GroupMembers(client))
        self.reviewers[process.name] = reviewer, lister
        await lister.run()

    def _elector(self, process: Process, lease: str) -> LeaderElector:
        client: Client = NetworkClient(self.network, process, timeout=RENEW)
        elector = self.electors[process.name] = LeaderElector(
            client, name=lease, namespace="kube-system", identity=f"{process.name}.{process.number}",
            lease_duration=LEASE, renew_deadline=RENEW, retry_period=RETRY, clock=self.loop.time,
        )  # fmt: skip
        return elector

    async def _lead(self, process: Process, worker: Worker, elector: LeaderElector) -> None:
        """Work while elected; return when the leadership is lost."""
        if process.name in self.usurpers:
            worker.lead()
        working = asyncio.ensure_future(worker.run())
        electing = asyncio.ensure_future(self._elect(worker, elector))
        await asyncio.wait((working, electing), return_when=asyncio.FIRST_COMPLETED)
        if process.name in self.usurpers and not working.done():
            await working
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        if not working.cancelled() and (error := working.exception()) is not None:
            raise error

    async def _elect(self, worker: Worker, elector: LeaderElector) -> None:
        await elector.acquire()
        self.trace(f"{elector.identity} leads in term {elector.epoch}")
        worker.lead()
        await elector.keep()

    # -- the end --------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all coroutines, also those of dead processes."""
        self.is_over = True
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in sorted(tasks, key=hash):
            task.cancel()
        for process, _ in self._all:
            process.revive()
        await asyncio.gather(*tasks, return_exceptions=True)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
