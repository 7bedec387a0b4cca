"""Trials: planning the same objects again with a change.

A program's plugins belong to the session that was opened last. The session of a plan must be read before the first
trial.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube import KubeObject, PodGroup
from stromboli.planner.changes import ObjectChange
from stromboli.planner.plan import STARTED
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.workloads.queues import DEFAULT_QUEUE

#: The default limit of the work of all trials together, and one for plans that must not take long.
MAX_WORK, BRIEF_WORK = 400_000, 25_000

#: Additional cycles for a job with nominated capacity, until the terminating pods are gone.
_CYCLES_TO_RELEASE = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a trial: the job starts or, if it runs already, all its pods are placed."""

    job: str
    all_pods: bool

    def is_reached(self, cluster: PlannedCluster, session: Session) -> bool:
        after = cluster.snapshot()
        job = after.jobs.get(self.job)
        if job is None or cluster.phase(job, session, after) not in STARTED:
            return False
        return not (self.all_pods and job.pending_count)


@dataclass(frozen=True, slots=True)
class OpenCluster:
    """A session on a cluster before any decision, and the PodGroups by key, with those made for pods without one."""

    session: Session
    pod_groups: Mapping[str, PodGroup]


class Trials:
    """Plans of variations of the same objects. The total work, objects times trials, is limited."""

    def __init__(
        self,
        objects: Sequence[KubeObject],
        program: Program,
        *,
        cycles: int = 1,
        seed: int = 0,
        scheduler_names: Sequence[str],
        shard: ShardChoice | None = None,
        now: float | None = None,
        default_queue: str = DEFAULT_QUEUE,
        node_selector: Mapping[str, Collection[str]] | None = None,
        max_work: int = MAX_WORK,
    ) -> None:
        self.objects = objects
        self.scheduler_names = scheduler_names
        self._program = program
        self._cycles = cycles
        self._seed = seed
        self._shard = shard
        self._now = now
        self._default_queue = default_queue
        self._node_selector = node_selector
        self._work_left = max_work
        self._past_usage: UsageLedger | None = None
        self.count = 0

    def include_past(self, usage: UsageLedger | None) -> Self:
        """Let past usage count in decisions."""
        self._past_usage = usage
        return self

    @property
    def affordable(self) -> int:
        """The remaining number of trials."""
        return self._work_left // (max(len(self.objects), 1) * self._cycles)

    def reaches(self, goal: Goal, change: ObjectChange | None = None) -> bool:
        """Report whether the goal is reached in the number of cycles, or soon after by a job that only waits for
        its nominated capacity.
        """
        self.count += 1
        self._work_left -= max(len(self.objects), 1) * self._cycles
        cluster = self._cluster_of(change.apply(self.objects) if change else self.objects)
        for _ in range(self._cycles - 1):
            cluster.run_cycle()
        for _ in range(1 + _CYCLES_TO_RELEASE):
            session = cluster.decide()
            job = session.jobs.get(goal.job)
            if job is None or not (job.is_ready or job.pipelined_count):
                return False
            cluster.apply_decisions(session)
            reached = goal.is_reached(cluster, session)
            if reached or not job.pipelined_count:
                return reached
        return False

    def open(self, objects: Sequence[KubeObject] | None = None) -> OpenCluster:
        """Return the cluster at the start of the last cycle, before any decision of it; of other objects, if given."""
        cluster = self._cluster_of(self.objects if objects is None else objects)
        for _ in range(self._cycles - 1):
            cluster.run_cycle()
        session = Session(cluster.snapshot(), self._program, seed=self._seed)
        return OpenCluster(session, cluster.pod_groups())

    def _cluster_of(self, objects: Sequence[KubeObject]) -> PlannedCluster:
        cluster = self._make_cluster(objects)
        cluster.include_past(self._past_usage)
        return cluster

    def _make_cluster(self, objects: Sequence[KubeObject]) -> PlannedCluster:
        return PlannedCluster(
            objects, self._program, scheduler_names=self.scheduler_names, seed=self._seed, shard=self._shard,
            now=self._now, default_queue=self._default_queue, node_selector=self._node_selector,
        )  # fmt: skip
