"""The binder: everything that lives between the watches and the writes, put together. It runs on one event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence

from stromboli.binding.evictions import Evictor
from stromboli.binding.plugins.plugin import Bind, BinderContext, BinderPlugin
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.requests.assumed_placements import AssumedPlacements
from stromboli.binding.requests.backoff import AttemptBackoff
from stromboli.binding.requests.cluster_view import BinderClusterView, BinderWatches
from stromboli.binding.requests.decisions import DecisionIndex
from stromboli.binding.requests.events import BindEvents
from stromboli.binding.requests.finalizer import GangFinalizer
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.options import BinderOptions
from stromboli.binding.requests.orphans import OrphanedPreparations
from stromboli.binding.requests.outcome_lookup import OutcomeLookup
from stromboli.binding.requests.parallel_binds import ParallelBinds
from stromboli.binding.requests.pod_conditions import PodConditions
from stromboli.binding.requests.preparations import Preparations
from stromboli.binding.requests.progress import precondition_error_of
from stromboli.binding.requests.reconciler import GangReconciler
from stromboli.binding.requests.reports import Reports
from stromboli.binding.requests.rollback import GangRollback
from stromboli.binding.requests.status import RequestStatuses
from stromboli.binding.steps.node_lock import NodeLock
from stromboli.cluster.ingest.ingest import Quarantined
from stromboli.cluster.objects.nodes import NodeEntry
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.retry import RetryPolicy
from stromboli.kube.work.work_queue import WorkQueue, drained

#: Who says so, in events.
NAME = "stromboli-binder"
#: How often gauges are set and the loop shows that it turns, in seconds.
LOOK_AROUND = 1.0
#: A request is tried a few times at once; a server that stays busy is left to the next pass.
BIND_RETRIES = RetryPolicy(attempts=3, min_delay=0.1, max_delay=1.0, limit=10.0)
EVICT_RETRIES = RetryPolicy(attempts=1)

log = logging.getLogger("stromboli.binding")


class Binder:
    def __init__(
        self,
        client: Client,
        plugins: Sequence[BinderPlugin] = (),
        options: BinderOptions | None = None,
        *,
        metrics: BinderMetrics | None = None,
        is_leader: Callable[[], bool] = lambda: True,
        epoch: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options = options or BinderOptions()
        self.metrics = metrics or BinderMetrics()
        self.plugins = tuple(plugins)
        self._is_leader = is_leader
        #: Nodes as they were when somebody was last told of a change.
        self._nodes: dict[str, NodeEntry] = {}
        self._is_open = False
        self.book = DecisionIndex(clock, self._wake)
        self.sight = BinderClusterView(self.book, self._changed, self._refused)
        self.rooms = AssumedPlacements(self.sight.cluster)
        watched = [resource for plugin in self.plugins for resource in plugin.watches]
        self.watches = BinderWatches(client, self.sight, watched)
        self.recorder = EventRecorder(client, NAME, rate=options.event_rate, yields=self._is_binding, clock=clock)
        announcer = BindEvents(self.recorder)
        self.conditions = PodConditions(client, self.sight.pod, yields=self._is_binding, clock=clock)
        preparations = Preparations(self.plugins)
        binding = PodBinder(
            client, (NodeLock(client),), BIND_RETRIES, is_leader=is_leader, at_a_time=options.bind_workers
        )
        self._parallel_binds = ParallelBinds(binding, self._obstacle, per_node=options.binds_per_node)
        unwinding = GangRollback(
            Evictor(client, retry=EVICT_RETRIES, is_leader=is_leader), preparations, self.sight,
            lambda request, member: announcer.evicted(request, member, request.status.reason),
            self.metrics.eviction_finished,
        )  # fmt: skip
        statuses = RequestStatuses(client, self.sight.apply, epoch, self.sight.remove)
        reports = Reports(statuses, self.conditions, announcer, self.metrics)
        lookup, pauses = OutcomeLookup(client, self.sight), AttemptBackoff(options, clock)
        orphans = OrphanedPreparations(self.sight, self.rooms, lookup, preparations)
        ends = GangFinalizer(
            self.sight, self.rooms, preparations, unwinding, orphans, pauses, reports, announcer, self.metrics
        )  # fmt: skip
        self.passes = GangReconciler(
            self.sight, self.rooms, lookup, preparations, self._parallel_binds, ends, orphans, pauses,
            reports, self.metrics, epoch=epoch, wake=self._wake, clock=clock,
        )  # fmt: skip
        self.book.dropped = orphans.forget
        self.queue: WorkQueue[str] = WorkQueue(self._look, name="binder", workers=options.request_workers)
        #: Told every time the loop comes round.
        self.on_iteration: Callable[[], None] = lambda: None
        self._stopping = asyncio.Event()
        self._leading = asyncio.Event()
        surroundings = BinderContext(client, self.sight, self._obstacle, self._look_again, announcer.tell)
        for plugin in self.plugins:
            plugin.open(surroundings)

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Carry out bind requests until `stop`, then finish what is under way."""
        async with asyncio.TaskGroup() as group:
            services = [self.watches.run(), self.recorder.run(), self.conditions.run(), self._refresh_state()]
            tasks = [group.create_task(service) for service in services]
            if await self._until(self.watches.wait_until_synced()) and await self._until(self._leading.wait()):
                self._begin()
                tasks += [group.create_task(self.queue.run())]
                tasks += [group.create_task(self._serve(plugin)) for plugin in self.plugins]
            await self._stopping.wait()
            await self._finish()
            for task in tasks:
                task.cancel()

    def lead(self) -> None:
        """We are in charge."""
        self._leading.set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopping.set()

    async def _until(self, happens: Coroutine[object, object, object]) -> bool:
        """Whether it happened before somebody stopped us."""
        wanted = asyncio.ensure_future(happens)
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((wanted, stopping), return_when=asyncio.FIRST_COMPLETED)
        for each in (wanted, stopping):
            each.cancel()
        return not self._stopping.is_set()

    def _begin(self) -> None:
        """Take up what there is: what a predecessor began comes first."""
        self._is_open = True
        keys = self.book.open()
        log.info("taking up bind requests", extra={"requests": len(keys), "open": len(self.book.open_decisions())})
        for key in keys:
            self.queue.add(key)

    async def _serve(self, plugin: BinderPlugin) -> None:
        """A plugin that fails here ends only its own service."""
        try:
            await plugin.serve()
        except Exception:
            log.exception("plugin %s does not serve any more", plugin.name)

    async def _finish(self) -> None:
        grace = self.options.grace
        left = await drained(lambda: self._parallel_binds.under_way, grace)
        if left:
            log.warning("binds are still under way after the grace period", extra={"binds": left, "seconds": grace})
        await self.conditions.flush(min(grace, 2.0))
        await self.recorder.flush(min(grace, 2.0))

    async def _look(self, key: str) -> float | None:
        """Who stops begins nothing; who is not in charge any more writes nothing, and is about to end."""
        if self._stopping.is_set() or not self._is_leader():
            return LOOK_AROUND
        return await self.passes.look(key)

    async def _refresh_state(self) -> None:
        while True:
            self.on_iteration()
            self._set_gauges()
            self.watches.tell()
            await asyncio.sleep(LOOK_AROUND)

    def _set_gauges(self) -> None:
        decisions = self.book.open_decisions()
        members = sum(len(request.spec.pods) for each in decisions for request in each.requests)
        self.metrics.set_open(len(decisions), members)
        self.metrics.set_pending_work("bind", self._parallel_binds.under_way)
        self.metrics.set_pending_work("status", self.conditions.waiting)
        for reflector in self.watches.reflectors:
            up = reflector.synced.is_set() and not reflector.problem
            self.metrics.set_watch_up(reflector.resource.name, up)

    # -- news ---------------------------------------------------------------------------------------------------

    def _wake(self, key: str) -> None:
        if self._is_open:
            self.queue.add(key)

    def _changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        if isinstance(entry, Pod):
            if before is None or before is entry or not isinstance(before, Pod) or _is_changed(entry, before):
                self._look_again(entry.metadata.uid)
        elif isinstance(entry, KubeNode) and self._is_node_changed(entry):
            for key in self.book.of_node(entry.metadata.name):
                self._wake(key)
        for plugin in self.plugins:
            try:
                plugin.changed(entry, before)
            except Exception:
                log.exception("plugin %s cannot take news of %s", plugin.name, entry.key)

    def _is_node_changed(self, node: KubeNode) -> bool:
        """Whether a node says something else than before: most of its reports are mere signs of life."""
        name = node.metadata.name
        now, before = self.sight.cluster.nodes.entries.get(name), self._nodes.pop(name, None)
        if now is not None:
            self._nodes[name] = now
        return now is not before

    def _look_again(self, uid: str) -> None:
        for key in self.book.of_pod(uid):
            self._wake(key)

    def _obstacle(self, bind: Bind) -> str:
        """What has come in the way of a bind since it was begun."""
        request = self.book.requests.get(bind.request.key)
        if request is None or request.metadata.uid != bind.request.metadata.uid:
            return "the bind request is gone"
        return precondition_error_of(bind, self.sight)

    def _is_binding(self) -> bool:
        return self._parallel_binds.under_way > 0

    def _refused(self, quarantined: Quarantined) -> None:
        self.metrics.invalid_object(quarantined.kind)
        log.warning("%s %s cannot be used: %s", quarantined.kind, quarantined.key, quarantined.problem)


def _is_changed(pod: Pod, before: Pod) -> bool:
    """Whether a pod has come further in a way that matters to its bind: most reports are of how it runs."""
    return _state(pod) != _state(before)


def _state(pod: Pod) -> tuple[object, ...]:
    metadata, spec = pod.metadata, pod.spec
    return metadata.uid, metadata.deletion_timestamp, spec.node_name, bool(spec.scheduling_gates), pod.status.phase
