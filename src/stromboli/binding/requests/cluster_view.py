"""What the binder sees of the cluster: pods, nodes, bind requests, and what plugins asked for.

Pods of all schedulers count, waiting or not: any of them may be named in a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from stromboli.binding.requests.decisions import DecisionIndex
from stromboli.cluster.ingest.ingest import Mirror, Quarantined
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
    """The names of all schedulers there may be."""

    def __contains__(self, name: object) -> bool:
        return True


class BinderClusterView:
    """A sink of watches. `changed` is told of every report that was news, with what was known before."""

    def __init__(
        self,
        book: DecisionIndex,
        changed: Callable[[TopLevel, TopLevel | None], None] = lambda entry, before: None,
        refused: Callable[[Quarantined], None] = lambda quarantined: None,
    ) -> None:
        self.book = book
        self.cluster = Cluster()
        self.cluster.scheduler_names = _AllSchedulerNames()
        self._changed = changed
        self.mirror = Mirror(self.cluster, changed, refused)
        self._by_kind: dict[type, dict[str, TopLevel]] = {}

    def get(self, kind: type, key: str) -> TopLevel | None:
        if kind is BindRequest:
            return self.book.requests.get(key)
        return self.mirror.get(kind, key)

    def of_kind(self, kind: type[T]) -> Iterable[T]:
        if kind is BindRequest:
            return cast(Iterable[T], list(self.book.requests.values()))
        if kind is Pod:
            return cast(Iterable[T], self.cluster.pods.all())
        return cast(Iterable[T], list(self._by_kind.get(kind, {}).values()))

    def pod(self, uid: str) -> Pod | None:
        return self.cluster.pods.find(uid)

    def node(self, name: str) -> KubeNode | None:
        found = self.mirror.get(KubeNode, name)
        return found if isinstance(found, KubeNode) else None

    # -- as a sink ----------------------------------------------------------------------------------------------

    def apply(self, entry: TopLevel) -> None:
        if isinstance(entry, BindRequest):
            before = self.book.requests.get(entry.key)
            self.book.apply(entry)
            self._changed(entry, before)
            return
        self.mirror.apply(entry)
        if not isinstance(entry, Pod) and (known := self.mirror.get(type(entry), entry.key)) is not None:
            self._by_kind.setdefault(type(entry), {})[entry.key] = known

    def remove(self, entry: TopLevel) -> None:
        if isinstance(entry, BindRequest):
            self.book.remove(entry)
            self._changed(entry, entry)
            return
        self.mirror.remove(entry)
        if self.mirror.get(type(entry), entry.key) is None:
            self._by_kind.get(type(entry), {}).pop(entry.key, None)

    def unreadable(self, resource: Resource[TopLevel], key: str, uid: str, problem: str) -> None:
        self.mirror.unreadable(resource, key, uid, problem)

    def forget_history(self, kind: type) -> None:
        if kind is BindRequest:
            self.book.forget_history()
        else:
            self.mirror.forget_history(kind)


class BinderWatches:
    """The reflectors that feed a sight. Kinds of plugins are waited for only until the server has said it has none."""

    def __init__(self, client: Client, sight: BinderClusterView, others: Sequence[Resource[Any]] = ()) -> None:
        wanted = [each for each in dict.fromkeys(others) if each not in REQUIRED]
        self.required: list[Reflector[Any]] = [Reflector(client, each, sight) for each in REQUIRED]
        self.reflectors = [*self.required, *(Reflector(client, each, sight, optional=True) for each in wanted)]

        self._log = WatchLog()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())

    async def wait_until_synced(self) -> None:
        await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))

    def problem(self) -> str | None:
        """What keeps the binder from seeing the cluster, in words."""
        missing = [each.resource.name for each in self.reflectors if not each.synced.is_set()]
        told = [f"not listed yet: {', '.join(missing)}"] if missing else []
        return "; ".join([*told, *group_by_problem(self.required)]) or None

    def tell(self) -> None:
        """Say in the log which kinds cannot be followed, and when they can be again: once each."""
        self._log.tell(self.reflectors)
