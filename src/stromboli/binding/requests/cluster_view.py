"""The binder's view of the cluster: pods, nodes, bind requests, and the kinds that plugins watch.

Pods of all schedulers count, pending or not: a request may name any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from stromboli.binding.requests.decisions import DecisionIndex
from stromboli.cluster.ingest.ingest import Ingest, Quarantined
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.client import Client
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS, NODES, PODS
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.watch.watch_log import WatchLog, group_by_problem

T = TypeVar("T", bound=TopLevel)

REQUIRED: tuple[Resource[Any], ...] = (PODS, NODES, BIND_REQUESTS)


class _AllSchedulerNames(frozenset[str]):
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


class BinderClusterView:
    """A sink of watches. `changed` is called with every accepted object and the one known before."""

    def __init__(
        self,
        index: DecisionIndex,
        changed: Callable[[TopLevel, TopLevel | None], None] = lambda entry, before: None,
        refused: Callable[[Quarantined], None] = lambda quarantined: None,
    ) -> None:
        self.index = index
        self.cluster = Cluster()
        self.cluster.pods.scheduler_names = _AllSchedulerNames()
        self._changed = changed
        self.ingest = Ingest(self.cluster, changed, refused)
        self._by_kind: dict[type, dict[str, TopLevel]] = {}

    def get(self, kind: type, key: str) -> TopLevel | None:
        if kind is BindRequest:
            return self.index.requests.get(key)
        return self.ingest.get(kind, key)

    def of_kind(self, kind: type[T]) -> Iterable[T]:
        if kind is BindRequest:
            return cast(Iterable[T], list(self.index.requests.values()))
        if kind is Pod:
            return cast(Iterable[T], self.cluster.pods.all())
        return cast(Iterable[T], list(self._by_kind.get(kind, {}).values()))

    def pod(self, uid: str) -> Pod | None:
        return self.cluster.pods.find(uid)

    def node(self, name: str) -> KubeNode | None:
        found = self.ingest.get(KubeNode, name)
        return found if isinstance(found, KubeNode) else None

    # -- as a sink ----------------------------------------------------------------------------------------------

    def apply(self, entry: TopLevel) -> None:
        if isinstance(entry, BindRequest):
            before = self.index.requests.get(entry.key)
            self.index.apply(entry)
            self._changed(entry, before)
            return
        self.ingest.apply(entry)
        if not isinstance(entry, Pod) and (known := self.ingest.get(type(entry), entry.key)) is not None:
            self._by_kind.setdefault(type(entry), {})[entry.key] = known

    def remove(self, entry: TopLevel) -> None:
        if isinstance(entry, BindRequest):
            self.index.remove(entry)
            self._changed(entry, entry)
            return
        self.ingest.remove(entry)
        if self.ingest.get(type(entry), entry.key) is None:
            self._by_kind.get(type(entry), {}).pop(entry.key, None)

    def unreadable(self, resource: Resource[TopLevel], key: str, uid: str, problem: str) -> None:
        self.ingest.unreadable(resource, key, uid, problem)

    def forget_history(self, kind: type) -> None:
        if kind is BindRequest:
            self.index.forget_history()
        else:
            self.ingest.forget_history(kind)


class BinderWatches:
    """The reflectors of a view. Kinds of plugins are optional: the API server may not serve them."""

    def __init__(self, client: Client, view: BinderClusterView, others: Sequence[Resource[Any]] = ()) -> None:
        optional = [each for each in dict.fromkeys(others) if each not in REQUIRED]
        self.required: list[Reflector[Any]] = [Reflector(client, each, view) for each in REQUIRED]
        self.reflectors = [*self.required, *(Reflector(client, each, view, optional=True) for each in optional)]
        self._log = WatchLog()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())

    async def wait_until_synced(self) -> None:
        await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))

    def problem(self) -> str | None:
        """Return why the view of the cluster is incomplete or stale."""
        missing = [each.resource.name for each in self.reflectors if not each.synced.is_set()]
        unlisted = [f"not listed yet: {', '.join(missing)}"] if missing else []
        return "; ".join([*unlisted, *group_by_problem(self.required)]) or None

    def log_changes(self) -> None:
        """Log watches that failed or recovered, once each."""
        self._log.update(self.reflectors)
