"""Binder plugins in a scheduler that binds directly: the same plugins, in the same order, as in a binder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from stromboli.binding.plugins.loading import BUILT_IN
from stromboli.binding.plugins.plugin import BinderContext, BinderPlugin
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.reporting.announcer import reference
from stromboli.scheduler.watches import Watches

T = TypeVar("T", bound=TopLevel)

log = logging.getLogger("stromboli.binding")


def built_in_plugins(policy: ActivePolicy) -> list[BinderPlugin]:
    """The plugins of every binder; the options of GPU sharing follow from the scheduling policy."""

    def gpu_sharing_options() -> Mapping[str, str]:
        plugin = policy.program.plugins.get(GpuSharingPlugin.name)
        return plugin.binding_options if plugin is not None else {}

    return [GpuSharingPlugin(current=gpu_sharing_options) if each is GpuSharingPlugin else each() for each in BUILT_IN]


class SchedulerClusterView:
    """The view of plugins: the scheduler's cache, and objects of kinds that only plugins watch."""

    def __init__(self, ingest: Ingest, kinds: Iterable[type]) -> None:
        self._ingest = ingest
        self._by_kind: dict[type, dict[str, TopLevel]] = {kind: {} for kind in (KubeNode, BindRequest, *kinds)}
        #: Kinds that the scheduler itself does not watch.
        self.own: set[type] = set()
        self.changed: Callable[[TopLevel, TopLevel | None], None] = lambda entry, before: None

    def get(self, kind: type, key: str) -> TopLevel | None:
        return self._by_kind[kind].get(key) if kind in self.own else self._ingest.get(kind, key)

    def of_kind(self, kind: type[T]) -> Iterable[T]:
        if kind is Pod:
            return cast(Iterable[T], self._ingest.cluster.pods.all())
        return cast(Iterable[T], list(self._by_kind.get(kind, {}).values()))

    def apply(self, entry: TopLevel) -> None:
        if type(entry) not in self.own:
            self._ingest.apply(entry)
            return
        before = self._by_kind[type(entry)].get(entry.key)
        if before is None or _version(entry) >= _version(before):
            self.changed(entry, before)

    def remove(self, entry: TopLevel) -> None:
        self.changed(entry, entry)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        log.warning("object cannot be decoded", extra={"kind": resource.kind, "object": key, "error": problem})

    def store(self, entry: TopLevel, *, is_gone: bool) -> None:
        """Keep an object that was added, changed or deleted, if a plugin may list its kind."""
        objects = self._by_kind.get(type(entry))
        if objects is None:
            return
        if is_gone:
            objects.pop(entry.key, None)
        else:
            objects[entry.key] = entry


class BinderPluginHost:
    """Opens plugins, passes watch events to them, and runs their services."""

    def __init__(
        self,
        client: Client,
        ingest: Ingest,
        watches: Watches,
        recorder: EventRecorder,
        plugins: Sequence[BinderPlugin],
        *,
        precondition_error: Callable[[Placement], str],
        is_leader: Callable[[], bool],
    ) -> None:
        self.plugins = plugins
        self._watches = watches
        self._recorder = recorder
        resources = {resource.type: resource for plugin in plugins for resource in plugin.watches}
        self._view = SchedulerClusterView(ingest, resources)
        self._view.changed = self.object_changed
        known = {resource.type for resource in (*WATCHED_REQUIRED, *WATCHED_OPTIONAL)}
        for kind in resources.keys() - known:
            self._view.own.add(kind)
            watches.reflectors.append(Reflector(client, resources[kind], self._view, optional=True))
        context = BinderContext(
            client, self._view, precondition_error, record_event=self._record_event, is_leader=is_leader
        )
        for plugin in plugins:
            plugin.open(context)

    def _record_event(self, regarding: TopLevel, kind: str, reason: str, note: str) -> None:
        self._recorder.record(reference(regarding), type=kind, reason=reason, note=note)

    def object_changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        """Pass a watch event to the plugins; for a deleted object, `before` is the object itself."""
        self._view.store(entry, is_gone=entry is before)
        for plugin in self.plugins:
            try:
                plugin.changed(entry, before)
            except Exception:
                log.exception("plugin failed to process an event", extra={"plugin": plugin.name, "object": entry.key})

    async def run(self) -> None:
        """Run the services of plugins until cancelled."""
        await self._watches.wait_until_synced()
        await asyncio.gather(*(self._serve(plugin) for plugin in self.plugins))

    async def _serve(self, plugin: BinderPlugin) -> None:
        """Run a plugin's service; an error ends only that service."""
        try:
            await plugin.serve()
        except Exception:
            log.exception("service of plugin failed", extra={"plugin": plugin.name})


def _version(entry: TopLevel) -> int:
    text = entry.metadata.resource_version or ""
    return int(text) if text.isdecimal() else 0
