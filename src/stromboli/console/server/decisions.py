"""Decisions of scheduling cycles, from the scheduler that made them."""

from __future__ import annotations

from stromboli.console.documents.decisions import CycleList, CycleView
from stromboli.console.server.calls import ConsoleCall
from stromboli.console.views.view import NotFound


class ConsoleDecisions:
    async def cycles(self, call: ConsoleCall) -> CycleList:
        frames = call.state.frames
        return CycleList(instance=frames.instance, cycles=[], note="no scheduler reports its cycles to this console")

    async def cycle(self, call: ConsoleCall) -> CycleView:
        raise NotFound("no scheduler reports its cycles to this console")
