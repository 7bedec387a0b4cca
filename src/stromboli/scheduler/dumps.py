"""Dumps of a running scheduler: its state, and the decisions of the next cycle.

A dump holds everything the next cycle depends on and the decisions it would make, so that `stromboli replay` can repeat
them elsewhere. Both come from copies: dumping changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stromboli.cluster.audit.comparison import CacheComparison
from stromboli.cluster.dump.contents import Contents, cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, DumpError, write_dump
from stromboli.cluster.ingest.kinds import WATCHED_REQUIRED
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client, Listing
from stromboli.kube.objects.meta import TopLevel
from stromboli.planner.replay import recorded_decisions
from stromboli.scheduler.loop import Scheduler

log = logging.getLogger("stromboli.dump")


class DumpWriter:
    def __init__(self, scheduler: Scheduler, client: Client, *, wall_clock: Callable[[], float] = time.time) -> None:
        self._scheduler = scheduler
        self._client = client
        self._wall_clock = wall_clock
        self._folder = Path(scheduler.options.dump_folder or tempfile.gettempdir())
        self._tasks: set[asyncio.Task[None]] = set()

    def dump(self) -> None:
        """Start to write a dump in the background."""
        now = self._wall_clock()
        name = datetime.fromtimestamp(now, UTC).strftime("stromboli-%Y%m%d-%H%M%S-%f.json.gz")
        contents = contents_of(self._scheduler.cluster)
        self._begin(asyncio.to_thread(self._write, self._folder / name, contents, now))

    def start_comparison(self) -> None:
        """Write a dump and compare the cache with the API server."""
        self.dump()
        self._begin(self._compare())

    def _begin(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _write(self, path: Path, contents: Contents, now: float) -> None:
        policy, options = self._scheduler.policy, self._scheduler.options
        try:
            decisions = recorded_decisions(self._decide(contents, now))
        except Exception as error:
            log.warning("dump without decisions", extra={"error": f"{type(error).__name__}: {error}"})
            decisions = None
        try:
            write_dump(path, Dump(contents, now, policy.text, {"defaultQueue": options.default_queue}, decisions))
        except DumpError as error:
            log.error("dump failed", extra={"error": str(error)})
        else:
            log.info("dump written", extra={"file": str(path)})

    def _decide(self, contents: Contents, now: float) -> Session:
        """Run the next cycle on a copy of the cluster and the program."""
        program = Program(self._scheduler.policy.program.configuration, self._scheduler.policy.registry)
        twin = cluster_with(contents, program.class_labels, program.class_annotations)
        session = Session(twin.snapshot(now), program, uid="dump", seed=contents.seed)
        session.run()
        return session

    async def _compare(self) -> None:
        found: list[TopLevel] = []
        try:
            for resource in WATCHED_REQUIRED:
                listing: Listing[Any] = await self._client.list(resource)
                found.extend(listing.items)
        except RequestFailed as error:
            log.error("cache comparison failed", extra={"error": str(error)})
            return
        began = time.perf_counter()
        comparison = CacheComparison(self._scheduler.cluster)
        differences = await asyncio.to_thread(comparison.with_objects, found)
        self._scheduler.metrics.audited("comparison", time.perf_counter() - began, len(differences))
        if not differences:
            log.info("cache equals the API server", extra={"objects": len(found)})
        for difference in differences:
            log.warning("cache differs from the API server", extra={"difference": str(difference)})
