"""All objects of one resource, kept by one watch, with listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

T = TypeVar("T", bound=TopLevel)

Listener: TypeAlias = Callable[[T | None, T | None], None]
"""Called with the object before and after a change; None for one that did not exist before, or does not exist now."""

_log = logging.getLogger(__name__)


class Informer(Generic[T]):
    """Keeps all objects of a resource by key and calls listeners on changes."""

    def __init__(self, client: Client, resource: Resource[T], *, optional: bool = False) -> None:
        self.resource = resource
        self.objects: dict[str, T] = {}
        self._listeners: list[Listener[T]] = []
        self._reflector = Reflector(client, resource, self, optional=optional)
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
