"""The states of nodes: their CPU topology and the free CPUs.

Many nodes share a state, and nodes return to earlier states. The result for a pod is computed once per state, and
looked up for all nodes at once by the numbers of their states.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stromboli.core.model.nodes.cpu_assignment import CpuAllocation, Demand, assign_cpus, count_numa_nodes
from stromboli.core.model.nodes.numa import CpuSet, Holdings, Processors
from stromboli.core.model.nodes.table import Index, Mask, NodeTable

#: The state of nodes whose kubelet has no NUMA policy.
NO_CONSTRAINT = 0
#: The states that may be cached beyond four per node before the cache is rebuilt.
_SLACK = 4096
NOTHING = Holdings(0, 0, {})


class Fits:
    """The result of one demand in every state."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._known = 1
        self._numa_nodes: Index = np.zeros(64, dtype=np.int64)
        #: For states in which a task was placed or rejected.
        self.allotments: dict[int, CpuAllocation | str] = {}

    def extend(self, states: list[tuple[Processors, CpuSet]]) -> None:
        """Compute the results of new states."""
        for processors, free in states[self._known - 1 :]:
            if self._known == len(self._numa_nodes):
                self._numa_nodes = np.concatenate((self._numa_nodes, np.zeros_like(self._numa_nodes)))
            self._numa_nodes[self._known] = count_numa_nodes(processors, free, self._demand)
            self._known += 1

    def filter(self, states: Index) -> Mask:
        return (self._numa_nodes[states] > 0) | (states == NO_CONSTRAINT)

    def numa_nodes(self, states: Index) -> Index:
        """Return the number of NUMA nodes that the CPUs would span."""
        return self._numa_nodes[states]


class NumaStates:
    """All states that nodes of one table were seen in, by number."""

    def __init__(self, nodes: NodeTable) -> None:
        shapes: dict[Processors, int] = {}
        #: By node row, its CPU topology; nodes without a NUMA policy are left out.
        self._shapes: dict[int, int] = {}
        for row, node in enumerate(nodes.nodes):
            if node.processors is not None and node.processors.aligns:
                self._shapes[row] = shapes.setdefault(node.processors, len(shapes))
        self._processors = list(shapes)
        self._numbers: dict[tuple[int, CpuSet], int] = {}
        self._states: list[tuple[Processors, CpuSet]] = []
        self._fits: dict[Demand, Fits] = {}
        self._names = [(row, nodes.names[row]) for row in self._shapes]
        #: The assignments at the start of the last cycle, and the resulting states.
        self._seen: dict[int, Holdings] = {}
        self._now: Index = np.full(len(nodes), NO_CONSTRAINT, dtype=np.int64)
        self._later: Index = self._now.copy()

    @property
    def has_too_many_shapes(self) -> bool:
        """Report whether to rebuild the cache, because most of the cached states will not recur."""
        return len(self._states) * max(1, len(self._fits)) > 64 * (4 * len(self._now) + _SLACK)

    def __bool__(self) -> bool:
        """Report whether any node has a NUMA policy."""
        return bool(self._shapes)

    def __contains__(self, row: int) -> bool:
        """Report whether a node has a NUMA policy."""
        return row in self._shapes

    def begin(self, holdings: Mapping[str, Holdings]) -> tuple[Index, Index]:
        """Return the states of all nodes at the start of a cycle: now, and after all terminating pods are gone. Only
        changed nodes are evaluated.
        """
        for row, name in self._names:
            known = holdings.get(name, NOTHING)
            if self._seen.get(row) is not known:
                self._seen[row] = known
                self._now[row] = self.number(row, known.free)
                self._later[row] = self.number(row, known.free | known.leaving)
        return self._now.copy(), self._later.copy()

    def number(self, row: int, free: CpuSet) -> int:
        """The state of a node with these free processors."""
        key = self._shapes[row], free
        known = self._numbers.get(key)
        if known is None:
            self._states.append((self._processors[key[0]], free))
            known = self._numbers[key] = len(self._states)
        return known

    def processors_of(self, row: int) -> Processors:
        return self._processors[self._shapes[row]]

    def allotment(self, number: int, demand: Demand) -> CpuAllocation | str:
        """The processors that containers get in a state, or the one for which there are none."""
        known = self.fits(demand).allotments
        if number not in known:
            known[number] = assign_cpus(*self._states[number - 1], demand)
        return known[number]

    def has_free(self, number: int) -> bool:
        return bool(self._states[number - 1][1])

    def fits(self, demand: Demand) -> Fits:
        """Return the result of a demand in all known states."""
        fits = self._fits.get(demand)
        if fits is None:
            fits = self._fits[demand] = Fits(demand)
        fits.extend(self._states)
        return fits
