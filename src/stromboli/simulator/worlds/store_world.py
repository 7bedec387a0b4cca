"""A world of objects in the store of the embedded server, watched as in a cluster: faithful, and slower."""

from __future__ import annotations

from collections.abc import Sequence

from stromboli import kube
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.simulator.traced.jobs import ActiveJob
from stromboli.simulator.traced.objects import TracedJobObjects, pod_uid, queue_object
from stromboli.simulator.virtual_cluster import VirtualCluster
from stromboli.simulator.worlds.world import RUNNING_PHASE, AppliedDecisions
from stromboli.workloads.queues import DEFAULT_QUEUE


class StoreWorld:
    def __init__(
        self,
        program: Program,
        objects: Sequence[kube.KubeObject],
        *,
        scheduler_names: Sequence[str],
        seed: int,
        now: float,
    ) -> None:
        self._virtual = VirtualCluster(program, scheduler_names=scheduler_names, seed=seed, now=now)
        self._virtual.create(objects)
        self._virtual.report()
        self.warnings: list[str] = []
        self._objects = TracedJobObjects(scheduler_names[0])
        self._queues = {DEFAULT_QUEUE} | {entry.metadata.name for entry in objects if isinstance(entry, kube.KubeQueue)}

    @property
    def now(self) -> float:
        return self._virtual.now

    @now.setter
    def now(self, moment: float) -> None:
        self._virtual.now = moment

    @property
    def node_names(self) -> Sequence[str]:
        return self._virtual.cluster.cluster_state().table.names

    @property
    def has_pending_jobs(self) -> bool:
        return self._virtual.has_pending_jobs

    def submit(self, active: ActiveJob) -> None:
        if active.queue not in self._queues:
            self._queues.add(active.queue)
            self._virtual.create([queue_object(active.queue)])
        self._create([self._objects.group(active), *self._objects.pods(active)])

    def _create(self, objects: Sequence[kube.KubeObject]) -> None:
        self._virtual.expect(objects)
        self._virtual.create(objects)
        self._virtual.report()

    def restart(self, active: ActiveJob) -> None:
        for index in range(active.job.pods):
            self._virtual.remove_pod(pod_uid(active, index, active.attempt - 1))
        self._create(self._objects.pods(active))

    def finish(self, active: ActiveJob) -> None:
        for index in range(active.job.pods):
            self._virtual.finish(pod_uid(active, index))
        self._virtual.report()

    def decide(self) -> Session:
        return self._virtual.decide()

    def apply(self, session: Session) -> AppliedDecisions:
        rows = session.nodes.index
        applied = AppliedDecisions()
        for statement in session.decisions.binds:
            for placement in statement:
                applied.place(placement.job, [placement], [rows[placement.node]])
        applied.evicted = list(dict.fromkeys(eviction.task.job for eviction in session.decisions.evictions))
        self._virtual.bind_decided(session)
        self._virtual.report()
        for key in applied.placed:
            if not self._virtual.cluster.cluster_state().jobs[key].pending_count:
                self._virtual.set_phase(key, RUNNING_PHASE)
        self._virtual.report()
        return applied
