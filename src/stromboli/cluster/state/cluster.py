"""The cluster as the cache knows it: objects come and go in any order, snapshots come out.

Objects are kept as they came, and beside them what was decided and is not true yet. What the model needs is derived
from both when a snapshot is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from stromboli import kube
from stromboli.cluster.objects.bind_requests import RequestBook, Room
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.cluster.objects.disruption_budgets import DisruptionBudgets
from stromboli.cluster.objects.node_metrics import NodeUsage
from stromboli.cluster.objects.node_shards import NodeShards
from stromboli.cluster.objects.numa_allocations import NumaAllocations
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup, as_group
from stromboli.cluster.objects.pod_groups.pod_groups import DEFAULT_QUEUE, job_key_of, job_spec, same_job_spec
from stromboli.cluster.objects.pod_groups.previous_domains import PreviousDomains
from stromboli.cluster.objects.pods.constraints import asks_about_namespaces
from stromboli.cluster.objects.pods.decoder import Reading
from stromboli.cluster.objects.pods.device_requests import assignments_in, backends_in
from stromboli.cluster.objects.pods.pods import PodRecord, says_the_same
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.cluster.objects.topology.topologies import Topologies
from stromboli.cluster.state.accounting import Accounting, Membership
from stromboli.cluster.state.assumptions import Decisions
from stromboli.cluster.state.cluster_state import ClusterState
from stromboli.cluster.state.eviction_history import EvictionHistory
from stromboli.cluster.state.job_owners import JobOwners
from stromboli.cluster.state.nodes_and_queues import NodesAndQueues
from stromboli.core.model.devices.claims import ClaimChoice
from stromboli.core.model.jobs.carryover import CycleCarryover, Reservation
from stromboli.core.model.jobs.job import Counts, role_ready, surely_ready
from stromboli.core.model.nodes.numa import Holdings
from stromboli.core.model.nodes.shards import ShardChoice
from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import ENDING_STATUSES
from stromboli.core.model.volumes.allocator import VolumeState
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.objects import native
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.shards import NodeShard
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology, Numatopology

SCHEDULER_NAMES = ("stromboli", "volcano")
#: So many classes, terms and resources that nobody uses do no harm.
SLACK = (5_000, 500, 32)


class _Book(Protocol):
    """Keeps what objects of one kind say."""

    def apply(self, given: Any, /) -> None: ...

    def remove(self, key: str, /) -> None: ...


class Cluster:
    """The mirror of a cluster."""

    def __init__(
        self,
        scheduler_names: Iterable[str] = SCHEDULER_NAMES,
        class_labels: Sequence[str] = (),
        class_annotations: Sequence[str] = (),
        *,
        seed: int = 0,
        default_queue: str = DEFAULT_QUEUE,
        node_selector: Mapping[str, Collection[str]] | None = None,
        shard: ShardChoice | None = None,
    ) -> None:
        self.seed = seed
        self.scheduler_names = frozenset(scheduler_names)
        self.default_queue = default_queue
        self.node_selector = node_selector or {}
        self.shards = NodeShards(shard)
        #: Whose jobs are whose; None where all are ours.
        self._owners = JobOwners(self.scheduler_names) if shard is not None else None
        self.decisions = Decisions()
        self.requests = RequestBook()
        self.eviction_history = EvictionHistory()
        self.usage = NodeUsage()
        self.volumes = PersistentVolumes(self._labels_of)
        self.claims = ResourceClaims(self._is_leaving)
        self._placed_by_others = 0
        self._begin(class_labels, class_annotations)

    def _begin(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        """With nothing that is known."""
        self.reading = Reading(class_labels, class_annotations)
        self.structure = NodesAndQueues(self.axis, self.node_selector, self.shards)
        self.membership = Membership()
        self.budgets = DisruptionBudgets()
        self.processors = NumaAllocations()
        self.hyper_nodes = HyperNodes()
        self.topologies = Topologies()
        self.homes = PreviousDomains()
        self._of_one_kind: dict[type[TopLevel], _Book] = {
            PodDisruptionBudget: self.budgets,
            kube.NodeMetrics: self.usage,
            KubeHyperNode: self.hyper_nodes,
            KubeTopology: self.topologies,
            NodeShard: self.shards,
        }
        self.books = Accounting(
            self.membership, self.structure, self.reading, self.decisions, self.volumes, self.claims,
            seed=self.seed, default_queue=self.default_queue,
        )  # fmt: skip
        self._sizes = self.reading.sizes

    @property
    def axis(self) -> ResourceAxis:
        return self.reading.axis

    @property
    def groups(self) -> dict[str, kube.PodGroup]:
        return self.membership.groups

    # -- events -------------------------------------------------------------------------------------------------

    def apply(self, given: TopLevel) -> None:
        """An object was added or changed. Kinds that nothing depends on yet are passed over."""
        if isinstance(given, kube.Pod):
            self._apply_pod(given)
        elif isinstance(given, kube.PodGroup):
            self._apply_group(given)
        elif isinstance(given, native.NativePodGroup):
            self._apply_group(as_group(given))
        elif isinstance(given, kube.Namespace):
            self.reading.apply_namespace(given)
        elif (book := self._of_one_kind.get(type(given))) is not None:
            book.apply(given)
        elif isinstance(given, BindRequest):
            self._look_at(self.requests.apply(given))
        elif isinstance(given, Numatopology):
            self.structure.set_processors(given.key, self.processors.apply(given))
        elif not self.volumes.apply(given) and not self.claims.apply(given):
            self.structure.apply(given)

    def remove(self, given: TopLevel) -> None:
        """An object is gone."""
        if isinstance(given, kube.Pod):
            self._forget_pod(given.metadata.uid)
        elif isinstance(given, kube.PodGroup):
            self._forget_group(given.key)
        elif isinstance(given, native.NativePodGroup):
            self._forget_group(as_group(given).key)
        elif isinstance(given, kube.Namespace):
            self.reading.remove_namespace(given.key)
        elif (book := self._of_one_kind.get(type(given))) is not None:
            book.remove(given.key)
        elif isinstance(given, BindRequest):
            self._look_at(self.requests.remove(given.key))
        elif isinstance(given, Numatopology):
            self.processors.remove(given.key)
            self.structure.set_processors(given.key, None)
        elif not self.volumes.remove(given) and not self.claims.remove(given):
            self.structure.remove(given)

    def use_class_keys(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        """Other plugins read other labels and annotations of pods: classes are told apart by these from now on."""
        if backends_in(class_annotations) != self.reading.backends:
            self._begin_again(class_labels, class_annotations)
        elif self.reading.use_class_keys(class_labels, class_annotations):
            for record in self.membership.records.values():
                self.reading.read(record)
            self.rebuild()

    def _apply_group(self, group: kube.PodGroup) -> None:
        key, held = group.key, self.decisions.pending_phases
        known = self.groups.get(key)
        self.groups[key] = group
        self.homes.apply(group)
        self.topologies.follow(group)
        is_another = known is not None and known.metadata.uid != group.metadata.uid
        if is_another or not (key in held or self._phase_is_ours_alone(group)):
            held.discard(key)
            self._enter_phase(key, _phase_of(group))
        if known is None or not same_job_spec(known, group):
            self.books.changes.groups.add(key)
            # The axis must know every resource before columns are made.
            job_spec(group, self.axis, self.structure.priorities, self.default_queue)

    def _phase_is_ours_alone(self, group: kube.PodGroup) -> bool:
        """A native group cannot say its phase: what was decided about it stands until it is another one."""
        return isinstance(group, NativeGroup) and group.key in self.decisions.phases

    def _forget_group(self, key: str) -> None:
        self.groups.pop(key, None)
        self.homes.remove(key)
        self.topologies.forget(key)
        self.decisions.forget_group(key)
        self.books.changes.groups.add(key)

    def _apply_pod(self, pod: kube.Pod) -> None:
        uid, records = pod.metadata.uid, self.membership.records
        if not pod.spec.node_name and self._is_none_of_ours(pod):
            self._forget_pod(uid)
            self.requests.strangers[uid] = pod
            self._note_owner(pod)
            return
        self._note_owner(pod)
        self.requests.strangers.pop(uid, None)
        known = records.get(uid)
        if pod.spec.node_name:
            self.decisions.intended.pop(uid, None)
            expected = self.decisions.forget_assumed(uid) or (known and known.pod.spec.node_name)
            self._placed_by_others += expected != pod.spec.node_name
            self.volumes.settle(uid)
            self.claims.settle(uid)
        if known is not None and says_the_same(known.pod, pod):
            labels, known.pod = known.pod.metadata.labels, pod
            if labels != pod.metadata.labels:
                self.reading.decode_labels(known)
        else:
            self._leave_job(uid)
            record = records[uid] = PodRecord(pod, job_key_of(pod) or "")
            self.reading.read(record)
            if record.job:
                self.membership.members.setdefault(record.job, set()).add(uid)
        self.volumes.enter(pod)
        self.claims.enter(pod)
        self._touch(uid)
        if not pod.spec.node_name:
            self._take_room(uid)

    def _note_owner(self, pod: kube.Pod) -> None:
        if self._owners is not None:
            self._owners.note(pod.metadata.uid, job_key_of(pod) or "", pod.spec.scheduler_name or "")

    def is_foreign(self, key: str) -> bool:
        """Whether a job is for another scheduler to decide about."""
        return self._owners is not None and key in self._owners.foreign

    def _is_none_of_ours(self, pod: kube.Pod) -> bool:
        """Whether a pod that waits is for another scheduler, and has no room yet either."""
        is_foreign = (pod.spec.scheduler_name or "") not in self.scheduler_names
        return is_foreign and self.requests.room(pod.metadata.uid) is None

    def _look_at(self, uids: Iterable[str]) -> None:
        """Bind requests say something else about these pods, which may be known, or not yet."""
        for uid in uids:
            pod = self.find_pod(uid) or self.requests.strangers.get(uid)
            if pod is not None and not pod.spec.node_name and not self._has_its_room(uid):
                self._apply_pod(pod)

    def _has_its_room(self, uid: str) -> bool:
        """Whether a pod counts already where it is to count, as when a request says what we meant ourselves."""
        room = self.decisions.rooms.get(uid)
        return room is not None and room == (self.requests.room(uid) or self.decisions.intended.get(uid))

    def _take_room(self, uid: str) -> None:
        """A pod that waits has the room that a bind request holds for it, else the one that we decided upon, if any."""
        decisions, intended = self.decisions, self.decisions.intended.get(uid)
        room, before = self.requests.room(uid) or intended, decisions.assumed.get(uid)
        if room is None and before is None:
            return
        if room is None or room.node != before:
            self.volumes.forget(uid)
            self.claims.forget(uid)
            decisions.forget_assumed(uid)
        if room is not None:
            self._placed_by_others += room.node not in (before, intended and intended.node)
            decisions.assume(uid, room)
            self.volumes.decide(uid, room.node, room.volumes)
            self.claims.decide(uid, room.node, room.devices)
        self._touch(uid)

    def _forget_pod(self, uid: str) -> None:
        if self._owners is not None:
            self._owners.forget(uid)
        self.requests.strangers.pop(uid, None)
        self._leave_job(uid)
        self.membership.records.pop(uid, None)
        self.decisions.forget_pod(uid)
        self.volumes.leave(uid)
        self.claims.leave(uid)
        self._touch(uid)

    def _touch(self, uid: str) -> None:
        """A pod, or what was decided about it, is another than before."""
        self.budgets.touch(uid)
        self.processors.touch(uid)
        self.books.changes.pods.add(uid)

    def _leave_job(self, uid: str) -> None:
        record, members = self.membership.records.get(uid), self.membership.members
        if record is not None and record.job:
            self.books.changes.jobs.add(record.job)
            members[record.job].discard(uid)
            if not members[record.job]:
                del members[record.job]

    def _reread_pods(self) -> None:
        """Namespaces have changed, and with them what namespace selectors mean."""
        for uid, record in self.membership.records.items():
            if asks_about_namespaces(record.pod):
                self.reading.read(record)
                self.books.changes.pods.add(uid)
        self.reading.is_outdated = False

    # -- decisions ----------------------------------------------------------------------------------------------

    @property
    def assumed(self) -> Mapping[str, str]:
        """Pods that are being bound, by uid, with their nodes."""
        return self.decisions.assumed

    @property
    def leaving(self) -> frozenset[str]:
        """The uids of pods that are being evicted."""
        return frozenset(self.decisions.leaving)

    def _labels_of(self, node: str) -> Mapping[str, str] | None:
        entry = self.structure.nodes.get(node)
        return entry.facts.labels if entry is not None else None

    def _is_leaving(self, uid: str) -> bool:
        """Whether a pod that uses a claim will not do so for long; one that is not known may stay."""
        record = self.membership.records.get(uid)
        return record is not None and self.decisions.status_of(record.pod) in ENDING_STATUSES

    def assume(
        self,
        uid: str,
        node: str,
        processors: str = "",
        given: Mapping[str, str] | None = None,
        volumes: tuple[VolumeChoice, ...] = (),
        devices: tuple[ClaimChoice, ...] = (),
    ) -> None:
        """A pod is being bound: its room, which processors it was given and what its claims were, is taken
        until the cluster says more, or the attempt is given up. `given` is what travels with the binding.
        """
        record = self.membership.records.get(uid)
        if record is not None and not record.pod.spec.node_name:
            self.decisions.intended[uid] = Room(node, processors, assignments_in(given or {}), volumes, devices)
            self._take_room(uid)

    def forget(self, uid: str) -> None:
        """We do not mean to bind a pod any more: it was not bound after all, or a bind request holds its room now."""
        if self.decisions.intended.pop(uid, None) is not None and not self._has_its_room(uid):
            self._take_room(uid)

    def assume_evicted(self, uid: str) -> None:
        """A pod is being evicted: its room will be free."""
        self._mark(uid, self.decisions.leaving)

    def forget_eviction(self, uid: str) -> None:
        """A pod was not evicted after all."""
        self._unmark(uid, self.decisions.leaving)

    def promise(self, rooms: Mapping[str, str]) -> None:
        """Where the last cycle holds rooms for pods, by uid: known at once, before it is written on them."""
        promised = self.decisions.promised
        for uid in {*promised, *rooms}:
            record, before, node = self.membership.records.get(uid), promised.pop(uid, ""), rooms.get(uid, "")
            if record is not None and node and node != record.pod.status.nominated_node_name:
                promised[uid] = node
            if promised.get(uid, "") != before:
                self.books.changes.pods.add(uid)

    def start_backoff(self, uid: str) -> None:
        """Leave a pod alone until it is awakened: the last attempt to bind it failed."""
        self._mark(uid, self.decisions.resting)

    def end_backoff(self, uid: str) -> None:
        self._unmark(uid, self.decisions.resting)

    def avoid(self, uid: str, *nodes: str) -> None:
        """Do not send a pod to these nodes until they are no longer avoided: they refused it."""
        if uid in self.membership.records:
            self.decisions.avoided[uid] = self.decisions.avoided.get(uid, frozenset()).union(nodes)
            self._touch(uid)

    def stop_avoiding(self, uid: str, node: str) -> None:
        avoided = self.decisions.avoided.pop(uid, frozenset()) - {node}
        if avoided:
            self.decisions.avoided[uid] = avoided
        self._touch(uid)

    def _mark(self, uid: str, marked: set[str]) -> None:
        if uid in self.membership.records and uid not in marked:
            marked.add(uid)
            self._touch(uid)

    def _unmark(self, uid: str, marked: set[str]) -> None:
        if uid in marked:
            marked.discard(uid)
            self._touch(uid)

    def remember(self, carryover: CycleCarryover) -> None:
        """What the last cycle leaves to the next ones."""
        self.reserve(carryover.reservations)
        self.promise(carryover.nominations)
        self.eviction_history.note(carryover.eviction_history)

    def reserve(self, reservations: Mapping[str, Reservation]) -> None:
        """What the last cycle promised to jobs that wait; what an earlier one promised is void."""
        self.decisions.reservations = dict(reservations)

    def set_phase(self, key: str, phase: str, *, hold: bool = False) -> None:
        """What a cycle decided about a PodGroup. A phase that is held stays until it is settled."""
        if key not in self.groups:
            return
        if hold:
            self.decisions.pending_phases.add(key)
        self._enter_phase(key, phase)

    def release_phase(self, key: str) -> None:
        """The decision about a phase is written, or given up: from now on the object says it."""
        self.decisions.pending_phases.discard(key)
        group = self.groups.get(key)
        if group is not None and not self._phase_is_ours_alone(group):
            self._enter_phase(key, _phase_of(group))

    def phase(self, key: str) -> str:
        return self.decisions.phases.get(key, "")

    def _enter_phase(self, key: str, phase: str) -> None:
        if self.decisions.phases.get(key) != phase:
            self.decisions.phases[key] = phase
            self.books.changes.phases.add(key)

    # -- what is known ------------------------------------------------------------------------------------------

    def objects(self) -> list[TopLevel]:
        """All objects as they came, without those that were passed over."""
        groups = (group.origin if isinstance(group, NativeGroup) else group for group in self.groups.values())
        others = [*self.structure.objects(), *self.reading.namespaces.values(), *self.budgets.objects()]
        others += [*self.processors.objects(), *self.hyper_nodes.objects(), *self.topologies.objects()]
        others += self.shards.objects()
        return [
            *others,
            *self.requests.objects(),
            *self.volumes.objects(),
            *self.claims.objects(),
            *groups,
            *self.pods(),
        ]

    def pods(self) -> list[kube.Pod]:
        """All pods that count, ours and others'."""
        return [record.pod for record in self.membership.records.values()]

    def count_pods(self) -> int:
        return len(self.membership.records)

    def pod(self, uid: str) -> kube.Pod:
        return self.membership.records[uid].pod

    def find_pod(self, uid: str) -> kube.Pod | None:
        record = self.membership.records.get(uid)
        return record.pod if record else None

    def members(self, key: str) -> list[kube.Pod]:
        """The pods of a job."""
        records = self.membership.records
        return [records[uid].pod for uid in sorted(self.membership.members.get(key, ()))]

    def has_minimum_placed(self, key: str) -> bool:
        """Whether a job has at least its minimum of pods on nodes or on the way to one, or is not there (any more)."""
        return self._is_whole(key, role_ready)

    def has_minimum_bound(self, key: str) -> bool:
        """Whether a job has at least its minimum of pods on nodes, or is not there: binds under way may fail."""
        return self._is_whole(key, surely_ready)

    def _is_whole(self, key: str, count: Callable[[Counts], int]) -> bool:
        job = self.cluster_state().jobs.get(key)
        return job is None or job.has_minimum(count)

    @property
    def external_changes(self) -> tuple[int, ...]:
        """Changes when somebody else takes room, or when nodes change: what was decided before may not fit any more."""
        return self._placed_by_others, self.structure.generation, self.structure.revision

    def shortages(self, uid: str) -> list[str]:
        """The resources of which a pod's node has given away more than it has; of those that the pod asks for."""
        cluster_state, counted = self.cluster_state(), self.books.counted.get(uid)
        if counted is None or counted.row < 0:
            return []
        idle = cluster_state.books[: cluster_state.layout.resources, counted.row]
        return [self.axis.names[d] for d, amount in counted.task.task_class.request if amount and idle[d] < 0]

    # -- snapshots ----------------------------------------------------------------------------------------------

    def snapshot(self, now: float = 0.0) -> Snapshot:
        """Everything as it stands, isolated from what comes."""
        cluster_state, processors = self.cluster_state(), self.holdings()
        cluster_state.shared()
        status, node_of = cluster_state.columns.copies()
        hyper_nodes, topologies = self.hyper_nodes.tree(cluster_state.table), self.topologies.trees(cluster_state.table)
        jobs = dict(cluster_state.jobs)
        foreign = frozenset(self._owners.foreign) if self._owners is not None else frozenset()
        waiting = tuple(sorted(cluster_state.waiting - foreign))
        self.books.touched.update(self.homes.outdated(jobs, hyper_nodes, topologies))
        touched = tuple(sorted(key for key in self.books.touched - cluster_state.waiting - foreign if key in jobs))
        self.books.touched = set()
        for key in waiting:
            jobs[key] = jobs[key].copy()
        return Snapshot(
            axis=self.axis,
            nodes=cluster_state.table,
            layout=cluster_state.layout,
            amounts=cluster_state.books.copy(),
            terms=self.reading.terms,
            tallies=dict(cluster_state.tallies),
            status=status,
            node_of=node_of,
            jobs=jobs,
            waiting=waiting,
            touched=touched,
            foreign=foreign,
            queues=cluster_state.queues,
            queue_usage=cluster_state.sums.copies(),
            quotas=self.structure.quotas,
            now=now,
            warnings=self._warnings(),
            device_claims=self.books.devices.claims(),
            config_maps=self.structure.config_maps,
            volumes=VolumeState(
                self.volumes.table(), cluster_state.volume_use.copy(), cluster_state.later_volume_use.copy()
            ),
            claims=self.claims.state(),
            usage=self.usage.table(cluster_state.table, cluster_state.books[cluster_state.layout.allocatable :]),
            eviction_history=self.eviction_history.recent_evictions(now),
            hyper_nodes=hyper_nodes,
            topologies=topologies,
            budgets=self.budgets.budgets(self.membership.records, self.decisions.leaving),
            processors=processors,
            reservations=self.decisions.reservations,
        )

    def _warnings(self) -> tuple[str, ...]:
        books = (self.books, self.usage, self.processors, self.hyper_nodes, self.topologies, self.volumes, self.claims)
        return tuple(warning for each in books for warning in each.warnings())

    def cluster_state(self) -> ClusterState:
        """What follows from the objects, brought up to date."""
        if self.reading.is_outdated:
            self._reread_pods()
        self.structure.reshard()
        self.books.changes.pods |= self.volumes.take_changed() | self.claims.take_changed()
        return self.books.cluster_state()

    def holdings(self) -> Mapping[str, Holdings]:
        """By node, who has which of its processors; of nodes that say something about them."""
        return self.processors.holdings(self.membership.records, self.decisions)

    def touch(self, key: str) -> None:
        """Have the next cycle look at a job, although nothing about it has changed."""
        if key in self.groups or key in self.membership.members:
            self.books.changes.jobs.add(key)

    def rebuild(self) -> None:
        """Trust nothing that was derived: the next snapshot derives everything anew from the objects."""
        self.books.distrust()

    @property
    def needs_compaction(self) -> bool:
        """Whether much more was read in the course of time than at the last fresh start: names and terms stay known
        although nobody uses them any more.
        """
        return any(
            now > 2 * then + slack for now, then, slack in zip(self.reading.sizes, self._sizes, SLACK, strict=True)
        )

    def compact(self) -> None:
        """Begin anew with the objects that are there, so that everything is forgotten that nobody uses."""
        classifier = self.reading.classifier
        self._begin_again(classifier.labels, classifier.annotations)

    def _begin_again(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        self.cluster_state()
        objects, touched = self.objects(), self.books.touched
        self._begin(class_labels, class_annotations)
        for entry in objects:
            self.apply(entry)
        self.cluster_state()
        self._sizes = self.reading.sizes
        self.books.touched = touched
        self._placed_by_others += 1

    def forget_classes(self) -> int:
        """Forget the classes that no pod has any more; answers how many they were."""
        in_use = {counted.task.task_class.number for counted in self.books.counted.values()}
        return self.reading.forget_classes(in_use)


def _phase_of(group: kube.PodGroup) -> str:
    return group.status.phase or "Pending"
