"""The queue of future events, in order of time; simultaneous events in the order of insertion."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from stromboli import kube


@dataclass(frozen=True, slots=True)
class Arrival:
    """The creation of objects."""

    objects: Sequence[kube.KubeObject]


@dataclass(frozen=True, slots=True)
class PodCompletion:
    """The completion of a pod, if it still runs."""

    uid: str


@dataclass(frozen=True, slots=True)
class Wake:
    """A further cycle without any change."""


SimulationEvent = Arrival | PodCompletion | Wake


class EventQueue:
    def __init__(self) -> None:
        self._line: list[tuple[float, int, SimulationEvent]] = []
        self._number = count()
        #: Number of events other than Wake.
        self.events = 0

    def __bool__(self) -> bool:
        return bool(self._line)

    def note(self, moment: float, event: SimulationEvent) -> None:
        self.events += not isinstance(event, Wake)
        heapq.heappush(self._line, (moment, next(self._number), event))

    @property
    def next_moment(self) -> float:
        return self._line[0][0]

    def take(self) -> list[SimulationEvent]:
        """Remove and return all events of the next moment."""
        moment, due = self.next_moment, []
        while self._line and self._line[0][0] == moment:
            due.append(heapq.heappop(self._line)[2])
        self.events -= sum(1 for event in due if not isinstance(event, Wake))
        return due
