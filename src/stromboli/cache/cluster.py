"""The cluster as the cache knows it: objects come and go in any order, snapshots come out.

Objects are kept as they came. What the model needs is derived when a snapshot is asked for, and only for what
changed since the last one; a change of structure (nodes, resources, terms, queues) derives everything anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli import kube
from stromboli.cache.classes import Classifier
from stromboli.cache.derived import Derived
from stromboli.cache.jobs import Priorities, job_key_of, job_spec, missing_group
from stromboli.cache.nodes import allocatable_of, node_facts
from stromboli.cache.pods import Counted, PodRecord, status_of, task_of, without_demands
from stromboli.cache.queues import misplaced, queue_of
from stromboli.model.books import Layout
from stromboli.model.nodes import NodeTable
from stromboli.model.queue import Queue
from stromboli.model.resources import ResourceAxis
from stromboli.model.snapshot import Snapshot
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
    ) -> None:
        self._seed = seed
        self._scheduler_names = frozenset(scheduler_names)
        self.axis = ResourceAxis()
        self._terms = TermRegistry()
        self._classifier = Classifier(self.axis, self._terms, class_labels, class_annotations)
        self._ports: set[HostPort] = set()
        self._nodes: dict[str, kube.Node] = {}
        self._queues: dict[str, kube.Queue] = {}
        self._priority_classes: dict[str, kube.PriorityClass] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self.groups: dict[str, kube.PodGroup] = {}
        self._records: dict[str, PodRecord] = {}
        self._members: dict[str, set[str]] = {}
        self._phases: dict[str, str] = {}
        #: Raised when an object changes that everything else depends on.
        self._structure = 0
        self._built_for: tuple[int, ...] = ()
        self._derived = Derived(NodeTable(()), {}, Layout(len(self.axis)), {})
        self._counted: dict[str, Counted] = {}
        self._priorities = Priorities({})
        self._images: frozenset[str] = frozenset()
        self._changed_pods: set[str] = set()
        self._changed_groups: set[str] = set()
        self._changed_jobs: set[str] = set()
        #: By kind and name (pods: uid) of the object.
        self._warnings: dict[tuple[str, str], str] = {}
        self._group_faults: dict[str, str] = {}
        self._queue_faults: dict[str, str] = {}

    # -- events -------------------------------------------------------------------------------------------------

    def apply(self, given: kube.KubeObject) -> None:
        """An object was added or changed. Kinds that nothing depends on yet are passed over."""
        if isinstance(given, kube.Pod):
            self._apply_pod(given)
        elif isinstance(given, kube.PodGroup):
            self._apply_group(given)
        elif isinstance(given, kube.Namespace):
            self._namespaces[given.key] = given.metadata.labels or {}
            self._reread_pods()
        elif (store := self._store_of(given)) is not None:
            store[given.key] = given
            self._structure += 1

    def remove(self, given: kube.KubeObject) -> None:
        """An object is gone."""
        if isinstance(given, kube.Pod):
            self._forget_pod(given.metadata.uid)
        elif isinstance(given, kube.PodGroup):
            self.groups.pop(given.key, None)
            self._phases.pop(given.key, None)
            self._group_faults.pop(given.key, None)
            self._changed_groups.add(given.key)
        elif isinstance(given, kube.Namespace):
            self._namespaces.pop(given.key, None)
            self._reread_pods()
        elif (store := self._store_of(given)) is not None:
            store.pop(given.key, None)
            self._structure += 1

    def _store_of(self, given: kube.KubeObject) -> dict[str, kube.KubeObject] | None:
        stores: dict[type, object] = {
            kube.Node: self._nodes, kube.Queue: self._queues, kube.PriorityClass: self._priority_classes,
        }  # fmt: skip
        store: dict[str, kube.KubeObject] | None = stores.get(type(given))  # type: ignore[assignment]
        return store

    def set_phase(self, key: str, phase: str) -> None:
        """What a cycle decided about a PodGroup."""
        if key in self.groups and self._phases.get(key) != phase:
            self._phases[key] = phase
            self._changed_groups.add(key)

    def phase(self, key: str) -> str:
        return self._phases.get(key, "")

    def pods(self) -> list[kube.Pod]:
        """All pods that count, ours and others'."""
        return [record.pod for record in self._records.values()]

    def pod(self, uid: str) -> kube.Pod:
        return self._records[uid].pod

    def _apply_group(self, group: kube.PodGroup) -> None:
        self.groups[group.key] = group
        self._phases[group.key] = group.status.phase or "Pending"
        self._changed_groups.add(group.key)
        job_spec(group, self.axis, self._priorities)  # the axis must know every resource before columns are made

    def _apply_pod(self, pod: kube.Pod) -> None:
        uid = pod.metadata.uid
        if not pod.spec.node_name and (pod.spec.scheduler_name or "") not in self._scheduler_names:
            self._forget_pod(uid)
            return
        self._leave_job(uid)
        record = self._records[uid] = PodRecord(pod, job_key_of(pod) or "")
        self._read(record)
        if record.job:
            self._members.setdefault(record.job, set()).add(uid)
        self._changed_pods.add(uid)

    def _forget_pod(self, uid: str) -> None:
        self._leave_job(uid)
        self._records.pop(uid, None)
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
            record.facts, record.fault = self._classifier.facts(record.pod, self._namespaces), ""
            self._ports.update(record.facts.constraints.ports)
        except ValueError as error:
            record.facts, record.fault = None, f"Pod {record.pod.key}: {error}"

    def _reread_pods(self) -> None:
        """Namespaces have changed, and with them what namespace selectors mean."""
        for record in self._records.values():
            self._read(record)
        self._structure += 1

    # -- snapshots ----------------------------------------------------------------------------------------------

    def snapshot(self, now: float = 0.0) -> Snapshot:
        """Everything as it stands, isolated from what comes."""
        self._bring_up_to_date()
        derived = self._derived
        derived.shared()
        status, node_of = derived.columns.copies()
        jobs = dict(derived.jobs)
        waiting = tuple(sorted(derived.waiting))
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
            queues=derived.queues,
            queue_books=derived.sums.copies(),
            now=now,
            warnings=tuple(sorted(self._warnings.values())),
        )

    def _bring_up_to_date(self) -> None:
        if self._current_structure() != self._built_for:
            self._rebuild()
        for uid in sorted(self._changed_pods):
            self._recount(uid)
        for key in sorted(self._changed_groups):
            self._refresh_group(key)
        for key in sorted(self._changed_jobs):
            self._settle(key)
        self._changed_pods, self._changed_groups, self._changed_jobs = set(), set(), set()

    def _current_structure(self) -> tuple[int, ...]:
        return self._structure, self._terms.generation, len(self.axis), len(self._ports)

    def _rebuild(self) -> None:
        """Derive everything anew from the objects."""
        self._warnings = {}
        table, offered = self._read_nodes()
        queues = self._read_queues()
        ports = tuple(sorted(self._ports, key=lambda port: (port.port, port.protocol, port.address)))
        self._derived = Derived(table, offered, Layout(len(self.axis), ports), queues)
        self._priorities = Priorities(self._priority_classes)
        self._counted = {}
        self._changed_pods = set(self._records)
        self._changed_groups = {*self.groups, *self._members}
        self._built_for = self._current_structure()

    def _read_nodes(self) -> tuple[NodeTable, dict[str, dict[int, int]]]:
        facts, offered = [], {}
        for name, node in sorted(self._nodes.items()):
            try:
                read = node_facts(node), allocatable_of(node, self.axis)
            except ValueError as error:
                self._warnings["node", name] = f"Node {name}: {error}; the node is left out"
                continue
            facts.append(read[0])
            offered[name] = read[1]
        self._images = frozenset(image for node in facts for image in node.images)
        return NodeTable(facts, self._seed), offered

    def _read_queues(self) -> dict[str, Queue]:
        queues: dict[str, Queue] = {}
        self._queue_faults = {}
        for name, queue in sorted(self._queues.items()):
            try:
                queues[name] = queue_of(queue, self.axis)
            except ValueError as error:
                self._queue_faults[name] = f"Queue {name}: {error}"
                self._warnings["queue", name] = f"Queue {name}: {error}; the queue takes no jobs"
        for name, fault in misplaced(queues).items():
            self._warnings["queue", name] = f"Queue {name}: {fault}; the queue hangs below the root"
        return queues

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
        pod, facts = record.pod, record.facts
        if facts is None:
            self._warnings["pod", pod.metadata.uid] = record.fault
            if not pod.spec.node_name:
                return None
            facts = self._classifier.facts(without_demands(pod), self._namespaces)
        status = status_of(pod)
        node = self._derived.table.index.get(pod.spec.node_name or "", -1)
        task_class = self._classifier.class_of(pod, facts, self._images)
        row = self._derived.columns.take(status, node)
        return Counted(task_of(pod, record.job, row, task_class, self._priorities), status, node)

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
            spec = job_spec(group, self.axis, self._priorities)
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
        job = self._derived.jobs.get(key)
        of_queue = self._queue_faults.get(job.queue, "") if job else ""
        return own or (of_queue if first is None else self._records[first].fault)

    @staticmethod
    def _keeps_waiting(record: PodRecord) -> bool:
        """Whether a pod is at fault and not running: what runs already keeps nobody waiting."""
        return bool(record.fault) and not record.pod.spec.node_name
