"""All objects of one resource, kept by one watch, with listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import msgspec

from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.watch.version_gate import VersionGate, is_older

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

T = TypeVar("T", bound=TopLevel)

Listener: TypeAlias = Callable[[T | None, T | None], None]
"""Called with the object before and after a change; None for one that did not exist before, or does not exist now."""

_log = logging.getLogger(__name__)


class Informer(Generic[T]):
    """Keeps all objects of a resource by key and calls listeners on changes."""

    def __init__(
        self, client: Client, resource: Resource[T], *, optional: bool = False, label_selector: str = ""
    ) -> None:
        self.resource = resource
        self.objects: dict[str, T] = {}
        self._listeners: list[Listener[T]] = []
        self._reflector = Reflector(client, resource, self, optional=optional, label_selector=label_selector)
        self.synced = self._reflector.synced

    @property
    def problem(self) -> str:
        """Why the objects are not up to date; empty if they are."""
        return self._reflector.problem

    def listen(self, listener: Listener[T]) -> None:
        self._listeners.append(listener)

    async def run(self) -> None:
        await self._reflector.run()

    def apply(self, entry: T) -> None:
        old = self.objects.get(entry.key)
        self.objects[entry.key] = entry
        for listener in self._listeners:
            listener(old, entry)

    def remove(self, entry: T) -> None:
        old = self.objects.pop(entry.key, None)
        for listener in self._listeners:
            listener(old or entry, None)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """Keep the last readable version; unreadable objects are reported elsewhere."""
        _log.debug("unreadable object", extra={"resource": resource.name, "key": key, "problem": problem})


class GatedInformer(Informer[T]):
    """An informer that also takes the answers to own writes: `apply` ignores an object that is not newer."""

    def __init__(
        self, client: Client, resource: Resource[T], *, optional: bool = False, label_selector: str = ""
    ) -> None:
        self.gate = VersionGate()
        super().__init__(client, resource, optional=optional, label_selector=label_selector)

    def apply(self, entry: T) -> None:
        known = self.objects.get(entry.key)
        if self.gate.admits(entry.key, entry.metadata, known.metadata if known else None):
            if known is not None and known.metadata.uid != entry.metadata.uid:
                self.remove(known)
            super().apply(entry)

    def remove(self, entry: T) -> None:
        self.gate.record_deletion(entry.key, entry.metadata)
        known = self.objects.get(entry.key)
        if known is None or known.metadata.uid != entry.metadata.uid or is_older(entry.metadata, known.metadata):
            return
        super().remove(entry)

    def forget_history(self, kind: type) -> None:
        """The server was restored from a backup: lower versions are accepted."""
        self.gate.forget_tombstones()
        for key, entry in self.objects.items():
            metadata = msgspec.structs.replace(entry.metadata, resource_version=None)
            self.objects[key] = msgspec.structs.replace(entry, metadata=metadata)
