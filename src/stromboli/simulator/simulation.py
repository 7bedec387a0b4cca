"""The loop of a simulation: what happens next happens, then a cycle runs if somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.simulator.event_queue import Arrival, Ending, EventQueue, SimulationEvent, Wake
from stromboli.simulator.measurements import Measurements
from stromboli.simulator.virtual_cluster import Start, VirtualCluster
from stromboli.simulator.workload import Workload


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the scheduler looks, in virtual seconds."""

    #: After a cycle that decided something.
    again: float = 1.0
    #: While somebody waits and nothing happens: policies may look at the clock.
    idle: float = 300.0


#: Told the time from time to time, with how many events are still to come.
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
        pace: Pace | None = None,
        shard: ShardChoice | None = None,
    ) -> None:
        self._pace = pace or Pace()
        self._agenda = EventQueue()
        self.world = VirtualCluster(
            program, scheduler_names=scheduler_names, seed=seed, now=workload.start, shard=shard
        )
        self.measurements = Measurements(workload.start)
        #: What cycles had to say about objects.
        self.warnings: dict[str, None] = dict.fromkeys(workload.warnings)
        self._last: Session | None = None
        self._agenda.note(workload.start, Arrival(workload.present))
        for moment, objects in sorted(workload.arrivals.items()):
            self.world.expect(objects)
            self._agenda.note(moment, Arrival(objects))
        self.world.expect(workload.present)

    def run(self, until: float = inf, progress: Progress = lambda moment, left: None) -> Measurements:
        """Let time go by until nothing more happens, or until some moment."""
        agenda, world = self._agenda, self.world
        while agenda and agenda.next_moment <= until:
            world.now = agenda.next_moment
            for happening in agenda.take():
                self._happen(happening)
            world.report()
            self.measurements.look(world.now, world.cluster)
            if world.has_pending_jobs:
                self._cycle(until)
            progress(world.now, agenda.events)
        self.measurements.end = until if agenda else world.now
        return self.measurements

    def _happen(self, happening: SimulationEvent) -> None:
        world = self.world
        if isinstance(happening, Arrival):
            running, waiting = world.create(happening.objects)
            world.report()
            self.measurements.arrive(world.now, waiting, world.cluster)
            self._note_ends(running)
        elif isinstance(happening, Ending):
            gone = world.finish(happening.uid)
            if gone is not None:
                self.measurements.finish(world.now, gone)

    def _note_ends(self, started: Sequence[Start]) -> None:
        for start in started:
            if start.end < inf:
                self._agenda.note(start.end, Ending(start.uid))

    def _cycle(self, until: float) -> None:
        world = self.world
        session = world.decide()
        started, gone = world.apply_decisions(session)
        self.measurements.decided(world.now, session, started, gone)
        self._note_ends(started)
        world.report()
        self.measurements.look(world.now, world.cluster)
        self.warnings.update(dict.fromkeys(session.warnings))
        self._last = session
        self._look_again(bool(started or gone), until)

    def _look_again(self, decided: bool, until: float) -> None:
        """Come back soon after a decision, and some time when policies may have changed their minds."""
        if decided:
            self._agenda.note(self.world.now + self._pace.again, Wake())
        elif self.world.has_pending_jobs and (self._agenda.events or until < inf):
            next_look = self.world.now + self._pace.idle
            if not self._agenda or next_look < self._agenda.next_moment:
                self._agenda.note(next_look, Wake())

    def why_waiting(self, job: str) -> list[str]:
        """What the last cycle said about a job that waits."""
        status = self._last.statuses.get(job) if self._last else None
        return list(status.sentences) if status else []
