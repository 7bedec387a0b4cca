"""Frames: jobs, queues and nodes of one moment, with a version.

A frame is taken when something has changed, and not more often than its cost permits. Readers wait for the next one;
the server keeps nothing for a reader but its version, so that a slow or dead one costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.job_rows import JobRows, ListedJob
from stromboli.console.cache.node_facts import NodeFacts, node_facts
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.session.session import Session
from stromboli.planner.overview.queue_list import QueueEntry, listed_queues

#: Seconds between two frames, at least, and the part of the time that frames may take.
_MIN_SECONDS, _MAX_PART = 1.0, 0.1
#: Versions whose changes are kept for readers.
_KEPT = 256
#: Resources that a frame has.
OVERVIEW, QUEUES, JOBS, NODES = "overview", "queues", "jobs", "nodes"

_log = logging.getLogger("stromboli.console")


@dataclass(frozen=True, slots=True)
class JobDelta:
    """The keys of the jobs that differ from the version before."""

    version: int
    changed: frozenset[str]
    removed: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConsoleFrame:
    """The state of one moment. The session has made no decision; it is replaced by that of the next frame."""

    version: int = 0
    time: float = 0.0
    rows: Mapping[str, ListedJob] = field(default_factory=dict)
    positions: Mapping[str, int | None] = field(default_factory=dict)
    queues: Sequence[QueueEntry] = ()
    nodes: NodeFacts | None = None
    session: Session | None = None
    waiting_pods: int = 0
    #: Jobs by state, of the whole cluster.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: Why queues and nodes are those of an earlier frame; empty if they are not.
    problem: str = ""
    #: By resource, the version in which it changed last.
    versions: Mapping[str, int] = field(default_factory=dict)


class ConsoleFrames:
    """Takes frames of a cache. `clock` counts seconds for the pace, `wall_clock` is the time of frames."""

    def __init__(
        self,
        cache: ConsoleCache,
        owner_label: str,
        *,
        clock: Callable[[], float] = time.perf_counter,
        wall_clock: Callable[[], float] = time.time,
        after_frame: Callable[[], None] = lambda: None,
    ) -> None:
        self._cache, self._rows = cache, JobRows(owner_label)
        self._clock, self._wall_clock, self._after_frame = clock, wall_clock, after_frame
        self._deltas: deque[JobDelta] = deque(maxlen=_KEPT)
        self._next = asyncio.Event()
        #: Changes with each start.
        self.instance = secrets.token_hex(4)
        self.current = ConsoleFrame()

    async def run(self) -> None:
        """Take frames until cancelled."""
        while True:
            await self._cache.changed.wait()
            self._cache.changed.clear()
            began = self._clock()
            try:
                self.take()
                self._after_frame()
            except Exception:
                _log.exception("frame not taken")
            await asyncio.sleep(max(_MIN_SECONDS, (self._clock() - began) / _MAX_PART))

    async def newer(self, version: int) -> ConsoleFrame:
        """Wait for a frame with a higher version, and return the present one."""
        while self.current.version <= version:
            await self._next.wait()
        return self.current

    def delta(self, since: int) -> JobDelta | None:
        """Return the changes of jobs since a version; None if they are not kept any more."""
        current = self.current.version
        if since == current:
            return JobDelta(current, frozenset(), frozenset())
        if since > current or not self._deltas or self._deltas[0].version > since + 1:
            return None
        later = [each for each in self._deltas if each.version > since]
        touched = frozenset().union(*(each.changed | each.removed for each in later))
        present = frozenset(key for key in touched if key in self.current.rows)
        return JobDelta(current, present, touched - present)

    def take(self) -> None:
        """Take a frame now; nothing happens if it shows the same as the last one."""
        before, cluster = self.current, self._cache.cluster
        rows = self._rows.update(cluster)
        session, problem = self._session(before)
        is_new = session is not None and session is not before.session
        queues = listed_queues(session) if is_new and session else before.queues
        nodes = node_facts(session) if is_new and session else before.nodes
        positions = {key: row.entry.position for key, row in rows.items()}
        delta = _delta(before, rows, positions)
        pods = sum(job.pending_count for job in session.jobs.values()) if session else before.waiting_pods
        changed = [
            *([JOBS] if delta.changed or delta.removed else []),
            *([QUEUES] if list(queues) != list(before.queues) else []),
            *([NODES] if not _same_nodes(nodes, before.nodes) else []),
        ]
        if is_new and before.session is not None:
            _empty(before.session)
        if not (changed or problem != before.problem or pods != before.waiting_pods or not before.version):
            self.current = replace(before, session=session)
            return
        version = before.version + 1
        self._deltas.append(delta)
        self.current = ConsoleFrame(
            version, self._wall_clock(), rows, positions, queues, nodes, session, pods,
            Counter(row.state for row in rows.values()), problem,
            {**before.versions, OVERVIEW: version, **dict.fromkeys(changed, version)},
        )  # fmt: skip
        self._notify()

    def _notify(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    def _session(self, before: ConsoleFrame) -> tuple[Session | None, str]:
        """Open a session, in which nothing is decided. A failure of a plugin leaves the one before."""
        cluster, program = self._cache.cluster, self._cache.program
        try:
            snapshot = cluster.snapshot(self._wall_clock())
            return Session(snapshot, program, uid="console", seed=cluster.seed), ""
        except PluginFailure as error:
            return before.session, str(error)


def _empty(session: Session) -> None:
    """Free most of a session at once. It is cyclic, so that the rest waits for the collector."""
    for table in (session.jobs, session.refusals, session.waiting, session.admissible):
        table.clear()


def _delta(before: ConsoleFrame, rows: Mapping[str, ListedJob], positions: Mapping[str, int | None]) -> JobDelta:
    """A row that was made again counts only if it shows something else."""
    changed = frozenset(
        key
        for key, row in rows.items()
        if positions[key] != before.positions.get(key) or (row is not (old := before.rows.get(key)) and row != old)
    )
    return JobDelta(before.version + 1, changed, frozenset(before.rows.keys() - rows.keys()))


def _same_nodes(one: NodeFacts | None, other: NodeFacts | None) -> bool:
    return one is other or (one is not None and other is not None and one.equals(other))
