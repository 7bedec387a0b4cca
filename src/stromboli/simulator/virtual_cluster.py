"""A cluster in virtual time: the store of the embedded server, and the cache that follows it.

Pods run from the moment they are bound, for their declared run time. A job is deleted when all its pods have ended and
none arrives later, like a Job with `ttlSecondsAfterFinished: 0`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeVar

import msgspec

from stromboli import kube
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.objects.pods.run_times import run_time_of
from stromboli.cluster.objects.timestamps import seconds_of
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.cluster.state.usage_meter import UsageMeter
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.values.times import date_of
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.kinds import KINDS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.timestamps import RUN_SECONDS
from stromboli.local.api_server.store import DELETED, Collection, Object, Store, StoreEntry
from stromboli.local.fakes.kubelet.pod_lifecycle import seconds
from stromboli.simulator.workload import arrival_annotation
from stromboli.workloads.groups import controlling_owner, is_plain, job_key_of
from stromboli.workloads.plain_groups import group_for, with_group

T = TypeVar("T", bound=TopLevel)

#: Returns when a pod ends, from the time when it began and the present.
PodEnds = Callable[[kube.Pod, float, float], float]

#: Seconds from the start until terminating pods are gone.
_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class PodStart:
    """The start of a pod, with its end time."""

    uid: str
    job: str
    end: float


@dataclass(frozen=True, slots=True)
class PodRemoval:
    """The end or eviction of a pod."""

    uid: str
    job: str
    #: Whether the job ended with this pod.
    is_last: bool = False
    #: Whether the controller has recreated the pod.
    is_recreated: bool = False


class VirtualCluster:
    def __init__(
        self,
        program: Program,
        *,
        scheduler_names: Sequence[str],
        seed: int = 0,
        now: float = 0.0,
        shard: ShardChoice | None = None,
        ends: PodEnds | None = None,
    ) -> None:
        """`ends` are the ends of pods, by default after their declared run times."""
        self.now = now
        self._end_of = ends or _declared_end
        self._program = program
        self._seed = seed
        self._scheduler_names = scheduler_names
        self._store = Store()
        self._collections: dict[type[TopLevel], Collection] = {
            kind: self._store.add_collection(group, name, group or "v1") for (group, name), kind in KINDS.items()
        }
        self.cluster = Cluster(scheduler_names, program.class_labels, program.class_annotations, seed=seed, shard=shard)
        meter = self._meter = UsageMeter(self.cluster) if program.reads_past_usage else None
        self._ingest = (
            Ingest(self.cluster)
            if meter is None
            else Ingest(self.cluster, lambda entry, before: meter.object_changed(entry, before, self.now))
        )
        self._applied_version = self._store.version
        self._pods: dict[str, StoreEntry] = {}
        #: Pods that were bound here, before their binding.
        self._waiting: dict[str, StoreEntry] = {}
        #: Number of present and of expected pods, by job.
        self._present: Counter[str] = Counter()
        self._awaited: Counter[str] = Counter()
        self._made: set[str] = set()
        self._cycle = 0
        for queue in standard_queues():
            self._put(queue)

    def include_past(self, usage: UsageLedger) -> None:
        """Continue this ledger of runs that have ended. Running pods are charged as they are created."""
        if self._meter is not None:
            self._meter.restore(usage, (), self.now)

    # -- objects ------------------------------------------------------------------------------------------------

    def expect(self, objects: Iterable[kube.KubeObject]) -> None:
        """Announce objects that arrive later: a job with expected pods is not complete."""
        for entry in objects:
            if isinstance(entry, kube.Pod):
                self._awaited[self._job_of(entry)] += 1

    def create(self, objects: Iterable[kube.KubeObject]) -> tuple[list[PodStart], list[str]]:
        """Create expected objects; return the running pods, and the jobs of the waiting ones."""
        running, waiting = [], []
        for entry in objects:
            if not isinstance(entry, kube.Pod):
                self._put(self._dated(entry))
                continue
            pod, job = self._with_group(entry), self._job_of(entry)
            self._awaited[job] -= 1
            self._present[job] += 1
            if pod.spec.node_name:
                began = self._began(pod)
                self._put_pod(pod)
                is_leaving = pod.metadata.deletion_timestamp is not None
                end = self.now + _GRACE if is_leaving else self._end_of(pod, began, self.now)
                running.append(PodStart(pod.metadata.uid, job, max(end, self.now)))
            else:
                self._put_pod(self._dated(pod))
                waiting.append(job)
        return running, waiting

    def _dated(self, entry: T) -> T:
        """Set the creation time of an arriving object."""
        if not isinstance(entry, kube.Pod | kube.PodGroup) or (isinstance(entry, kube.Pod) and entry.spec.node_name):
            return entry
        declared = seconds_of(entry.metadata.creation_timestamp)
        created = declared if declared and declared <= self.now and arrival_annotation(entry) is None else self.now
        metadata = msgspec.structs.replace(entry.metadata, creation_timestamp=_stamp(created))
        return msgspec.structs.replace(entry, metadata=metadata)

    def _began(self, pod: kube.Pod) -> float:
        scheduled = (c for c in pod.status.conditions or () if c.type == "PodScheduled" and c.status == "True")
        return max((seconds_of(c.last_transition_time) for c in scheduled), default=0.0) or (
            seconds_of(pod.metadata.creation_timestamp) or self.now
        )

    def _job_of(self, pod: kube.Pod) -> str:
        if is_plain(pod, self._scheduler_names):
            return group_for(pod).key
        return job_key_of(pod) or ""

    def _with_group(self, pod: kube.Pod) -> kube.Pod:
        """Create the group of a pod without one, as the controller does."""
        if not is_plain(pod, self._scheduler_names):
            return pod
        group = group_for(pod)
        if group.key not in self._made:
            self._made.add(group.key)
            self._put(self._dated(group))
        return with_group(pod, group.metadata.name)

    def _put(self, entry: TopLevel) -> StoreEntry:
        metadata = entry.metadata
        body: Object = msgspec.to_builtins(entry)
        body.setdefault("metadata", {})
        return self._store.put(self._collections[type(entry)], (metadata.namespace, metadata.name), body)

    def _put_pod(self, pod: kube.Pod) -> None:
        self._pods[pod.metadata.uid] = self._put(pod)

    def report(self) -> None:
        """Apply the changes of the store to the cache."""
        for kind, collection in self._collections.items():
            for change in collection.changes_after(self._applied_version):
                entry = msgspec.json.decode(change.entry.raw, type=kind)
                if change.type == DELETED:
                    self._ingest.remove(entry)
                else:
                    self._ingest.apply(entry)
        self._applied_version = self._store.version

    # -- cycles -------------------------------------------------------------------------------------------------

    @property
    def has_pending_jobs(self) -> bool:
        return bool(self.cluster.cluster_state().waiting)

    def decide(self) -> Session:
        """Run one cycle without applying its decisions."""
        self._cycle += 1
        session = Session(self.cluster.snapshot(self.now), self._program, uid=f"cycle-{self._cycle}", seed=self._seed)
        session.run()
        return session

    def apply_decisions(self, session: Session) -> tuple[list[PodStart], list[PodRemoval]]:
        """Apply the decisions of a cycle; return started and removed pods."""
        started = self.bind_decided(session)
        return started, [self._evict(eviction.task.uid) for eviction in session.decisions.evictions]

    def bind_decided(self, session: Session) -> list[PodStart]:
        """Apply everything that a cycle has decided, except evictions; return the started pods."""
        for key, status in session.statuses.items():
            self.set_phase(key, status.phase)
        self.cluster.assumptions.remember(session.carryover())
        return [self._bind(placement) for statement in session.decisions.binds for placement in statement]

    def set_phase(self, key: str, phase: str) -> None:
        if self.cluster.groups.phase(key) == phase:
            return
        namespace, _, name = key.partition("/")
        collection = self._collections[kube.PodGroup]
        known = collection.get((namespace, name))
        if known is None:
            self.cluster.groups.set_phase(key, phase)  # a native group has no phase field
            return
        status = {**known.body.get("status", {}), "phase": phase}
        self._store.put(collection, known.key, {**_copy(known), "status": status})

    # -- pods ---------------------------------------------------------------------------------------------------

    def _bind(self, placement: Placement) -> PodStart:
        uid = placement.uid
        known = self._waiting[uid] = self._pods[uid]
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _stamp(self.now)}
        status = {**known.body.get("status", {}), "phase": "Running", "conditions": [condition]}
        status.pop("nominatedNodeName", None)
        body = {**_copy(known), "spec": {**known.body["spec"], "nodeName": placement.node}, "status": status}
        body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **placement.annotations}
        entry = self._pods[uid] = self._store.put(self._collections[kube.Pod], known.key, body)
        pod = msgspec.json.decode(entry.raw, type=kube.Pod)
        return PodStart(uid, self._job_of(pod), self._end_of(pod, self.now, self.now))

    def finish(self, uid: str) -> PodRemoval | None:
        """Complete a pod; None if it is already gone."""
        known = self._pods.pop(uid, None)
        if known is None:
            return None
        self._waiting.pop(uid, None)
        body = {**_copy(known), "status": {**known.body.get("status", {}), "phase": "Succeeded"}}
        self._store.put(self._collections[kube.Pod], known.key, body)
        job = self._job_of(msgspec.json.decode(known.raw, type=kube.Pod))
        self._present[job] -= 1
        return PodRemoval(uid, job, is_last=self._clear_away(job))

    def _clear_away(self, job: str) -> bool:
        """Delete a complete job with its pods, and report whether it is complete."""
        if not job or self._present[job] or self._awaited[job]:
            return False
        self.report()
        for pod in self.cluster.pods.of_job(job):
            self._remove(kube.Pod, (pod.metadata.namespace, pod.metadata.name))
        namespace, _, name = job.partition("/")
        self._remove(kube.PodGroup, (namespace, name))
        self._made.discard(job)
        return True

    def remove_pod(self, uid: str) -> None:
        """Delete a pod; its job stays, and may get others."""
        known = self._pods.pop(uid)
        self._waiting.pop(uid, None)
        self._present[self._job_of(msgspec.json.decode(known.raw, type=kube.Pod))] -= 1
        self._store.remove(self._collections[kube.Pod], known)

    def _remove(self, kind: type[kube.KubeObject], key: tuple[str, str]) -> None:
        collection = self._collections[kind]
        known = collection.get(key)
        if known is not None:
            self._store.remove(collection, known)

    def _evict(self, uid: str) -> PodRemoval:
        """Delete a pod at once. Its controller recreates it; a pod without a controller is lost."""
        known = self._pods.pop(uid)
        before = self._waiting.pop(uid, known)
        pod = msgspec.json.decode(known.raw, type=kube.Pod)
        job = self._job_of(pod)
        self._store.remove(self._collections[kube.Pod], known)
        if controlling_owner(pod) is not None:
            self._put_pod(_like(msgspec.json.decode(before.raw, type=kube.Pod), self.now))
            return PodRemoval(uid, job, is_recreated=True)
        self._present[job] -= 1
        return PodRemoval(uid, job, is_last=not (self._present[job] or self._awaited[job]))


def _like(pod: kube.Pod, now: float) -> kube.Pod:
    """Return a new pod with the same name and spec."""
    first, _, number = pod.metadata.uid.partition("#")
    uid = f"{first}#{int(number or 0) + 1}"
    metadata = msgspec.structs.replace(
        pod.metadata, uid=uid, creation_timestamp=_stamp(now), resource_version=None, deletion_timestamp=None
    )
    spec = msgspec.structs.replace(pod.spec, node_name=None)
    return kube.Pod(metadata=metadata, spec=spec, status=type(pod.status)(phase="Pending"))


def _declared_end(pod: kube.Pod, began: float, now: float) -> float:
    """Return the end by the run time for the fake kubelets, or else by the declared one."""
    return began + min(seconds(pod, RUN_SECONDS, inf), run_time_of(pod))


def _copy(entry: StoreEntry) -> Object:
    """Copy the body and its metadata, in which the store sets the version."""
    return {**entry.body, "metadata": dict(entry.metadata)}


def _stamp(moment: float) -> str:
    return date_of(moment).isoformat()
