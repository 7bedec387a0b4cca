"""The watches: one reflector per kind, all of them feeding the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from stromboli.cluster.ingest.ingest import Mirror
from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.watch.watch_log import WatchLog, group_by_problem

#: So many problems are told at once; whoever has cured them sees the others.
MAX_PROBLEMS = 4


class Watches:
    """Keeps the mirror true. Kinds that a server need not have are waited for only until it has said so."""

    def __init__(self, client: Client, mirror: Mirror, config_maps: Iterable[str] = ()) -> None:
        self._client, self._mirror = client, mirror
        required = [Reflector(client, resource, mirror) for resource in WATCHED_REQUIRED]
        optional = [Reflector(client, resource, mirror, optional=True) for resource in WATCHED_OPTIONAL]
        #: Those on which decisions rest.
        self.required: list[Reflector[Any]] = list(required)
        self.reflectors: list[Reflector[Any]] = [*required, *optional]
        self._log = WatchLog()
        self._config_maps: set[str] = set()
        #: While the watches run.
        self._group: asyncio.TaskGroup | None = None
        self.watch_config_maps(config_maps)

    def watch_config_maps(self, keys: Iterable[str]) -> None:
        """Watch these ConfigMaps as well, each `namespace/name`, and no others. Who is followed once stays so."""
        for key in sorted(set(keys) - self._config_maps):
            self._config_maps.add(key)
            namespace, _, name = key.partition("/")
            chosen = f"metadata.name={name}"
            reflector: Reflector[Any] = Reflector(
                self._client, CONFIG_MAPS, self._mirror, namespace=namespace, field_selector=chosen, optional=True
            )
            self.reflectors.append(reflector)
            if self._group is not None:
                self._group.create_task(reflector.run())

    def follow(self, reflector: Reflector[Any]) -> None:
        """Decisions rest on this kind as well; it tells somebody of its own."""
        self.required.append(reflector)
        self.reflectors.append(reflector)

    def require(self, resource: Resource[Any]) -> None:
        """Decisions rest on this kind as well: without news of it there are none."""
        self.required += [reflector for reflector in self.reflectors if reflector.resource is resource]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for reflector in self.reflectors:
                group.create_task(reflector.run())

    async def wait_until_synced(self) -> None:
        await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))

    @property
    def is_synced(self) -> bool:
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    @property
    def is_up_to_date(self) -> bool:
        """Whether what decisions rest upon is up to date, as far as anybody can know."""
        return self.is_synced and not any(reflector.problem for reflector in self.required)

    def problem(self) -> str | None:
        """What keeps the cache from being up to date, in words."""
        missing = [reflector.resource.name for reflector in self.reflectors if not reflector.synced.is_set()]
        problems = group_by_problem(self.required)
        if missing:
            problems.insert(0, f"not listed yet: {', '.join(missing)}")
        if len(problems) > MAX_PROBLEMS:
            problems[MAX_PROBLEMS:] = [f"and {len(problems) - MAX_PROBLEMS} more"]
        return "; ".join(problems) or None

    def tell(self) -> None:
        """Say in the log which kinds cannot be followed, and when they can be again: once each."""
        self._log.update(self.reflectors)
