"""The cluster as the cache knows it: objects come and go in any order, snapshots come out.

Objects are kept as they came. What the model needs is derived when a snapshot is asked for, and only for what
changed since the last one; a change of structure (nodes, resources, terms, queues) derives everything anew.

Between two truths about a pod lies what was decided: a pod that is being bound counts on its node, and one that is
being evicted counts as leaving, until the cluster says what became of it or the attempt is given up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from stromboli import kube
from stromboli.cache.classes import Classifier
from stromboli.cache.constraints import asks_about_namespaces
from stromboli.cache.derived import Derived
from stromboli.cache.jobs import DEFAULT_QUEUE, job_key_of, job_spec, missing_group, same_demands
from stromboli.cache.pods import Counted, PodRecord, says_the_same, status_of, task_of, without_demands
from stromboli.cache.structure import Structure
from stromboli.kube.objects.meta import TopLevel
from stromboli.model.books import Layout
from stromboli.model.job import Job
from stromboli.model.nodes import NodeTable
from stromboli.model.resources import ResourceAxis
from stromboli.model.snapshot import Snapshot
from stromboli.model.task import TaskStatus
from stromboli.model.task_class import HostPort
from stromboli.model.terms import TermRegistry

SCHEDULER_NAMES = ("stromboli", "volcano")


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
    ) -> None:
        self.seed = seed
        self.default_queue = default_queue
        self.scheduler_names = frozenset(scheduler_names)
        self.axis = ResourceAxis()
        self._terms = TermRegistry()
        self._classifier = Classifier(self.axis, self._terms, class_labels, class_annotations)
        self._ports: set[HostPort] = set()
        self.structure = Structure(self.axis, node_selector)
        self._namespaces: dict[str, kube.Namespace] = {}
        self._namespace_labels: dict[str, Mapping[str, str]] = {}
        self.groups: dict[str, kube.PodGroup] = {}
        self._records: dict[str, PodRecord] = {}
        self._members: dict[str, set[str]] = {}
        #: Phases as objects say or cycles decided, and the keys for which the decision is being written.
        self._phases: dict[str, str] = {}
        self._held_phases: set[str] = set()
        #: What was decided about pods, by uid: the node that they are being bound to, and who is being evicted.
        self._assumed: dict[str, str] = {}
        self._leaving: set[str] = set()
        #: Pods that are left alone for a while, because binding them failed.
        self._resting: set[str] = set()
        self._built_for: tuple[int, ...] = ()
        self._revised_for = 0
        self._derived = Derived(NodeTable(()), {}, Layout(len(self.axis)), {})
        self._counted: dict[str, Counted] = {}
        self._images: frozenset[str] = frozenset()
        self._changed_pods: set[str] = set()
        self._changed_groups: set[str] = set()
        self._changed_jobs: set[str] = set()
        #: Jobs that changed since the last snapshot.
        self._touched: set[str] = set()
        self._namespaces_changed = False
        #: By kind and name (pods: uid) of the object.
        self._warnings: dict[tuple[str, str], str] = {}
        self._group_faults: dict[str, str] = {}

    # -- events -------------------------------------------------------------------------------------------------

    def apply(self, given: TopLevel) -> None:
        """An object was added or changed. Kinds that nothing depends on yet are passed over."""
        if isinstance(given, kube.Pod):
            self._apply_pod(given)
        elif isinstance(given, kube.PodGroup):
            self._apply_group(given)
        elif isinstance(given, kube.Namespace):
            self._namespaces[given.key] = given
            self._read_namespace(given.key, given.metadata.labels or {})
        else:
            self.structure.apply(given)

    def remove(self, given: TopLevel) -> None:
        """An object is gone."""
        if isinstance(given, kube.Pod):
            self._forget_pod(given.metadata.uid)
        elif isinstance(given, kube.PodGroup):
            self._forget_group(given.key)
        elif isinstance(given, kube.Namespace):
            self._namespaces.pop(given.key, None)
            self._read_namespace(given.key, None)
        else:
            self.structure.remove(given)

    def read_also(self, class_labels: Sequence[str], class_annotations: Sequence[str]) -> None:
        """Other plugins read other labels and annotations of pods: classes are told apart by these from now on."""
        if self._classifier.reads(class_labels, class_annotations):
            return
        self._classifier = Classifier(self.axis, self._terms, class_labels, class_annotations)
        for record in self._records.values():
            self._read(record)
        self.rebuild()

    def forget_classes(self) -> int:
        """Forget the classes that no pod has any more; answers how many they were."""
        before = len(self._classifier)
        in_use = {counted.task.task_class.number for counted in self._counted.values()}
        self._classifier.keep(in_use)
        return before - len(self._classifier)

    def objects(self) -> list[TopLevel]:
        """All objects as they came, without those that were passed over."""
        return [*self.structure.objects(), *self._namespaces.values(), *self.groups.values(), *self.pods()]

    def pods(self) -> list[kube.Pod]:
        """All pods that count, ours and others'."""
        return [record.pod for record in self._records.values()]

    def count_pods(self) -> int:
        return len(self._records)

    def pod(self, uid: str) -> kube.Pod:
        return self._records[uid].pod

    def find_pod(self, uid: str) -> kube.Pod | None:
        record = self._records.get(uid)
        return record.pod if record else None

    def members(self, key: str) -> list[kube.Pod]:
        """The pods of a job."""
        return [self._records[uid].pod for uid in sorted(self._members.get(key, ()))]

    def _read_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        if self._namespace_labels.get(name) != labels:
            self._namespaces_changed = True
            if labels is None:
                del self._namespace_labels[name]
            else:
                self._namespace_labels[name] = labels

    # -- decisions ----------------------------------------------------------------------------------------------

    @property
    def assumed(self) -> Mapping[str, str]:
        """Pods that are being bound, by uid, with their nodes."""
        return self._assumed

    @property
    def leaving(self) -> frozenset[str]:
        """The uids of pods that are being evicted."""
        return frozenset(self._leaving)

    def assume(self, uid: str, node: str) -> None:
        """A pod is being bound: its room is taken until the cluster says more, or the attempt is given up."""
        record = self._records.get(uid)
        if record is not None and not record.pod.spec.node_name:
            self._assumed[uid] = node
            self._changed_pods.add(uid)

    def forget(self, uid: str) -> None:
        """A pod was not bound after all."""
        if self._assumed.pop(uid, None) is not None:
            self._changed_pods.add(uid)

    def expect_leaving(self, uid: str) -> None:
        """A pod is being evicted: its room will be free."""
        if uid in self._records and uid not in self._leaving:
            self._leaving.add(uid)
            self._changed_pods.add(uid)

    def expect_staying(self, uid: str) -> None:
        """A pod was not evicted after all."""
        if uid in self._leaving:
            self._leaving.discard(uid)
            self._changed_pods.add(uid)

    def let_rest(self, uid: str) -> None:
        """Leave a pod alone until it is awakened: the last attempt to bind it failed."""
        if uid in self._records and uid not in self._resting:
            self._resting.add(uid)
            self._changed_pods.add(uid)

    def awaken(self, uid: str) -> None:
        if uid in self._resting:
            self._resting.discard(uid)
            self._changed_pods.add(uid)

    def is_whole(self, key: str) -> bool:
        """Whether a job has at least its minimum of pods on nodes or on the way to one, or is not there (any more)."""
        return self._is_whole(key, 0)

    def is_surely_whole(self, key: str) -> bool:
        """Whether a job has at least its minimum of pods on nodes, or is not there: binds under way may fail."""
        return self._is_whole(key, len(self._members.get(key, set()) & self._assumed.keys()))

    def _is_whole(self, key: str, doubtful: int) -> bool:
        job = self.derived().jobs.get(key)
        return job is None or job.ready_count - doubtful >= job.min_available

    def shortages(self, uid: str) -> list[str]:
        """The resources of which a pod's node has given away more than it has; of those that the pod asks for."""
        derived, counted = self.derived(), self._counted.get(uid)
        if counted is None or counted.row < 0:
            return []
        idle = derived.books[: derived.layout.resources, counted.row]
        return [self.axis.names[d] for d, amount in counted.task.task_class.request if amount and idle[d] < 0]

    def set_phase(self, key: str, phase: str, *, hold: bool = False) -> None:
        """What a cycle decided about a PodGroup. A phase that is held stays until it is settled: what arrives
        meanwhile was written before.
        """
        if key not in self.groups:
            return
        if hold:
            self._held_phases.add(key)
        self._enter_phase(key, phase)

    def settle_phase(self, key: str) -> None:
        """The decision about a phase is written, or given up: from now on the object says it."""
        self._held_phases.discard(key)
        if key in self.groups:
            self._enter_phase(key, _phase_of(self.groups[key]))

    def touch(self, key: str) -> None:
        """Have the next cycle look at a job, although nothing about it has changed."""
        if key in self.groups:
            self._changed_jobs.add(key)

    def phase(self, key: str) -> str:
        return self._phases.get(key, "")

    def _enter_phase(self, key: str, phase: str) -> None:
        if self._phases.get(key) != phase:
            self._phases[key] = phase
            self._changed_groups.add(key)

    # -- groups and pods ----------------------------------------------------------------------------------------

    def _apply_group(self, group: kube.PodGroup) -> None:
        known = self.groups.get(group.key)
        self.groups[group.key] = group
        if group.key not in self._held_phases or (known and known.metadata.uid != group.metadata.uid):
            self._held_phases.discard(group.key)
            self._enter_phase(group.key, _phase_of(group))
        if known is None or not same_demands(known, group):
            self._changed_groups.add(group.key)
            # The axis must know every resource before columns are made.
            job_spec(group, self.axis, self.structure.priorities, self.default_queue)

    def _forget_group(self, key: str) -> None:
        for known in (self.groups, self._phases, self._group_faults):
            known.pop(key, None)
        self._held_phases.discard(key)
        self._changed_groups.add(key)

    def _apply_pod(self, pod: kube.Pod) -> None:
        uid = pod.metadata.uid
        if not pod.spec.node_name and (pod.spec.scheduler_name or "") not in self.scheduler_names:
            self._forget_pod(uid)
            return
        if pod.spec.node_name:
            self._assumed.pop(uid, None)
        known = self._records.get(uid)
        if known is not None and says_the_same(known.pod, pod):
            known.pod = pod
        else:
            self._leave_job(uid)
            record = self._records[uid] = PodRecord(pod, job_key_of(pod) or "")
            self._read(record)
            if record.job:
                self._members.setdefault(record.job, set()).add(uid)
        self._changed_pods.add(uid)

    def _forget_pod(self, uid: str) -> None:
        self._leave_job(uid)
        self._records.pop(uid, None)
        self._assumed.pop(uid, None)
        self._leaving.discard(uid)
        self._resting.discard(uid)
        self._changed_pods.add(uid)

    def _leave_job(self, uid: str) -> None:
        record = self._records.get(uid)
        if record is not None and record.job:
            self._changed_jobs.add(record.job)
            self._members[record.job].discard(uid)
            if not self._members[record.job]:
                del self._members[record.job]

    def _read(self, record: PodRecord) -> None:
        try:
            record.facts, record.fault = self._classifier.facts(record.pod, self._namespace_labels), ""
            self._ports.update(record.facts.constraints.ports)
        except ValueError as error:
            record.facts, record.fault = None, f"Pod {record.pod.key}: {error}"

    def _reread_pods(self) -> None:
        """Namespaces have changed, and with them what namespace selectors mean."""
        for uid, record in self._records.items():
            if asks_about_namespaces(record.pod):
                self._read(record)
                self._changed_pods.add(uid)
        self._namespaces_changed = False

    # -- snapshots ----------------------------------------------------------------------------------------------

    def snapshot(self, now: float = 0.0) -> Snapshot:
        """Everything as it stands, isolated from what comes."""
        derived = self.derived()
        derived.shared()
        status, node_of = derived.columns.copies()
        jobs = dict(derived.jobs)
        waiting = tuple(sorted(derived.waiting))
        touched = tuple(sorted(key for key in self._touched - derived.waiting if key in jobs))
        self._touched = set()
        for key in waiting:
            jobs[key] = jobs[key].copy()
        return Snapshot(
            axis=self.axis,
            nodes=derived.table,
            layout=derived.layout,
            books=derived.books.copy(),
            terms=self._terms,
            tallies=dict(derived.tallies),
            status=status,
            node_of=node_of,
            jobs=jobs,
            waiting=waiting,
            touched=touched,
            queues=derived.queues,
            queue_books=derived.sums.copies(),
            now=now,
            warnings=tuple(sorted((*self._warnings.values(), *self.structure.warnings()))),
        )

    def derived(self) -> Derived:
        """What follows from the objects, brought up to date."""
        if self._namespaces_changed:
            self._reread_pods()
        if self._current_structure() != self._built_for:
            self._rebuild()
        elif self._revised_for != self.structure.revision:
            self._revise()
        for uid in sorted(self._changed_pods):
            self._recount(uid)
        for key in sorted(self._changed_groups):
            self._refresh_group(key)
        for key in sorted(self._changed_jobs):
            self._settle(key)
        self._touched |= self._changed_jobs
        self._changed_pods, self._changed_groups, self._changed_jobs = set(), set(), set()
        return self._derived

    def rebuild(self) -> None:
        """Trust nothing that was derived: the next snapshot derives everything anew from the objects."""
        self._built_for = ()

    def _current_structure(self) -> tuple[int, ...]:
        return self.structure.generation, self._terms.generation, len(self.axis), len(self._ports)

    def _rebuild(self) -> None:
        """Derive everything anew from the objects."""
        self._warnings = {}
        ports = tuple(sorted(self._ports, key=lambda port: (port.port, port.protocol, port.address)))
        offers = {name: entry.offer for name, entry in self.structure.nodes.items()}
        layout = Layout(len(self.axis), ports)
        self._derived = Derived(self._new_table(), offers, layout, dict(sorted(self.structure.queues.items())))
        self._counted = {}
        self._changed_pods = set(self._records)
        self._changed_groups = {*self.groups, *self._members}
        self._built_for = self._current_structure()
        self._revised_for = self.structure.revision

    def _revise(self) -> None:
        """Nodes and queues are where they were, and say something else."""
        before = self._images
        offers = {name: entry.offer for name, entry in self.structure.nodes.items()}
        self._derived.revise(self._new_table(), offers, dict(sorted(self.structure.queues.items())))
        self._revised_for = self.structure.revision
        if changed := before ^ self._images:
            for uid, record in self._records.items():
                if not record.pod.spec.node_name and record.facts and not changed.isdisjoint(record.facts.images):
                    self._changed_pods.add(uid)

    def _new_table(self) -> NodeTable:
        facts = [entry.facts for entry in self.structure.nodes.values()]
        self._images = frozenset(image for node in facts for image in node.images)
        return NodeTable(facts, self.seed)

    def _recount(self, uid: str) -> None:
        """Take a pod out of the books as it was, and enter it as it is."""
        self._warnings.pop(("pod", uid), None)
        old = self._counted.pop(uid, None)
        if old is not None:
            self._derived.remove(old)
            self._changed_jobs.add(old.task.job)
        record = self._records.get(uid)
        if record is None:
            return
        if record.job:
            self._changed_jobs.add(record.job)
        counted = self._entry_of(record)
        if counted is not None:
            self._counted[uid] = self._derived.add(counted, record.pod.metadata.labels or {})

    def _entry_of(self, record: PodRecord) -> Counted | None:
        pod, facts, uid = record.pod, record.facts, record.pod.metadata.uid
        if facts is None:
            self._warnings["pod", uid] = record.fault
            if not pod.spec.node_name:
                return None
            facts = self._classifier.facts(without_demands(pod), self._namespace_labels)
        status = self._status_of(pod)
        node = self._derived.table.index.get(pod.spec.node_name or self._assumed.get(uid, ""), -1)
        task_class = self._classifier.class_of(pod, facts, self._images)
        row = self._derived.columns.take(status, node)
        task = task_of(pod, record.job, row, task_class, self.structure.priorities, rests=uid in self._resting)
        return Counted(task, status, node)

    def _status_of(self, pod: kube.Pod) -> TaskStatus:
        """Where a pod is in its life, or will be once what was decided is done."""
        status, uid = status_of(pod), pod.metadata.uid
        if status is TaskStatus.PENDING and uid in self._assumed:
            return TaskStatus.BINDING
        if status in (TaskStatus.BOUND, TaskStatus.RUNNING) and uid in self._leaving:
            return TaskStatus.RELEASING
        return status

    def _refresh_group(self, key: str) -> None:
        """A PodGroup has come, changed or gone: give its job the new spec."""
        self._changed_jobs.add(key)
        self._warnings.pop(("group", key), None)
        uids = sorted(self._members.get(key, ()))
        group = self.groups.get(key)
        if group is None and not uids:
            return
        spec = missing_group(key)
        if group is not None:
            spec = job_spec(group, self.axis, self.structure.priorities, self.default_queue)
            self._group_faults[key] = spec.fault
            if spec.fault:
                self._warnings["group", key] = spec.fault
        members = {
            uid: (self._counted[uid], self._records[uid].pod.metadata.labels or {})
            for uid in uids
            if uid in self._counted
        }
        self._counted |= self._derived.set_spec(spec, self.phase(key), members)

    def _settle(self, key: str) -> None:
        """A job's members or spec have changed: bring everything up to date that follows from both."""
        if key not in self.groups and key not in self._members:
            self._derived.drop_job(key)
            return
        self._derived.set_fault(key, self._fault_of(key))
        self._derived.settle_job(key)

    def _fault_of(self, key: str) -> str:
        """What is wrong with a job's objects: its PodGroup, its first faulty pod that is not running, or its queue."""
        own = self._group_faults[key] if key in self.groups else missing_group(key).fault
        faulty = (uid for uid in self._members.get(key, ()) if self._keeps_waiting(self._records[uid]))
        first = min(faulty, default=None)
        job: Job | None = self._derived.jobs.get(key)
        of_queue = self.structure.queue_faults.get(job.queue, "") if job else ""
        return own or (of_queue if first is None else self._records[first].fault)

    @staticmethod
    def _keeps_waiting(record: PodRecord) -> bool:
        """Whether a pod is at fault and not running: what runs already keeps nobody waiting."""
        return bool(record.fault) and not record.pod.spec.node_name


def _phase_of(group: kube.PodGroup) -> str:
    return group.status.phase or "Pending"
