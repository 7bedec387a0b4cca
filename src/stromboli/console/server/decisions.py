"""Decisions of scheduling cycles, from the scheduler that made them."""

from __future__ import annotations

from stromboli.console.documents.decisions import CycleList, CycleView
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.views.decisions import cycle_view
from stromboli.console.views.jobs import whole_number
from stromboli.console.views.view import NotFound
from stromboli.planner.cycle_records import MAX_RECORDS, CycleRecords

_LIMIT = 50
_MAX_NUMBER = 1 << 53


class ConsoleDecisions:
    def __init__(self, records: CycleRecords) -> None:
        self._records = records

    async def cycles(self, call: ConsoleCall) -> CycleList:
        """Cycles are numbers, which all people may read."""
        before = whole_number(call.query, "before", 0, _MAX_NUMBER) or None
        limit = whole_number(call.query, "limit", _LIMIT, MAX_RECORDS)
        found = [each.cycle for each in self._records.before(before, limit)]
        return CycleList(instance=call.state.frames.instance, cycles=found, note=self._records.problem)

    async def cycle(self, call: ConsoleCall) -> CycleView:
        """Raises NotFound, ValueError."""
        number = whole_number({"number": call.part("number")}, "number", 0, _MAX_NUMBER)
        record = self._records.find(number)
        if record is None:
            raise NotFound(self._records.problem or f"cycle {number} is not recorded, or not any more")
        return cycle_view(await call.view(), record)
