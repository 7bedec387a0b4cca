"""Decisions of scheduling cycles, from the scheduler that made them."""

from __future__ import annotations

from stromboli.console.documents.decisions import CycleList, CycleView
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.views.decisions import cycle_view
from stromboli.console.views.jobs import whole_number
from stromboli.console.views.view import NotFound
from stromboli.planner.cycle_records import MAX_RECORDS, CycleRecords

_LIMIT = 50
_NONE = "no scheduler reports its cycles to this console; the console of `stromboli up` has them"
_MAX_NUMBER = 1 << 53


class ConsoleDecisions:
    """`records` are those of a scheduler in the same process; None without one."""

    def __init__(self, records: CycleRecords | None) -> None:
        self._records = records

    async def cycles(self, call: ConsoleCall) -> CycleList:
        """Cycles are numbers, which all people may read."""
        before = whole_number(call.query, "before", 0, _MAX_NUMBER) or None
        limit = whole_number(call.query, "limit", _LIMIT, MAX_RECORDS)
        found = self._records.before(before, limit) if self._records is not None else []
        note = "" if self._records is not None else _NONE
        return CycleList(instance=call.state.frames.instance, cycles=[each.cycle for each in found], note=note)

    async def cycle(self, call: ConsoleCall) -> CycleView:
        """Raises NotFound, ValueError."""
        number = whole_number({"number": call.part("number")}, "number", 0, _MAX_NUMBER)
        record = self._records.find(number) if self._records is not None else None
        if record is None:
            raise NotFound(_NONE if self._records is None else f"cycle {number} is not recorded, or not any more")
        return cycle_view(await call.view(), record)
