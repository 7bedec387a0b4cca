"""The fragmentation plugin: its arguments and its score.

A free GPU is fragmented for a pod that cannot use it: because the node lacks cpu or memory, because the free GPUs are
too few, or parts of shared ones too small, or because the node does not accept the pod. The fragmentation of a node is
the mean of that amount over the typical pods of the workload, and the best node for a pod is the one whose
fragmentation grows least. The measure is that of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent" (USENIX ATC 2023). Three terms are added. GPUs that few nodes have and many pods need
are expensive. A pod that takes a larger part of a node's free cpu than of its free GPUs leaves GPUs that cannot be
used. And of similar nodes, the one with the least left is filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.devices.gpu_fractions import GPU, WHOLE
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.fragmentation.free_gpus import FreeGpus
from stromboli.core.plugins.fragmentation.shapes import (
    DeclaredShape,
    ShapeTable,
    declared_shapes,
    gpus_of,
    shapes_of_session,
)
from stromboli.core.plugins.fragmentation.usable import FreeCapacity, PodRequest, stranded_gpus, usable_gpus
from stromboli.core.search.node_rules import Locality, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_POINTS_PER_GPU = 100.0
_PERCENT = 100


class FragmentationArguments(Arguments):
    weight: float = Argument("fragmentation.weight", 1.0, "Weight of the score; 0 switches it off.", minimum=0)
    resource: str = Argument("fragmentation.resource", GPU, "The resource that counts GPUs.")
    popularity: int = Argument(
        "fragmentation.popularity", 95, "The part of the pods that is typical, in percent.", minimum=1
    )
    scarcity: float = Argument(
        "fragmentation.scarcity", 0.5, "Price of GPUs that many pods need and few nodes have.", minimum=0
    )
    balance: float = Argument(
        "fragmentation.balance", 0.2, "Price of GPUs that are left without their part of the cpu.", minimum=0
    )
    best_fit: float = Argument("fragmentation.bestFit", 0.05, "Points for nodes with little left, in GPUs.", minimum=0)
    shapes: list[DeclaredShape] = Argument(
        "fragmentation.shapes", [], "The typical pods; without any, the pods of the cluster.", items=DeclaredShape
    )


class Fragmentation(Plugin):
    """Prefers nodes where a pod leaves GPUs that other pods can use."""

    name = "fragmentation"
    arguments = FragmentationArguments()

    def __init__(self, arguments: FragmentationArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        if arguments.popularity > _PERCENT:
            raise ValueError(f"fragmentation.popularity: expected at most 100 percent, got {arguments.popularity}")
        self._scorer = FragmentationScorer(arguments) if arguments.weight else None

    def open(self, session: Session) -> None:
        if self._scorer is not None:
            self._scorer.open(session)

    def node_scorers(self) -> Sequence[NodeScorer]:
        return [self._scorer] if self._scorer is not None else []


class _Workload:
    """What is computed once per cycle, when the first pod is placed: typical pods, and the price of nodes."""

    def __init__(self, session: Session, arguments: FragmentationArguments, dimension: int) -> None:
        nodes = len(session.nodes)
        self.shapes: ShapeTable = (
            declared_shapes(arguments.shapes, nodes)
            if arguments.shapes
            else shapes_of_session(session, dimension, arguments.popularity)
        )
        self.free = FreeGpus(session.shared_gpus, nodes, dimension)
        layout, amounts = session.ledger.layout, session.snapshot.amounts
        self.prices = _prices(self.shapes, np.maximum(amounts[layout.idle + dimension], 0)) * arguments.scarcity
        #: What typical pods could use of each node, and the position in the ledger's log up to which it is valid.
        self._usable, self._fresh = np.zeros(nodes), -1
        allocatable = amounts[layout.allocatable :]
        #: What a free unit of each costs, in GPUs.
        self._unit_costs = {
            each: arguments.best_fit / 2 / max(int(allocatable[each].max(initial=0)), 1) for each in (CPU, dimension)
        }

    def pod_of(self, task_class: TaskClass, dimension: int) -> PodRequest:
        request = self.free.request_of(task_class)
        requested = dict(task_class.request)
        gpus = gpus_of(task_class, dimension, request) or (0, 0)
        return PodRequest(requested.get(CPU, 0), requested.get(MEMORY, 0), *gpus, request)

    def remainder(self, left: FreeCapacity, dimension: int) -> Vector:
        """Return the cost of what would be left of nodes: the less, the better."""
        costs = self._unit_costs
        return left.cpu * costs[CPU] + left.gpus * costs[dimension]

    def usable(self, rows: Rows, free: FreeCapacity, accepted: Mask, ledger: Ledger) -> Vector:
        """Return what typical pods could use of these nodes, computed once for all classes if the rows are actual."""
        if rows.copies is not None or rows.later:
            return usable_gpus(self.shapes, accepted, free)
        if self._fresh != ledger.log.position:
            index = ledger.log.since(self._fresh) if self._fresh >= 0 else np.arange(len(ledger.nodes))
            changed = self.free.of(ledger.rows(index))
            self._usable[index] = usable_gpus(self.shapes, self.shapes.accepted[:, index], changed)
            self._fresh = ledger.log.position
        return self._usable if rows.index is None else self._usable[rows.index]


def _prices(shapes: ShapeTable, free: Vector) -> Vector:
    """Return for each node the demand for its GPUs relative to what is free, where 1 is the mean of the cluster.

    The pods of a shape spread over the nodes that accept them, in proportion to what is free there.
    """
    accepted = shapes.accepted.astype(np.float64)
    offered = accepted @ free
    demand = np.divide(shapes.demand, offered, out=np.zeros(len(shapes)), where=offered > 0)
    pressure = demand @ accepted
    total, capacity = float((pressure * free).sum()), float(free.sum())
    return pressure * (capacity / total) if total else np.zeros(len(free))


class FragmentationScorer(NodeScorer):
    """A function of a node's own amounts and GPUs. Typical pods and prices are those of the start of the cycle."""

    locality = Locality.ROW

    def __init__(self, arguments: FragmentationArguments) -> None:
        self._arguments = arguments
        self._points = -_POINTS_PER_GPU * arguments.weight
        self._session: Session | None = None
        self._dimension: int | None = None
        self._workload: _Workload | None = None

    def open(self, session: Session) -> None:
        found = session.axis.find(self._arguments.resource)
        self._session, self._workload = session, None
        self._dimension = found if found is not None and found < session.snapshot.size else None

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return self._dimension is not None and len(self._of_cycle(self._dimension).shapes) > 0

    def _of_cycle(self, dimension: int) -> _Workload:
        if self._workload is None:
            assert self._session is not None, "rules are evaluated in a session"  # noqa: S101
            self._workload = _Workload(self._session, self._arguments, dimension)
        return self._workload

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        dimension = self._dimension
        assert dimension is not None, "the rule applies to the class"  # noqa: S101
        workload = self._of_cycle(dimension)
        shapes, prices = workload.shapes, workload.prices
        accepted = shapes.accepted
        if rows.index is not None:
            accepted, prices = accepted[:, rows.index], prices[rows.index]
        pod = workload.pod_of(task_class, dimension)
        free = workload.free.of(rows)
        left = free.without(pod, workload.free.portions(pod, rows), packs=workload.free.packs)
        growth = workload.usable(rows, free, accepted, ledger) - usable_gpus(shapes, accepted, left)
        cost = growth / (shapes.total * WHOLE) - pod.gpus
        if pod.gpus:
            cost += prices * pod.gpus
            cost += self._arguments.balance * stranded_gpus(pod, free)
        cost += workload.remainder(left, dimension)
        return cost * self._points
