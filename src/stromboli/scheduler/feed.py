"""The watches: one reflector per kind, all of them feeding the mirror."""

from __future__ import annotations

import asyncio
from typing import Any

from stromboli.cache.mirror import Mirror
from stromboli.kube.access.client import Client
from stromboli.kube.objects.catalogue import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.kube.watching.reflector import Reflector


class Feed:
    """Keeps the mirror true. Kinds that a server need not have are waited for only until it has said so."""

    def __init__(self, client: Client, mirror: Mirror) -> None:
        required = [Reflector(client, resource, mirror) for resource in WATCHED_REQUIRED]
        optional = [Reflector(client, resource, mirror, optional=True) for resource in WATCHED_OPTIONAL]
        #: Those on which decisions rest.
        self.required: list[Reflector[Any]] = list(required)
        self.reflectors: list[Reflector[Any]] = [*required, *optional]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())

    async def wait_until_synced(self) -> None:
        await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))

    @property
    def is_synced(self) -> bool:
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    @property
    def is_trustworthy(self) -> bool:
        """Whether what decisions rest upon is up to date, as far as anybody can know."""
        return self.is_synced and not any(reflector.problem for reflector in self.required)

    def problem(self) -> str | None:
        """What keeps the cache from being up to date, in words."""
        missing = [reflector.resource.name for reflector in self.reflectors if not reflector.synced.is_set()]
        problems = [reflector.problem for reflector in self.reflectors if reflector.problem]
        if missing:
            problems.insert(0, f"not listed yet: {', '.join(missing)}")
        return "; ".join(problems) or None
