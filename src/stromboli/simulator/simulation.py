"""The loop of a simulation: process the next events, then run a cycle if jobs are pending."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from stromboli import kube
from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.simulator.measurements import SimulationMeasurements
from stromboli.simulator.virtual_cluster import PodEnds, PodStart, VirtualCluster
from stromboli.simulator.workload import Workload


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


@dataclass(frozen=True, slots=True)
class CycleIntervals:
    """The intervals of cycles, in virtual seconds."""

    #: After a cycle with decisions.
    again: float = 1.0
    #: While jobs are pending without events: policies may depend on time.
    idle: float = 300.0


#: Called with the current time and the number of remaining events.
Progress = Callable[[float, int], None]


class Simulation:
    """Runs a workload. The same workload, configuration and seed give the same result."""

    def __init__(
        self,
        workload: Workload,
        program: Program,
        *,
        scheduler_names: Sequence[str] = SCHEDULER_NAMES,
        seed: int = 0,
        intervals: CycleIntervals | None = None,
        shard: ShardChoice | None = None,
        ends: PodEnds | None = None,
    ) -> None:
        self._pace = intervals or CycleIntervals()
        self._events = EventQueue()
        self.virtual_cluster = VirtualCluster(
            program, scheduler_names=scheduler_names, seed=seed, now=workload.start, shard=shard, ends=ends
        )
        self.measurements = SimulationMeasurements(workload.start)
        #: Warnings of all cycles, in order.
        self.warnings: dict[str, None] = dict.fromkeys(workload.warnings)
        self._last: Session | None = None
        self._events.note(workload.start, Arrival(workload.present))
        for moment, objects in sorted(workload.arrivals.items()):
            self.virtual_cluster.expect(objects)
            self._events.note(moment, Arrival(objects))
        self.virtual_cluster.expect(workload.present)

    def run(
        self,
        until: float = inf,
        progress: Progress = lambda moment, left: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> SimulationMeasurements:
        """Run until no events are left, until some moment, or until `stop` reports true."""
        events_queue, virtual_cluster = self._events, self.virtual_cluster
        while events_queue and events_queue.next_moment <= until and not stop():
            virtual_cluster.now = events_queue.next_moment
            for event in events_queue.take():
                self._happen(event)
            virtual_cluster.report()
            self.measurements.look(virtual_cluster.now, virtual_cluster.cluster)
            if virtual_cluster.has_pending_jobs:
                self._cycle(until)
            progress(virtual_cluster.now, events_queue.events)
        self.measurements.end = until if events_queue else virtual_cluster.now
        return self.measurements

    def _happen(self, event: SimulationEvent) -> None:
        virtual_cluster = self.virtual_cluster
        if isinstance(event, Arrival):
            running, waiting = virtual_cluster.create(event.objects)
            virtual_cluster.report()
            self.measurements.arrive(virtual_cluster.now, waiting, virtual_cluster.cluster)
            self._note_ends(running)
        elif isinstance(event, PodCompletion):
            gone = virtual_cluster.finish(event.uid)
            if gone is not None:
                self.measurements.finish(virtual_cluster.now, gone)

    def _note_ends(self, started: Sequence[PodStart]) -> None:
        for start in started:
            if start.end < inf:
                self._events.note(start.end, PodCompletion(start.uid))

    def _cycle(self, until: float) -> None:
        virtual_cluster = self.virtual_cluster
        session = virtual_cluster.decide()
        started, gone = virtual_cluster.apply_decisions(session)
        self.measurements.decided(virtual_cluster.now, session, started, gone)
        self._note_ends(started)
        virtual_cluster.report()
        self.measurements.look(virtual_cluster.now, virtual_cluster.cluster)
        self.warnings.update(dict.fromkeys(session.warnings))
        self._last = session
        self._schedule_next_cycle(bool(started or gone), until)

    def _schedule_next_cycle(self, decided: bool, until: float) -> None:
        """Schedule the next cycle: soon after a decision, and later because policies may depend on time."""
        if decided:
            self._events.note(self.virtual_cluster.now + self._pace.again, Wake())
        elif self.virtual_cluster.has_pending_jobs and (self._events.events or until < inf):
            next_look = self.virtual_cluster.now + self._pace.idle
            if not self._events or next_look < self._events.next_moment:
                self._events.note(next_look, Wake())

    def why_waiting(self, job: str) -> list[str]:
        """Return the messages of the last cycle about a waiting job."""
        status = self._last.statuses.get(job) if self._last else None
        return list(status.sentences) if status else []

    def summary_of_waiting(self, job: str) -> list[str]:
        """Return the most actionable cause of a waiting job, in one line."""
        status = self._last.statuses.get(job) if self._last else None
        return [status.summary] if status and status.summary else []
