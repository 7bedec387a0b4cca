"""Leader election in a thread of its own, with a connection of its own.

A renewal must not wait behind a long cycle or a thousand binds. So the election has its own event loop; the leader only
checks a clock, and stops when its lease has expired.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.election.elector import LeaderElector

log = logging.getLogger("stromboli.election")


@dataclass(frozen=True, slots=True)
class Election:
    """The lease, the identity of this process, and the times in seconds."""

    name: str
    namespace: str
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    #: Annotations of the lease while this process holds it.
    annotations: Mapping[str, str] = field(default_factory=dict)


class Leadership:
    """Call `start`, check `is_leading` before every write, and stop when `lost` is called."""

    def __init__(
        self, connection: Connection, election: Election, *, won: Callable[[], object], lost: Callable[[], object]
    ) -> None:
        self._connection = connection
        self._election = election
        self._won = won
        self._lost = lost
        self._elector: LeaderElector | None = None
        self._failure = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)

    @property
    def is_leading(self) -> bool:
        return self._elector is not None and self._elector.is_leading

    @property
    def epoch(self) -> int:
        return self._elector.epoch if self._elector else 0

    @property
    def renewed_at(self) -> float:
        """When the last successful renewal was sent, by the monotonic clock."""
        return self._elector.renewed_at if self._elector else float("-inf")

    @property
    def leader(self) -> str:
        return self._elector.leader if self._elector else ""

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the lease as last observed."""
        return self._elector.annotations if self._elector else {}

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the lease with its next renewal or release; None removes one. Any thread may call this."""
        if self._elector is not None:
            self._elector.annotate(annotations)

    @property
    def problem(self) -> str:
        """Return why the lease cannot be acquired or renewed; empty if it can, or if another process holds it."""
        return self._failure or (self._elector.problem if self._elector else "")

    def start(self) -> None:
        self._thread.start()

    def renew_now(self) -> None:
        """Renew the lease now. May be called from any thread."""
        if self._loop is not None and self._elector is not None:
            with contextlib.suppress(RuntimeError):  # the loop may have ended by itself
                self._loop.call_soon_threadsafe(self._elector.renew_now)

    def stop(self, timeout: float = 5.0) -> None:
        """Release the lease and end the thread."""
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # the loop may have ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(timeout)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # a stop may come when the election has just ended
            asyncio.run(self._take_part())

    async def _take_part(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        election = self._election
        async with Client(self._connection, timeout=election.renew_deadline) as client:
            self._elector = LeaderElector(
                client,
                name=election.name,
                namespace=election.namespace,
                identity=election.identity,
                lease_duration=election.lease_duration,
                renew_deadline=election.renew_deadline,
                retry_period=election.retry_period,
                annotations=election.annotations,
            )
            try:
                await self._elector.acquire()
                self._won()
                await self._elector.keep()
            except asyncio.CancelledError:
                await self._elector.release()
                return
            except Exception as error:
                log.exception("leader election failed")
                self._failure = f"{type(error).__name__}: {error}"
            self._lost()
