"""Records of the cycles of the scheduler in the cluster, which it serves through the API server."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.planner.cycle_records import CycleRecords
from stromboli.planner.live.recorded_cycles import CycleAnswer, CycleCursors
from stromboli.visibility.questions import CYCLES, ROOT

_SECONDS, _RETRY_SECONDS = 3.0, 10.0
_PATH = f"{ROOT}/{CYCLES.name}"

_log = logging.getLogger("stromboli.console")


class SchedulerCycles(CycleRecords):
    """Records with numbers of the console, which go on when another scheduler process answers: that of another shard,
    or a new leader. Each record names its scheduler. `run` reads them.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(scheduler="")
        self._client = client
        self._cursors = CycleCursors()
        self._problem = "the scheduler was not asked for its cycles yet"

    @property
    def problem(self) -> str:
        return self._problem

    async def run(self) -> None:
        """Read records until cancelled. A scheduler records only while it is asked."""
        while True:
            await asyncio.sleep(await self.read())

    async def read(self) -> float:
        """Read the next records; return the pause after it in seconds."""
        try:
            body = await self._client.request("GET", _PATH, params=self._cursors.query())
            answer = msgspec.json.decode(body, type=CycleAnswer)
        except (RequestFailed, msgspec.DecodeError) as error:
            self._report(f"the scheduler does not report its cycles: {error}")
            return _RETRY_SECONDS
        self._report("")
        number = self._cursors.number(answer.instance)
        for record in answer.cycles:
            number = record.cycle.number
            record.cycle.number = self.latest + 1
            self._append(record)
        self._cursors.advance(answer.instance, number)
        return 0.0 if answer.is_full else _SECONDS

    def _report(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("cycles of the scheduler not read; retrying", extra={"error": problem})
        self._problem = problem
