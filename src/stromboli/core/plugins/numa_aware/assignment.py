"""Assignment of CPUs during a cycle: made when a task is placed, released when the placement is undone.

Like the amounts of a node, its CPUs are free, being released, or nominated. Each step has an exact inverse, so that
undo restores the previous state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stromboli.core.model.nodes.cpu_assignment import CpuAllocation, Demand
from stromboli.core.model.nodes.numa import CpuSet, Holdings
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.plugins.numa_aware.states import NOTHING, NumaStates


@dataclass(slots=True)
class _NodeCpus:
    """The processors of one node."""

    free: CpuSet
    leaving: CpuSet
    nominated: CpuSet = 0

    @property
    def now(self) -> CpuSet:
        return self.free & ~self.nominated

    @property
    def later(self) -> CpuSet:
        return (self.free | self.leaving) & ~self.nominated


@dataclass(frozen=True, slots=True)
class CpuAssignment:
    """The CPUs that a task got on a node, immediately or as a nomination."""

    row: int
    allotment: CpuAllocation
    is_promise: bool


class CpuAssigner:
    """The CPUs of all nodes with a NUMA policy, in one cycle."""

    def __init__(self, states: NumaStates, nodes: NodeTable, holdings: Mapping[str, Holdings]) -> None:
        self._states = states
        self._names = nodes.names
        self._holdings = holdings
        #: The states of all nodes: now, and after all terminating pods are gone.
        self.now, self.later = states.begin(holdings)
        self._node_cpus: dict[int, _NodeCpus] = {}
        self._assignments: dict[str, CpuAssignment] = {}
        #: By task, node and whether it was nominated: the undone assignments. A task that returns gets the same one.
        self._former: dict[tuple[str, int, bool], CpuAllocation] = {}
        self._evicted: set[str] = set()

    def of(self, uid: str) -> CpuAssignment | None:
        """Return the assignment of a task in this cycle."""
        return self._assignments.get(uid)

    # -- placements ---------------------------------------------------------------------------------------------

    def place(self, uid: str, row: int, demand: Demand, *, waits: bool) -> None:
        """Assign CPUs to a placed task, or with `waits` to a pipelined one; or undo the eviction of the task."""
        if row not in self._states:
            return
        if uid in self._evicted:
            self._evicted.discard(uid)
            self._cpus_of(row).leaving &= ~self._held(uid, row)
            self._note(row)
        elif demand:
            allotment = self._former_of(uid, row, waits) or self._states.allotment(self._state(row, waits), demand)
            if isinstance(allotment, CpuAllocation):
                self._assignments[uid] = CpuAssignment(row, allotment, waits)
                self._change(self._assignments[uid], taken=True)

    def take_back(self, uid: str) -> None:
        """Release the CPUs of an undone placement."""
        assignment = self._assignments.pop(uid, None)
        if assignment is not None:
            self._former[uid, assignment.row, assignment.is_promise] = assignment.allotment
            self._change(assignment, taken=False)

    def evict(self, uid: str, row: int) -> None:
        """Mark the CPUs of an evicted task as being released."""
        if row in self._states:
            self._evicted.add(uid)
            self._cpus_of(row).leaving |= self._held(uid, row)
            self._note(row)

    # -- accounting ---------------------------------------------------------------------------------------------

    def _cpus_of(self, row: int) -> _NodeCpus:
        if row not in self._node_cpus:
            known = self._holdings.get(self._names[row], NOTHING)
            self._node_cpus[row] = _NodeCpus(known.free, known.leaving)
        return self._node_cpus[row]

    def _held(self, uid: str, row: int) -> CpuSet:
        """Return the CPUs that a task had at the start of the cycle."""
        return self._holdings.get(self._names[row], NOTHING).held.get(uid, 0)

    def _state(self, row: int, waits: bool) -> int:
        return int((self.later if waits else self.now)[row])

    def _former_of(self, uid: str, row: int, waits: bool) -> CpuAllocation | None:
        """Return the previous assignment of the task here, if it is still free."""
        former, node_cpus = self._former.get((uid, row, waits)), self._cpus_of(row)
        if former is None or former.cpus & ~(node_cpus.later if waits else node_cpus.now):
            return None
        return former

    def _change(self, assignment: CpuAssignment, *, taken: bool) -> None:
        node_cpus, cpus = self._cpus_of(assignment.row), assignment.allotment.cpus
        if assignment.is_promise:
            node_cpus.nominated = node_cpus.nominated | cpus if taken else node_cpus.nominated & ~cpus
        else:
            node_cpus.free = node_cpus.free & ~cpus if taken else node_cpus.free | cpus
        self._note(assignment.row)

    def _note(self, row: int) -> None:
        node_cpus = self._node_cpus[row]
        self.now[row] = self._states.number(row, node_cpus.now)
        self.later[row] = self._states.number(row, node_cpus.later)
