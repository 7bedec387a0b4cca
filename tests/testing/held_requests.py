"""Requests that the server holds until the test releases them."""

from __future__ import annotations

from typing import Any

from stromboli.kube.objects.resources import Resource
from stromboli.local.api_server.faults import Hold, Match
from tests.testing.world import World, found

BINDINGS = Match(verb="create", plural="pods", subresource="binding")


class HeldRequests:
    """Binds, or other requests, that the server holds after the first `after` ones; `times` of them, or all."""

    def __init__(self, world: World, match: Match = BINDINGS, *, times: int | None = 1, after: int = 0) -> None:
        self._world = world
        self._hold = Hold()
        self._fault = world.faults.add(match, self._hold, times=times, after=after)

    @property
    def fired(self) -> int:
        """The number of held requests."""
        return self._fault.fired

    async def begins(self, number: int = 1) -> None:
        """Wait until so many requests are held."""
        await self._world.until_true(lambda: self.fired >= number, "requests are held up")

    def ends(self) -> None:
        self._hold.release()


async def seen(world: World, resource: Resource[Any], name: str) -> None:
    """Wait until the scheduler has observed the current version of an object."""
    entry = await found(world.client.get(resource, name))
    key = entry.key if entry else f"default/{name}" if resource.namespaced else name

    def is_known() -> bool:
        known = world.scheduler.ingest.get(resource.type, key)
        return (known and known.metadata.resource_version) == (entry and entry.metadata.resource_version)

    await world.until_true(is_known, f"the scheduler has seen {resource.kind} {name}")
