"""The agenda: what will happen, in order of time; what happens at the same time, in the order in which it was noted."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from stromboli import kube


@dataclass(frozen=True, slots=True)
class Arrival:
    """Objects are created."""

    objects: Sequence[kube.KubeObject]


@dataclass(frozen=True, slots=True)
class Ending:
    """A pod has done its work, if it still runs."""

    uid: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing happens, but the scheduler looks again."""


SimulationEvent = Arrival | Ending | Wake


class EventQueue:
    def __init__(self) -> None:
        self._line: list[tuple[float, int, SimulationEvent]] = []
        self._number = count()
        #: How many of them are more than a look.
        self.events = 0

    def __bool__(self) -> bool:
        return bool(self._line)

    def note(self, moment: float, happening: SimulationEvent) -> None:
        self.events += not isinstance(happening, Wake)
        heapq.heappush(self._line, (moment, next(self._number), happening))

    @property
    def next_moment(self) -> float:
        return self._line[0][0]

    def take(self) -> list[SimulationEvent]:
        """Everything that happens at the next moment."""
        moment, taken = self.next_moment, []
        while self._line and self._line[0][0] == moment:
            taken.append(heapq.heappop(self._line)[2])
        self.events -= sum(1 for happening in taken if not isinstance(happening, Wake))
        return taken
