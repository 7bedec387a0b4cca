"""The watches of the scheduler: one reflector per watched kind, all passing objects to the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.watch.watch_log import WatchLog, group_by_problem

#: Maximum number of problems in a message.
MAX_PROBLEMS = 4


class Watches:
    """Keeps the cache current. Optional kinds are waited for until the API server reports that they are not served."""

    def __init__(self, client: Client, ingest: Ingest, config_maps: Iterable[str] = ()) -> None:
        self._client, self._ingest = client, ingest
        required = [Reflector(client, resource, ingest) for resource in WATCHED_REQUIRED]
        optional = [Reflector(client, resource, ingest, optional=True) for resource in WATCHED_OPTIONAL]
        #: Reflectors without which no decision is made.
        self.required: list[Reflector[Any]] = list(required)
        self.reflectors: list[Reflector[Any]] = [*required, *optional]
        self._log = WatchLog()
        self._config_maps: set[str] = set()
        #: While the watches run.
        self._group: asyncio.TaskGroup | None = None
        self.watch_config_maps(config_maps)

    def watch_config_maps(self, keys: Iterable[str]) -> None:
        """Watch these ConfigMaps as well, each by `namespace/name`. A watch is never stopped."""
        for key in sorted(set(keys) - self._config_maps):
            self._config_maps.add(key)
            namespace, _, name = key.partition("/")
            chosen = f"metadata.name={name}"
            reflector: Reflector[Any] = Reflector(
                self._client, CONFIG_MAPS, self._ingest, namespace=namespace, field_selector=chosen, optional=True
            )
            self.reflectors.append(reflector)
            if self._group is not None:
                self._group.create_task(reflector.run())

    def follow(self, reflector: Reflector[Any]) -> None:
        """Require a reflector that passes its objects elsewhere."""
        self.required.append(reflector)
        self.reflectors.append(reflector)

    def require(self, resource: Resource[Any]) -> None:
        """Make no decisions while the watch on this kind fails."""
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
        """Report whether all required kinds are listed and watched."""
        return self.is_synced and not any(reflector.problem for reflector in self.required)

    def problem(self) -> str | None:
        """Return why the cache is not up to date; None if it is."""
        missing = [reflector.resource.name for reflector in self.reflectors if not reflector.synced.is_set()]
        problems = group_by_problem(self.required)
        if missing:
            problems.insert(0, f"not listed yet: {', '.join(missing)}")
        if len(problems) > MAX_PROBLEMS:
            problems[MAX_PROBLEMS:] = [f"and {len(problems) - MAX_PROBLEMS} more"]
        return "; ".join(problems) or None

    def log_problems(self) -> None:
        """Log failed and recovered watches, once each."""
        self._log.update(self.reflectors)
