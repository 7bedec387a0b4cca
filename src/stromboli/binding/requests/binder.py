"""The binder: executes bind requests, between the watches and the writes. It runs on one event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.requests.cluster_view import BinderClusterView, BinderWatches
from stromboli.binding.requests.decisions import DecisionIndex
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.binding.requests.wiring import BinderOptions, BinderProcessFacts, build_parts
from stromboli.cluster.ingest.ingest import Quarantined
from stromboli.cluster.objects.nodes import NodeEntry
from stromboli.kube.client.client import Client
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.work.work_queue import WorkQueue, drained

#: Seconds between two updates of the gauges and of the liveness signal.
STATE_INTERVAL = 1.0

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
        #: Nodes at their last relevant change.
        self._nodes: dict[str, NodeEntry] = {}
        self._is_open = False
        self.index = DecisionIndex(clock, self._notify)
        self.view = BinderClusterView(self.index, self._changed, self._refused)
        watched = [resource for plugin in self.plugins for resource in plugin.watches]
        self.watches = BinderWatches(client, self.view, watched)
        self._parts = build_parts(
            BinderProcessFacts(client, is_leader, epoch, clock), self.view, self.plugins, options, self.metrics,
            notify=self._notify, reconcile_pod=self._reconcile_pod,
        )  # fmt: skip
        self.assumed, self.recorder, self.conditions = self._parts.assumed, self._parts.recorder, self._parts.conditions
        self.index.dropped = self._parts.orphans.forget
        self.queue: WorkQueue[str] = WorkQueue(self._reconcile, name="binder", workers=options.request_workers)
        #: Called with every iteration of the loop.
        self.on_iteration: Callable[[], None] = lambda: None
        self._stopping = asyncio.Event()
        self._leading = asyncio.Event()

    # -- life cycle ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Execute bind requests until `stop`, then finish binds in flight."""
        async with asyncio.TaskGroup() as group:
            services = [self.watches.run(), self.recorder.run(), self.conditions.run(), self._refresh_state()]
            tasks = [group.create_task(service) for service in services]
            if await self._until(self.watches.wait_until_synced()) and await self._until(self._leading.wait()):
                self._begin()
                tasks += [group.create_task(self.queue.run()), group.create_task(self._parts.orphans.sweep())]
                tasks += [group.create_task(self._serve(plugin)) for plugin in self.plugins]
            await self._stopping.wait()
            await self._finish()
            for task in tasks:
                task.cancel()

    def lead(self) -> None:
        """Start to work: this process leads."""
        self._leading.set()

    def stop(self) -> None:
        """Start nothing more."""
        self._stopping.set()

    async def _until(self, event: Coroutine[object, object, object]) -> bool:
        """Wait for an event or for `stop`; report whether the process continues."""
        expected = asyncio.ensure_future(event)
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((expected, stopping), return_when=asyncio.FIRST_COMPLETED)
        for each in (expected, stopping):
            each.cancel()
        return not self._stopping.is_set()

    def _begin(self) -> None:
        """Enqueue existing requests; those that a predecessor has begun come first."""
        self._is_open = True
        keys = self.index.open()
        log.info("processing bind requests", extra={"requests": len(keys), "open": len(self.index.open_decisions())})
        for key in keys:
            self.queue.add(key)

    async def _serve(self, plugin: BinderPlugin) -> None:
        """Run a plugin's service; an error ends only that service."""
        try:
            await plugin.serve()
        except Exception:
            log.exception("service of plugin failed", extra={"plugin": plugin.name})

    async def _finish(self) -> None:
        grace = self.options.grace
        left = await drained(lambda: self._parts.binds.in_flight, grace)
        if left:
            log.warning("binds still in flight after the grace period", extra={"binds": left, "seconds": grace})
        await self.conditions.flush(min(grace, 2.0))
        await self.recorder.flush(min(grace, 2.0))

    async def _reconcile(self, key: str) -> float | None:
        """Reconcile a decision, unless the process is stopping or has lost the lease."""
        if self._stopping.is_set() or not self._is_leader():
            return STATE_INTERVAL
        return await self._parts.reconciler.reconcile(key)

    async def _refresh_state(self) -> None:
        while True:
            self.on_iteration()
            self._set_gauges()
            self.watches.log_changes()
            await asyncio.sleep(STATE_INTERVAL)

    def _set_gauges(self) -> None:
        decisions = self.index.open_decisions()
        members = sum(len(request.spec.pods) for each in decisions for request in each.requests)
        self.metrics.set_open(len(decisions), members)
        self.metrics.set_pending_work("bind", self._parts.binds.in_flight)
        self.metrics.set_pending_work("status", self.conditions.waiting)
        for reflector in self.watches.reflectors:
            self.metrics.set_watch_up(reflector.resource.name, reflector.synced.is_set() and not reflector.problem)

    # -- watch events -------------------------------------------------------------------------------------------

    def _notify(self, key: str) -> None:
        if self._is_open:
            self.queue.add(key)

    def _changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        if isinstance(entry, Pod):
            if before is None or before is entry or not isinstance(before, Pod) or _state(entry) != _state(before):
                self._reconcile_pod(entry.metadata.uid)
        elif isinstance(entry, KubeNode) and self._is_node_changed(entry):
            for key in self.index.of_node(entry.metadata.name):
                self._notify(key)
        for plugin in self.plugins:
            try:
                plugin.changed(entry, before)
            except Exception:
                log.exception("plugin failed to process an event", extra={"plugin": plugin.name, "object": entry.key})

    def _is_node_changed(self, node: KubeNode) -> bool:
        """Report whether a node differs from the last event: most events of nodes are heartbeats."""
        name = node.metadata.name
        now, before = self.view.cluster.nodes.entries.get(name), self._nodes.pop(name, None)
        if now is not None:
            self._nodes[name] = now
        return now is not before

    def _reconcile_pod(self, uid: str) -> None:
        for key in self.index.of_pod(uid):
            self._notify(key)

    def _refused(self, quarantined: Quarantined) -> None:
        facts = {"kind": quarantined.kind, "object": quarantined.key, "error": quarantined.problem}
        self.metrics.invalid_object(quarantined.kind)
        log.warning("object cannot be used", extra=facts)


def _state(pod: Pod) -> tuple[object, ...]:
    """Return everything about a pod that matters to its bind."""
    metadata, spec = pod.metadata, pod.spec
    return metadata.uid, metadata.deletion_timestamp, spec.node_name, bool(spec.scheduling_gates), pod.status.phase
