"""The CPUs of each node that pods hold.

A node reports the CPUs of its pods only some time after it assigned them. Until then the scheduler's decision counts:
it is annotated on bound pods, and assumed for pods whose binding is in progress. Nodes and pods may arrive in any
order; only affected nodes are recalculated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stromboli.cluster.objects.indexes import discard_member
from stromboli.cluster.objects.numa_topologies import NodeProcessors, processors_of
from stromboli.cluster.objects.pods.cpu_pinning import assigned_cpus
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.cluster.state.assumptions import Assumptions
from stromboli.core.model.nodes.numa import PROCESSORS, CpuSet, Holdings, Processors
from stromboli.core.model.resources.resources import CPU
from stromboli.core.model.tasks.task import OCCUPYING_STATUSES, TaskStatus
from stromboli.kube.objects.topology import Numatopology

#: Pods in these statuses keep their CPUs.
_STAYING = frozenset(OCCUPYING_STATUSES) - {TaskStatus.RELEASING}


@dataclass(frozen=True, slots=True)
class _ChosenCpus:
    """The CPUs that the scheduler chose for a pod, and the node."""

    node: str
    cpus: CpuSet


class NumaAllocations:
    def __init__(self) -> None:
        self._objects: dict[str, Numatopology] = {}
        self._nodes: dict[str, NodeProcessors] = {}
        self._decided: dict[str, _ChosenCpus] = {}
        #: By node, the pods for which CPUs were chosen there.
        self._holders: dict[str, set[str]] = {}
        #: By pod uid, the nodes that report CPUs for it.
        self._reporting_nodes: dict[str, set[str]] = {}
        self._node_faults: dict[str, str] = {}
        self._pod_faults: dict[str, str] = {}
        #: Changes since the last calculation.
        self._changed_pods: set[str] = set()
        self._changed_nodes: set[str] = set()
        self._has_read_pods = False
        self._holdings: Mapping[str, Holdings] = {}

    def objects(self) -> list[Numatopology]:
        return list(self._objects.values())

    def warnings(self) -> tuple[str, ...]:
        return tuple(sorted((*self._node_faults.values(), *self._pod_faults.values())))

    # -- events -------------------------------------------------------------------------------------------------

    def apply(self, wire: Numatopology) -> Processors | None:
        """Decode a Numatopology and return the facts for its node; None if it is invalid."""
        name = wire.key
        self.remove(wire)
        self._objects[name] = wire
        try:
            node = self._nodes[name] = processors_of(wire)
        except ValueError as error:
            self._node_faults[name] = f"Numatopology {name}: {error}; the node takes no pods that have a NUMA policy"
            return None
        for uid in node.allocated:
            self._reporting_nodes.setdefault(uid, set()).add(name)
        return node.facts

    def remove(self, wire: Numatopology) -> None:
        name = wire.key
        self._node_faults.pop(name, None)
        self._objects.pop(name, None)
        self._changed_nodes.add(name)
        known = self._nodes.pop(name, None)
        for uid in known.allocated if known else ():
            discard_member(self._reporting_nodes, uid, name)

    def touch(self, uid: str) -> None:
        """Read a pod again: it was added, changed or removed, or a decision about it changed."""
        if self._objects:
            self._changed_pods.add(uid)

    # -- allocations --------------------------------------------------------------------------------------------

    def holdings(self, records: Mapping[str, PodRecord], assumptions: Assumptions) -> Mapping[str, Holdings]:
        """Allocations by node. The same object until something changes; it is never edited."""
        if not self._objects:  # without Numatopologies, no state about pods is needed
            self._decided, self._holders, self._pod_faults, self._changed_pods = {}, {}, {}, set()
        for uid in self._changed_pods if self._has_read_pods else records if self._objects else ():
            self._read_pod(uid, records.get(uid), assumptions)
        self._changed_pods, self._has_read_pods = set(), bool(self._objects)
        if self._changed_nodes:
            changed = {
                name: self._holdings_on(name, records, assumptions) for name in self._changed_nodes & self._nodes.keys()
            }
            others = {name: known for name, known in self._holdings.items() if name not in self._changed_nodes}
            self._holdings, self._changed_nodes = {**others, **changed}, set()
        return self._holdings

    def _read_pod(self, uid: str, record: PodRecord | None, assumptions: Assumptions) -> None:
        before = self._decided.pop(uid, None)
        if before is not None:
            discard_member(self._holders, before.node, uid)
            self._changed_nodes.add(before.node)
        self._changed_nodes.update(self._reporting_nodes.get(uid, ()))
        self._pod_faults.pop(uid, None)
        decided = self._decided_for(record, assumptions) if record is not None else None
        if decided is not None:
            self._decided[uid] = decided
            self._holders.setdefault(decided.node, set()).add(uid)
            self._changed_nodes.add(decided.node)

    def _decided_for(self, record: PodRecord, assumptions: Assumptions) -> _ChosenCpus | None:
        """The CPUs chosen for a pod that is on a node, or is being bound to one."""
        pod = record.pod
        node, uid = assumptions.node_of(pod), pod.metadata.uid
        text = (
            (pod.metadata.annotations or {}).get(PROCESSORS) if pod.spec.node_name else assumptions.processors_of(uid)
        )
        if not node or not text or assumptions.status_of(pod) not in OCCUPYING_STATUSES:
            return None
        request = record.facts.request if record.facts else ()
        try:
            return _ChosenCpus(node, assigned_cpus(text, dict(request).get(CPU, 0) // 1000))
        except ValueError as error:
            self._pod_faults[uid] = f"Pod {pod.key}: {error}; it is ignored"
            return None

    def _holdings_on(self, name: str, records: Mapping[str, PodRecord], assumptions: Assumptions) -> Holdings:
        """Reported allocations, and chosen ones for pods that the node does not report yet."""
        node = self._nodes[name]
        held = {uid: self._decided[uid].cpus for uid in self._holders.get(name, ())} | dict(node.allocated)
        staying, leaving = 0, 0
        for uid, cpus in held.items():
            record = records.get(uid)
            if record is not None and assumptions.status_of(record.pod) in _STAYING:
                staying |= cpus
            else:
                leaving |= cpus
        free = node.allocatable & ~node.facts.reserved & ~staying & ~leaving
        return Holdings(free, leaving & ~staying, held)
