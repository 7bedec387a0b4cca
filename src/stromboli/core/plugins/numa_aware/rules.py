"""The NUMA policy and exclusive CPUs of pods: which nodes take them, and which need the fewest NUMA nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from stromboli.core.config.spelling import quoted
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.cpu_assignment import Demand
from stromboli.core.model.nodes.numa import NONE, POLICIES, POLICY, WANTED, Processors
from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.numa_aware.assignment import CpuAssigner
from stromboli.core.plugins.numa_aware.states import NumaStates
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer


@dataclass(frozen=True, slots=True)
class NumaPreference:
    """The policy that the pod names, empty for none, and the exclusive CPUs of its containers."""

    policy: str = ""
    demand: Demand = ()
    #: Why the policy is invalid.
    fault: Reason | None = None


_NO_PREFERENCE = NumaPreference()


def preference_of(task_class: TaskClass) -> NumaPreference:
    """Return the NUMA policy and exclusive CPUs of a class; only guaranteed pods get exclusive CPUs."""
    wanted, policy = task_class.annotations.get(WANTED), task_class.annotations.get(POLICY, "")
    if wanted is None:
        return _NO_PREFERENCE
    pairs = (part.partition("=") for part in wanted.split(",") if part)
    demand = tuple((container, int(number)) for container, _, number in pairs)
    if policy and policy not in POLICIES:
        detail = f"annotation {POLICY}: {quoted(policy)} is not known; write {' or '.join(POLICIES)}"
        return NumaPreference(demand=demand, fault=Reason(Code.INVALID_OBJECT, detail))
    return NumaPreference("" if policy == NONE else policy, demand)


Preferences = Callable[[TaskClass], NumaPreference]


class _Offer(IntEnum):
    """The state of a node for pods with a policy; from POLICY on, the index of the node's policy."""

    NO_DATA = 0
    NOT_STATIC = 1
    NO_PROCESSORS = 2
    POLICY = 3


_REFUSALS: dict[int, str] = {
    _Offer.NO_DATA: "numa info is empty",
    _Offer.NOT_STATIC: "cpu manager policy isn't static",
    _Offer.NO_PROCESSORS: "no topo information",
}


class SamePolicy(NodeFilter):
    """A pod that names a policy runs where the kubelet has the same one."""

    locality = Locality.STATIC

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._preferences(task_class).policy)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return _offers_of(ledger.nodes) == _Offer.POLICY + POLICIES.index(self._preferences(task_class).policy)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        policy, offers = self._preferences(task_class).policy, _offers_of(ledger.nodes)
        messages = dict(_REFUSALS)
        for place, other in enumerate(POLICIES):
            messages[_Offer.POLICY + place] = f"task topology policy[{policy}] is different with node[{other}]"
        for offer, detail in messages.items():
            rows = np.flatnonzero(refused & (offers == offer))
            if len(rows):
                yield Reason(Code.NUMA_POLICY, detail), rows


def _offers_of(nodes: NodeTable) -> Index:
    offers: Index = nodes.remember("what nodes offer to pods with a NUMA policy", _offers)
    return offers


def _offers(nodes: NodeTable) -> Index:
    return np.array([_offer(node.processors) for node in nodes.nodes], dtype=np.int64)


def _offer(processors: Processors | None) -> int:
    if processors is None:
        return _Offer.NO_DATA
    if processors.manager != "static":
        return _Offer.NOT_STATIC
    if not processors.gives:
        return _Offer.NO_PROCESSORS
    return _Offer.POLICY + POLICIES.index(processors.policy)


class _OverStates:
    """The base of rules that look up the states of nodes."""

    locality = Locality.CLUSTER

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences

    def open(self, states: NumaStates, assigner: CpuAssigner) -> None:
        self._states, self._assigner = states, assigner

    def _states_of(self, rows: Rows) -> Index:
        states = self._assigner.later if rows.later else self._assigner.now
        return states if rows.index is None else states[rows.index]


class Alignment(_OverStates, NodeFilter):
    """The free CPUs of a node must suffice for every container, on as few NUMA nodes as the node's policy demands.

    CPUs are assigned to one pod at a time, so the next pod sees what is left.
    """

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(self._preferences(task_class).demand and self._states)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return self._states.fits(self._preferences(task_class).demand).filter(self._states_of(rows))

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        demand, assigner = self._preferences(task_class).demand, self._assigner
        states = np.where(self._states.fits(demand).filter(assigner.now), assigner.later, assigner.now)
        by_message: dict[str, list[int]] = {}
        for row in np.flatnonzero(refused).tolist():
            number = int(states[row])
            message = "cpu allocatable map is empty"
            if self._states.has_free(number):
                message = f"container {self._states.allotment(number, demand)} cannot be assigned by numa"
            by_message.setdefault(message, []).append(row)
        for message, nodes in by_message.items():
            yield Reason(Code.NUMA_ALIGNMENT, message), np.array(nodes, dtype=np.int64)


class FewNumaNodes(_OverStates, NodeScorer):
    """The fewer NUMA nodes the CPUs of a pod come from, the better; the worst candidate gets 0."""

    def __init__(self, preferences: Preferences, weight: int) -> None:
        super().__init__(preferences)
        self._top = 100.0 * weight

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        preference = self._preferences(task_class)
        return bool(preference.policy and preference.demand)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        numa_nodes = self._states.fits(self._preferences(task_class).demand).numa_nodes(self._states_of(rows))
        most = numa_nodes[candidates].max(initial=0)
        return (1 - numa_nodes / most) * self._top if most else np.zeros(len(numa_nodes))
