"""What the server knows: the cache with its frames and figures, begun again after a failure."""

from __future__ import annotations

import asyncio
import logging
import time

from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.frames import ConsoleFrames
from stromboli.console.cache.series import FigureSeries
from stromboli.console.server.problems import NotReady
from stromboli.console.server.settings import ConsoleSettings
from stromboli.console.views.view import PersonView
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.planner.cycle_records import CycleRecords

_RETRY_SECONDS = 2.0

_log = logging.getLogger("stromboli.console")


class ConsoleState:
    """`run` follows the cluster. The rest raises NotReady until the first frame."""

    def __init__(self, client: Client, settings: ConsoleSettings, cycles: CycleRecords) -> None:
        self._client, self._settings, self._cycles = client, settings, cycles
        self._cache: ConsoleCache | None = None
        self._frames: ConsoleFrames | None = None
        self._series: FigureSeries | None = None
        self._problem = "the cluster is being read"

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        while True:
            try:
                await self._follow()
            except RequestFailed as error:
                self._problem = f"the cluster cannot be read: {error}"
                _log.error("cluster not read; retrying", extra={"error": str(error)})
            except Exception as error:
                self._problem = "the cluster cannot be followed; the log of the console contains the cause"
                _log.error("cluster not followed; retrying", exc_info=error)
            # Nothing goes on to follow what was read, and its texts may name objects that the next cache lacks.
            self._cache = self._frames = self._series = None
            await asyncio.sleep(_RETRY_SECONDS)

    async def _follow(self) -> None:
        settings = self._settings
        cache = ConsoleCache(self._client, settings.program_of, settings.installation, policy=settings.policy)
        await cache.begin()
        self._cache = cache
        async with asyncio.TaskGroup() as group:
            group.create_task(cache.run())
            await cache.wait_until_synced()
            cache.cluster.cluster_state()
            settings.release_memory()
            frames = ConsoleFrames(cache, settings.owner_label, after_frame=settings.release_memory)
            series = FigureSeries(frames)
            cache.changed.set()
            group.create_task(frames.run())
            await frames.newer(0)
            self._frames, self._series = frames, series
            group.create_task(series.run())
            _log.info("ready", extra={"jobs": len(frames.current.rows)})

    @property
    def cache(self) -> ConsoleCache:
        if self._cache is None or self._frames is None:
            problems = self._cache.problems if self._cache is not None else ()
            raise NotReady("; ".join(problems) or self._problem)
        return self._cache

    @property
    def frames(self) -> ConsoleFrames:
        if self._frames is None:
            raise NotReady("; ".join(self.cache.problems))
        return self._frames

    @property
    def series(self) -> FigureSeries:
        if self._series is None:
            raise NotReady("; ".join(self.cache.problems))
        return self._series

    def view(self, rights: PersonRights) -> PersonView:
        """Return the present frame as a person may see it."""
        frames = self.frames
        return PersonView(frames.instance, frames.current, self.cache.cluster, rights)

    @property
    def latest_cycle(self) -> int:
        """The number of the latest recorded cycle; 0 without any."""
        return self._cycles.latest

    @staticmethod
    def now() -> float:
        return time.time()
