"""The thread that writes a history.

Records are collected and written in batches, one transaction each. While the database cannot be reached they wait; when
too many wait, further ones are dropped and counted, and `has_lost_records` asks the source to report everything that
exists once more. A scheduling cycle never waits for the database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from stromboli.core.model.usage.budgets import BudgetState
from stromboli.history.databases.database import Database, HistoryError
from stromboli.history.databases.opening import open_for_writing
from stromboli.history.records import RecordedJob, RecordedPod, merged_job, merged_pod
from stromboli.history.retention import HistoryBounds, Retention
from stromboli.history.statements import close_missing, jobs_of, refresh, write_jobs, write_pods
from stromboli.history.usage.charges import charge
from stromboli.history.usage.thresholds import claim_threshold

log = logging.getLogger("stromboli.history")

#: The most records that wait, and the most that one transaction writes.
MAX_WAITING = 100_000
_MAX_BATCH = 5_000
#: Seconds in which records are collected for a batch.
_COLLECT = 0.05
#: Seconds until the next attempt after a failure, and how often one batch is tried on a database that can be reached.
_MAX_PAUSE = 30.0
_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class _Inventory:
    """What exists at a moment."""

    scheduler: str
    jobs: Collection[str]
    pods: Collection[str]
    moment: float


@dataclass(slots=True)
class _Batch:
    jobs: dict[str, RecordedJob] = field(default_factory=dict)
    pods: dict[str, RecordedPod] = field(default_factory=dict)
    inventory: _Inventory | None = None
    thresholds: list[BudgetState] = field(default_factory=list)
    #: The number of records that were merged into it.
    records: int = 0

    def __bool__(self) -> bool:
        return bool(self.records or self.inventory or self.thresholds)

    def add(self, jobs: Sequence[RecordedJob], pods: Sequence[RecordedPod]) -> None:
        for job in jobs:
            known = self.jobs.get(job.uid)
            self.jobs[job.uid] = job if known is None else merged_job(known, job)
        for pod in pods:
            before = self.pods.get(pod.uid)
            self.pods[pod.uid] = pod if before is None else merged_pod(before, pod)
        self.records += len(jobs) + len(pods)


class HistoryWriter:
    """`submit` may be called from any thread; the rest belongs to the thread of the writer."""

    def __init__(
        self,
        address: str,
        bounds: HistoryBounds | None = None,
        *,
        max_waiting: int = MAX_WAITING,
        connect: Callable[[str], Database] = open_for_writing,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._address = address
        self._retention = Retention(bounds or HistoryBounds(), wall_clock)
        self._max_waiting = max_waiting
        self._connect = connect
        self._changed = threading.Condition()
        #: The batch that takes further records, and those before it.
        self._open = _Batch()
        self._sealed: deque[_Batch] = deque()
        #: Thresholds that were recorded here first, until they are announced.
        self._claimed: deque[BudgetState] = deque()
        self._database: Database | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        #: The number of records that wait, and numbers since the start.
        self.waiting = 0
        self.written = 0
        self.dropped = 0
        #: Why nothing is written at present; empty if it is.
        self.problem = ""
        #: Bytes in use, when they were last measured.
        self.size = 0
        #: Whether records were dropped since the last inventory.
        self.has_lost_records = False

    # -- any thread ---------------------------------------------------------------------------------------------

    def submit(self, jobs: Sequence[RecordedJob] = (), pods: Sequence[RecordedPod] = ()) -> None:
        """Write these records soon; drop them if too many wait."""
        number = len(jobs) + len(pods)
        with self._changed:
            if self.waiting + number > self._max_waiting:
                self.dropped += number
                self.has_lost_records = True
                return
            self._open.add(jobs, pods)
            self.waiting += number
            if self._open.records >= _MAX_BATCH:
                self._seal()
            self._changed.notify()

    def close_missing(self, scheduler: str, jobs: Collection[str], pods: Collection[str], moment: float) -> None:
        """After the records before it, end everything that this scheduler recorded and that is not among these uids."""
        with self._changed:
            self._open.inventory = _Inventory(scheduler, jobs, pods, moment)
            self.has_lost_records = False
            self._seal()
            self._changed.notify()

    def claim_threshold(self, state: BudgetState) -> None:
        """Record soon that a budget has reached its threshold."""
        with self._changed:
            self._open.thresholds.append(state)
            self._changed.notify()

    def claimed_thresholds(self) -> Sequence[BudgetState]:
        """Return the thresholds that this process has recorded before any other since the last call."""
        with self._changed:
            claimed = tuple(self._claimed)
            self._claimed.clear()
        return claimed

    def _seal(self) -> None:
        self._sealed.append(self._open)
        self._open = _Batch()

    @property
    def is_idle(self) -> bool:
        """Report whether everything that was submitted is written."""
        return not self._has_batch()

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Write what waits, within a time limit, and disconnect."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout)
        if timeout and self.waiting:
            log.warning("history not written completely", extra={"records": self.waiting, "problem": self.problem})

    # -- the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        attempts = 0
        while self._wait_for_work():
            try:
                self.work()
                attempts = 0
            except HistoryError as error:
                attempts += 1
                self.fail(error, attempts)
                if self._pause(min(2.0 ** (attempts - 1), _MAX_PAUSE)):
                    break
        self.disconnect()

    def _wait_for_work(self) -> bool:
        """Wait until there is something to do; False at the end."""
        with self._changed:
            while not (self._has_batch() or self._stopping or self._retention.is_due()):
                self._changed.wait(self._retention.interval)
            if not (self._sealed or self._stopping):
                self._changed.wait_for(lambda: self._stopping, _COLLECT)
            return self._has_batch() or not self._stopping

    def _has_batch(self) -> bool:
        return bool(self._sealed or self._open)

    def _pause(self, seconds: float) -> bool:
        """Pause after a failure; True if the process stops meanwhile."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping, seconds)

    def work(self) -> None:
        """Write the waiting batches, and keep the bounds if that is due. Raises HistoryError."""
        if self._database is None:
            self._database = self._connect(self._address)
        while (batch := self._next_batch()) is not None:
            self._done(batch, _write(self._database, batch))
        if self._retention.is_due():
            self.size = self._retention.run(self._database)
        if self.problem:
            log.info("history is written again", extra={"database": self._database.name})
            self.problem = ""

    def _next_batch(self) -> _Batch | None:
        """Return the first batch. It stays until it is written, and does not change any more."""
        with self._changed:
            if not self._sealed and self._open:
                self._seal()
            return self._sealed[0] if self._sealed else None

    def _done(self, batch: _Batch, claimed: Sequence[BudgetState]) -> None:
        with self._changed:
            self._sealed.popleft()
            self._claimed += claimed
            self.waiting -= batch.records
            self.written += batch.records

    def fail(self, error: HistoryError, attempts: int = 1) -> None:
        """Disconnect after a failure; the records wait for the next attempt."""
        was_connected = self._database is not None
        self.disconnect()
        if not self.problem:
            log.error("history cannot be written; records wait", extra={"error": str(error)})
        self.problem = str(error)
        if was_connected and attempts >= _MAX_ATTEMPTS:
            self._drop_first()

    def _drop_first(self) -> None:
        """Drop a batch that a working database rejects again and again."""
        with self._changed:
            if self._sealed:
                batch = self._sealed.popleft()
                # An event twice is better than none.
                self._claimed += batch.thresholds
                self.waiting -= batch.records
                self.dropped += batch.records
                self.has_lost_records = True
        log.error("history rejected records; dropped", extra={"error": self.problem})

    def disconnect(self) -> None:
        """Close the connection; the next batch opens another one."""
        if self._database is not None:
            self._database.close()
            self._database = None


def _write(database: Database, batch: _Batch) -> Sequence[BudgetState]:
    """Write a batch; return the thresholds that had not been recorded."""
    with database.transaction():
        if batch.jobs:
            write_jobs(database, list(batch.jobs.values()))
        changed = set(batch.jobs)
        if batch.pods:
            write_pods(database, list(batch.pods.values()))
            changed |= jobs_of(database, batch.pods)
        if batch.inventory is not None:
            found = batch.inventory
            changed |= close_missing(database, found.scheduler, found.jobs, found.pods, found.moment)
        if changed:
            refresh(database, changed)
            charge(database, changed)
        return [state for state in batch.thresholds if claim_threshold(database, state)]
