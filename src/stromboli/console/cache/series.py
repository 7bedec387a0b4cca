"""Figures over time: a bounded number of points, of which the oldest are forgotten."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stromboli.console.cache.frames import ConsoleFrame, ConsoleFrames

#: Seconds between two points, and the number of points: four hours.
STEP_SECONDS, _MAX_POINTS = 15.0, 960
#: Queues whose shares are kept, the first of the tree.
_MAX_QUEUES = 200


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    time: float
    #: The used part of the capacity by resource, and the share of each queue.
    utilisation: Mapping[str, float]
    shares: Mapping[str, float]
    waiting: int
    running: int


class FigureSeries:
    """Takes a point of the present frame at each step."""

    def __init__(self, frames: ConsoleFrames, wall_clock: Callable[[], float] = time.time) -> None:
        self._frames, self._wall_clock = frames, wall_clock
        self.points: deque[SeriesPoint] = deque(maxlen=_MAX_POINTS)

    async def run(self) -> None:
        """Take points until cancelled, the first with the first frame."""
        await self._frames.newer(0)
        while True:
            self.take()
            await asyncio.sleep(STEP_SECONDS)

    def take(self) -> None:
        self.points.append(_point(self._frames.current, self._wall_clock()))


def _point(frame: ConsoleFrame, moment: float) -> SeriesPoint:
    return SeriesPoint(
        moment,
        _utilisation(frame),
        {entry.name: round(entry.share, 4) for entry in frame.queues[:_MAX_QUEUES]},
        frame.counts.get("waiting", 0),
        frame.counts.get("running", 0),
    )


def _utilisation(frame: ConsoleFrame) -> dict[str, float]:
    if frame.nodes is None:
        return {}
    totals = {name: (float(column.sum()), frame.nodes.used[name]) for name, column in frame.nodes.capacity.items()}
    return {name: round(float(used.sum()) / total, 4) for name, (total, used) in totals.items() if total}
