"""A virtual cluster of manifests, in which decisions take effect at once: bound pods run, evicted pods are deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from stromboli import kube
from stromboli.cluster.dump.contents import Contents, cluster_with
from stromboli.cluster.objects.pod_groups.pod_groups import eviction_message
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import SCHEDULER_NAMES, Cluster
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.values.times import date_of
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.status import is_short_of_tasks, phase_of
from stromboli.planner.claims import allocate_devices, release_devices, templates_in, with_claims
from stromboli.planner.volumes import bind_claims, ephemeral_claims
from stromboli.workloads.groups import is_plain, job_key_of
from stromboli.workloads.plain_groups import group_for, with_group
from stromboli.workloads.queues import DEFAULT_QUEUE


class PlannedCluster:
    def __init__(
        self,
        objects: Iterable[kube.KubeObject],
        program: Program,
        *,
        scheduler_names: Sequence[str] = SCHEDULER_NAMES,
        seed: int = 0,
        shard: ShardChoice | None = None,
        now: float | None = None,
        default_queue: str = DEFAULT_QUEUE,
        node_selector: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Apply the objects. The default time is the latest one of the objects."""
        self._program = program
        self._seed = seed
        self._cluster = Cluster(
            scheduler_names, program.class_labels, program.class_annotations, seed=seed, shard=shard,
            default_queue=default_queue, node_selector=node_selector,
        )  # fmt: skip
        self._cycle = 0
        #: The order of waiting jobs at the start of the last cycle that was recorded.
        self.order: dict[str, int] = {}
        #: The uids of pods that were terminating in the last cycle.
        self._terminating: frozenset[str] = frozenset()
        #: Groups that were created for pods without one.
        self._made_groups: dict[str, kube.PodGroup] = {}
        entries = list(objects)
        self._now = max(map(_moment_of, entries), default=0.0) if now is None else now
        for queue in standard_queues(default_queue):
            self._cluster.apply(queue)
        templates = templates_in(entries)
        for entry in sorted(entries, key=_place_in_line):
            if isinstance(entry, kube.Pod):
                self._apply_claims_of(entry)
                entry = with_claims(entry, templates, self._cluster.claims)
            if isinstance(entry, kube.Pod) and is_plain(entry, scheduler_names):
                self._apply_plain(entry)
            else:
                self._cluster.apply(entry)

    @classmethod
    def of_contents(cls, contents: Contents, program: Program, now: float) -> PlannedCluster:
        """Return the cluster of a dump, without additional objects."""
        world = cls((), program, scheduler_names=contents.scheduler_names, seed=contents.seed)
        world._cluster = cluster_with(contents, program.class_labels, program.class_annotations)
        world._now = now
        return world

    def _apply_plain(self, pod: kube.Pod) -> None:
        group = group_for(pod)
        if group.key not in self._cluster.groups:
            self._cluster.apply(group)
            self._made_groups[group.key] = group
        self._cluster.apply(with_group(pod, group.metadata.name))

    def _apply_claims_of(self, pod: kube.Pod) -> None:
        for claim in ephemeral_claims(pod):
            if self._cluster.volumes.claim(claim.key) is None:
                self._cluster.apply(claim)

    def include_past(self, usage: UsageLedger | None) -> None:
        """Let past usage count in decisions."""
        self._cluster.past_usage = usage

    def run_cycle(self, records: DecisionRecords | None = None) -> Session:
        """Run one cycle and apply its decisions, which are recorded in `records` if present."""
        session = self.decide(records)
        self.apply_decisions(session)
        return session

    def decide(self, records: DecisionRecords | None = None) -> Session:
        """Run one cycle without applying its decisions. Pods that terminated during the previous one are gone."""
        self.end_terminations()
        self._terminating = frozenset(
            pod.metadata.uid for pod in self.pods() if pod.metadata.deletion_timestamp is not None
        )
        self._cycle += 1
        name = f"cycle-{self._cycle}"
        session = Session(self.snapshot(), self._program, uid=name, seed=self._seed, records=records)
        if records is not None:
            self.order = order_of_jobs(session)
        session.run()
        return session

    def apply_decisions(self, session: Session) -> None:
        """Apply the decisions of a cycle."""
        for key, status in session.statuses.items():
            self._cluster.groups.set_phase(key, status.phase)
        for statement in session.decisions.binds:
            for placement in statement:
                self._run(placement)
        self._cluster.assumptions.remember(session.carryover())
        for eviction in session.decisions.evictions:
            self._remove(self._cluster.pods.get(eviction.task.uid))
        self._drop_empty_groups()

    def end_terminations(self) -> None:
        """Remove the pods that were terminating in the last cycle, as the next one does."""
        for pod in self.pods():
            if pod.metadata.uid in self._terminating:
                self._remove(pod)
        self._terminating = frozenset()
        self._drop_empty_groups()

    def _drop_empty_groups(self) -> None:
        """Delete groups that were created for pods when their last pod is gone."""
        with_pods = {job_key_of(pod) for pod in self._cluster.pods.all()} if self._made_groups else set()
        for key in self._made_groups.keys() - with_pods:
            self._cluster.remove(self._made_groups.pop(key))

    def _remove(self, pod: kube.Pod) -> None:
        release_devices(pod, self._cluster.claims)
        self._cluster.remove(pod)

    def _run(self, placement: Placement) -> None:
        pod = self._cluster.pods.get(placement.uid)
        annotations = {**(pod.metadata.annotations or {}), **placement.annotations}
        bind_claims(placement, self._cluster.volumes, self._cluster.nodes.entries[placement.node].facts.labels)
        pod = allocate_devices(pod, placement, self._cluster.claims)
        conditions = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
        moment = date_of(self._now).isoformat()
        conditions.append(kube.KubeCondition(type="PodScheduled", status="True", last_transition_time=moment))
        running = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, annotations=annotations),
            spec=msgspec.structs.replace(pod.spec, node_name=placement.node),
            status=msgspec.structs.replace(pod.status, phase="Running", conditions=conditions),
        )
        self._cluster.apply(running)

    def snapshot(self) -> Snapshot:
        return self._cluster.snapshot(self._now)

    def pods(self) -> list[kube.Pod]:
        """Return all pods, of any scheduler."""
        return self._cluster.pods.all()

    def pod_groups(self) -> dict[str, kube.PodGroup]:
        """Return the PodGroups by key, with those that were created for pods without one."""
        return dict(self._cluster.groups)

    def eviction_message(self, key: str) -> str:
        """Return the message about evicted pods of a group, if it has one."""
        group = self._cluster.groups.get(key)
        return "" if group is None else eviction_message(group)

    @staticmethod
    def phase(job: Job, session: Session, after: Snapshot) -> str:
        """Return the phase that the scheduler writes for the state of a job's pods after the session."""
        leaving = sum(
            int(after.status[task.row]) == TaskStatus.RELEASING and int(after.node_of[task.row]) >= 0
            for task in (job.tasks.values() if job.counts[TaskStatus.RELEASING] else ())
        )
        short = is_short_of_tasks(job, leaving, refused=session.refusals.get(job.key) is not None)
        return phase_of(job, unschedulable=short, leaving=leaving)


def order_of_jobs(session: Session) -> dict[str, int]:
    """Return the position of every waiting job in the order at the start of a cycle. Jobs for which a plugin fails come
    last: the cycle reports the error, and does not serve them.
    """
    jobs = sorted((session.jobs[key] for key in session.snapshot.waiting), key=partial(_order_key, session))
    return {job.key: place for place, job in enumerate(jobs)}


def _order_key(session: Session, job: Job) -> tuple[Any, ...]:
    try:
        return False, session.job_order_key(job)
    except Exception:
        return True, job.key


def _moment_of(entry: kube.KubeObject) -> float:
    """Return the latest time of an object: of its creation, or of its measurement."""
    measured = entry.timestamp if isinstance(entry, kube.NodeMetrics) else None
    return max(seconds_of(entry.metadata.creation_timestamp), seconds_of(measured))


def _place_in_line(entry: kube.KubeObject) -> tuple[str, float, str]:
    """Order objects by kind and age, so that nothing depends on their order in the manifests."""
    return type(entry).kind_name, seconds_of(entry.metadata.creation_timestamp), entry.key
