"""The accounting of the cache, kept up to date.

The model is calculated from the objects on demand, and only for objects that have changed. A change of the layout
(nodes, resources, queues) rebuilds everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.cluster.objects.pod_groups.pod_groups import job_spec, missing_group
from stromboli.cluster.objects.pods.checkpoints import checkpoint_warning
from stromboli.cluster.objects.pods.fractional_gpus import gpu_request_in
from stromboli.cluster.objects.pods.pods import Counted, PodRecord, task_of
from stromboli.cluster.objects.pods.run_times import run_time_warning
from stromboli.cluster.objects.priority_classes import task_priority_warning
from stromboli.cluster.state.cluster_state import ClusterState
from stromboli.cluster.state.device_assignments import DeviceAssignments
from stromboli.cluster.state.sources import AccountingSources
from stromboli.cluster.state.task_contexts import TaskContexts
from stromboli.core.model.nodes.amounts import AmountLayout
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.tasks.pod_terms import PodTerm
from stromboli.core.model.tasks.task import OCCUPYING_STATUSES, TaskStatus


class Accounting:
    def __init__(self, sources: AccountingSources, *, seed: int, default_queue: str) -> None:
        self._sources = sources
        self._pods = sources.pods
        self._groups = sources.groups
        self._decoder = sources.decoder
        self._assumptions = sources.assumptions
        self._changes = sources.changes
        self._seed = seed
        self._default_queue = default_queue
        self._contexts = TaskContexts(sources, default_queue)
        #: Jobs that have changed since the last snapshot.
        self.touched: set[str] = set()
        self.devices = DeviceAssignments()
        #: By uid, how each pod was added.
        self.counted: dict[str, Counted] = {}
        self._cluster_state = ClusterState(NodeTable(()), {}, AmountLayout(len(self._decoder.axis)), {})
        self._built_for: tuple[int, ...] = ()
        self._revised_for = 0
        self._terms_counted = 0
        self._images: frozenset[str] = frozenset()
        #: By kind and name of the object (pods: uid).
        self._warnings: dict[tuple[str, str], str] = {}
        self._group_faults: dict[str, str] = {}
        #: Invalid pods that are not running.
        self._invalid: set[str] = set()

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings about objects."""
        return tuple(sorted(self._warnings.values()))

    def invalidate(self) -> None:
        """Rebuild everything from the objects at the next update."""
        self._built_for = ()

    def cluster_state(self) -> ClusterState:
        """The cluster state, brought up to date."""
        if self._current_layout() != self._built_for:
            self._rebuild()
        elif self._revised_for != self._sources.layout.revision:
            self._revise()
        if len(self._decoder.terms.counted) != self._terms_counted:
            self._count_new_terms()
        changes = self._changes
        changes.pods |= self._contexts.changed_with_groups(changes.groups, self._cluster_state.jobs)
        for key in self._deleted_jobs():  # before their pods, which need not leave them one by one
            self._cluster_state.drop_job(key)
        fresh = {key for key in changes.groups if key not in self._cluster_state.jobs}
        for key in sorted(fresh):  # before their pods, so that these join only once
            self._refresh_group(key)
        for uid in sorted(changes.pods):
            self._recount(uid)
        for key in sorted(changes.groups - fresh):
            self._refresh_group(key)
        for key in sorted(changes.phases - changes.groups):
            self._enter_phase(key)
        self.touched |= changes.jobs
        for key in sorted(changes.jobs):
            self._settle(key)
        self._changes.clear()
        self._cluster_state.flush()
        return self._cluster_state

    # -- layout -------------------------------------------------------------------------------------------------

    def _current_layout(self) -> tuple[int, ...]:
        return self._sources.layout.generation, *self._decoder.generation

    def _rebuild(self) -> None:
        """Rebuild everything from the objects."""
        self._warnings = {}
        layout = AmountLayout(len(self._decoder.axis))
        table, allocatable, queues = self._nodes_and_queues()
        self._cluster_state = ClusterState(table, allocatable, layout, queues)
        self._contexts.changed_with_queues()
        self.counted, self.devices = {}, DeviceAssignments()
        self._changes.pods = set(self._pods.records)
        self._changes.groups = {*self._groups, *self._pods.members}
        self._built_for = self._current_layout()
        self._revised_for = self._sources.layout.revision
        self._terms_counted = len(self._decoder.terms.counted)

    def _revise(self) -> None:
        """Replace the facts of nodes and queues that kept their positions."""
        before, memory = self._images, self._decoder.gpus.largest
        self._cluster_state.revise(*self._nodes_and_queues())
        self._changes.pods |= self._contexts.changed_with_queues()
        self._revised_for = self._sources.layout.revision
        if changed := before ^ self._images:
            for uid, record in self._pods.records.items():
                if not record.pod.spec.node_name and record.facts and not changed.isdisjoint(record.facts.images):
                    self._changes.pods.add(uid)
        if memory != self._decoder.gpus.largest:
            self._changes.pods.update(self._sharing_by_memory())

    def _sharing_by_memory(self) -> list[str]:
        """Pods that count as a fraction of the largest GPU."""
        facts_by_uid = ((uid, record.facts) for uid, record in self._pods.records.items())
        requests = ((uid, gpu_request_in(facts.devices)) for uid, facts in facts_by_uid if facts is not None)
        return [uid for uid, request in requests if request is not None and request.memory]

    def _count_new_terms(self) -> None:
        """Count pods again that match a term which was registered since the last update."""
        counted = self._decoder.terms.counted
        fresh = [term for term in counted[self._terms_counted :] if isinstance(term, PodTerm)]
        self._terms_counted = len(counted)
        if not fresh:
            return
        for uid, record in self._pods.records.items():
            metadata = record.pod.metadata
            if any(term.matches(metadata.namespace, metadata.labels or {}) for term in fresh):
                self._changes.pods.add(uid)

    def _nodes_and_queues(self) -> tuple[NodeTable, dict[str, Mapping[int, int]], dict[str, Queue]]:
        """A new table of the nodes, their allocatable amounts, and the queues."""
        entries = self._sources.nodes.entries
        facts = [entry.facts for entry in entries.values()]
        self._images = frozenset(image for node in facts for image in node.images)
        self._decoder.gpus.look_at(facts)
        allocatable = {name: entry.allocatable for name, entry in entries.items()}
        return NodeTable(facts, self._seed), allocatable, dict(sorted(self._sources.queues.entries.items()))

    # -- pods ---------------------------------------------------------------------------------------------------

    def _recount(self, uid: str) -> None:
        """Subtract a pod as it was added, and add it as it is now."""
        if self._warnings:
            self._warnings.pop(("pod", uid), None)
        self._invalid.discard(uid)
        self.devices.forget(uid)
        old, record = self.counted.pop(uid, None), self._pods.records.get(uid)
        if old is not None:
            self._changes.jobs.add(old.task.job)
        new = self._read(record, old) if record is not None else None
        if old is not None and (new is None or new.task is not old.task):
            self._cluster_state.remove(old)
        if record is None or new is None:
            return
        if old is not None and new.task is old.task:
            self._cluster_state.move(old, new)
        else:
            new = self._cluster_state.add(new, record.pod.metadata.labels or {})
        self.counted[uid], record.task = new, new.task
        if new.row >= 0 and new.status in OCCUPYING_STATUSES:
            node, leaves = self._cluster_state.table.names[new.row], new.status is TaskStatus.RELEASING
            self.devices.enter(record, node, self._assumptions.devices_of(uid), leaving=leaves)

    def _read(self, record: PodRecord, old: Counted | None) -> Counted | None:
        """Return how a pod counts now; None if it does not count."""
        if record.job:
            self._changes.jobs.add(record.job)
        try:
            return self._entry_of(record, old)
        except ValueError as error:  # an invalid pod must not keep the others from being counted
            self._warnings["pod", record.pod.metadata.uid] = f"Pod {record.pod.key}: {error}"
            return None

    def _entry_of(self, record: PodRecord, old: Counted | None) -> Counted | None:
        pod, uid = record.pod, record.pod.metadata.uid
        if record.fault:
            self._warnings["pod", uid] = record.fault
            if not pod.spec.node_name:
                self._invalid.add(uid)
                return None
        elif pod.metadata.annotations and (
            warning := run_time_warning(pod)
            or checkpoint_warning(pod.metadata.annotations)
            or task_priority_warning(pod)
        ):
            self._warnings["pod", uid] = f"Pod {pod.key}: {warning}"
        status, place = self._assumptions.position_of(pod)
        node = self._cluster_state.table.index.get(place, -1)
        context = self._contexts.of(record, self._images)
        if old is not None and old.task is record.task and context.applies_to(old.task):
            return Counted(old.task, status, node)
        row = self._cluster_state.columns.allocate(status, node)
        task = task_of(pod, record.job, row, self._sources.priority_classes.priorities, context)
        return Counted(task, status, node)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _deleted_jobs(self) -> list[str]:
        """Jobs whose PodGroup was removed together with all pods."""
        groups, members = self._groups, self._pods.members
        return [key for key in self._changes.groups if key not in groups and key not in members]

    def _refresh_group(self, key: str) -> None:
        """Rebuild the job of a PodGroup that was added, changed or removed."""
        self._changes.jobs.add(key)
        self._warnings.pop(("group", key), None)
        uids = sorted(self._pods.members.get(key, ()))
        group = self._groups.get(key)
        if group is None:
            self._group_faults.pop(key, None)
            if not uids:
                return
        spec = missing_group(key)
        if group is not None:
            spec = job_spec(
                group, self._decoder.axis, self._sources.priority_classes.priorities, self._default_queue,
                self._pods.users.get(key, ()),
            )  # fmt: skip
            self._group_faults[key] = spec.fault
            if spec.fault:
                self._warnings["group", key] = spec.fault
        records, counted = self._pods.records, self.counted
        members = {  # pods still counted elsewhere are added when they are counted again
            uid: (counted[uid], records[uid].pod.metadata.labels or {})
            for uid in uids
            if uid in counted and counted[uid].task.job == key
        }
        self.counted |= self._cluster_state.set_spec(spec, self._groups.phase(key), members)

    def _enter_phase(self, key: str) -> None:
        """Update the phase of an otherwise unchanged PodGroup."""
        self._changes.jobs.add(key)
        if key in self._cluster_state.jobs:
            self._cluster_state.set_phase(key, self._groups.phase(key))
        else:
            self._refresh_group(key)

    def _settle(self, key: str) -> None:
        """Update everything that depends on the members and the spec of a job."""
        if key not in self._groups and key not in self._pods.members:
            self._cluster_state.drop_job(key)
            self.touched.discard(key)
            return
        self._cluster_state.set_fault(key, self._fault_of(key))
        self._cluster_state.settle_job(key)

    def _fault_of(self, key: str) -> str:
        """The fault of a job's objects: of its PodGroup, its first invalid pod that is not running, or its queue."""
        own = self._group_faults[key] if key in self._groups else missing_group(key).fault
        if own:
            return own
        invalid = self._invalid.intersection(self._pods.members.get(key, ())) if self._invalid else ()
        if invalid:
            return self._pods.records[min(invalid)].fault
        job, faults = self._cluster_state.jobs.get(key), self._sources.queues.faults
        return faults.get(job.queue, "") if job is not None else ""
