"""Trying things out: the same objects with a change, planned again.

A program's plugins belong to the session that was opened last. Whoever wants to know something from the session
of a plan asks before the first trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject
from stromboli.planner.changes import Change
from stromboli.planner.plan import STARTED
from stromboli.planner.virtual_cluster import World

#: A job that holds a room waits for others to leave it; this many cycles more are granted for that.
_CYCLES_TO_RELEASE = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """What a trial should bring about: the job starts or, if it runs already, all its pods have a place."""

    job: str
    all_pods: bool

    def is_reached(self, world: World) -> bool:
        job = world.snapshot().jobs.get(self.job)
        if job is None or world.phase(job) not in STARTED:
            return False
        return not (self.all_pods and job.pending_count)


class Trials:
    """Plans of variations of the same objects. The most work to do is fixed: objects times trials."""

    def __init__(
        self,
        objects: Sequence[KubeObject],
        program: Program,
        *,
        cycles: int = 1,
        seed: int = 0,
        scheduler_names: Sequence[str],
        shard: ShardChoice | None = None,
        max_work: int = 400_000,
    ) -> None:
        self.objects = objects
        self.scheduler_names = scheduler_names
        self._program = program
        self._cycles = cycles
        self._seed = seed
        self._shard = shard
        self._work_left = max_work
        self.count = 0

    @property
    def affordable(self) -> int:
        """How many more trials there may be."""
        return self._work_left // (max(len(self.objects), 1) * self._cycles)

    def reaches(self, goal: Goal, change: Change | None = None) -> bool:
        """Whether the goal is reached in as many cycles as were asked for, or soon after by a job that only
        waits for its room to be released.
        """
        self.count += 1
        self._work_left -= max(len(self.objects), 1) * self._cycles
        world = self._world(change.apply(self.objects) if change else self.objects)
        for _ in range(self._cycles - 1):
            world.run_cycle()
        for _ in range(1 + _CYCLES_TO_RELEASE):
            session = world.decide()
            job = session.jobs.get(goal.job)
            if job is None or not (job.is_ready or job.pipelined_count):
                return False
            world.apply_decisions(session)
            reached = goal.is_reached(world)
            if reached or not job.pipelined_count:
                return reached
        return False

    def order_of_jobs(self) -> dict[str, int]:
        """Every waiting job's place in the order in which the last cycle began to serve them."""
        world = self._world(self.objects)
        for _ in range(self._cycles - 1):
            world.run_cycle()
        session = Session(world.snapshot(), self._program, seed=self._seed)
        jobs = sorted((session.jobs[key] for key in session.snapshot.waiting), key=session.job_order_key)
        return {job.key: place for place, job in enumerate(jobs)}

    def _world(self, objects: Sequence[KubeObject]) -> World:
        return World(objects, self._program, scheduler_names=self.scheduler_names, seed=self._seed, shard=self._shard)
