"""Node amounts: every amount of every node in one block of integers.

One row per fact (idle cpu, used memory, ...), one column per node. A resource is a contiguous
row, so a query over all nodes runs at memory speed; and one `take` of some columns saves everything an operation is
about to overwrite.

Rules read the block through `Rows`, which covers all nodes, some of them, or nodes as they *would* be after more copies
of a class: the same code serves all three.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY
from stromboli.core.model.tasks.task import TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass

Block = NDArray[np.int64]
Amount = NDArray[np.int64]
Effect = NDArray[np.int64]

_ONE: Vector = np.array(1.0)


class AmountLayout:
    """Maps facts to rows of the block, for `resources` resources.

    Facts that operations change come first, so that one slice saves them all; constant facts come last.
    """

    __slots__ = (
        "allocatable", "changing", "height", "idle", "pipelined", "releasing", "resources", "scored", "used",
    )  # fmt: skip

    def __init__(self, resources: int) -> None:
        self.resources = resources
        self.idle = 0
        self.used = resources
        self.scored = 2 * resources
        self.releasing = self.scored + 2
        self.pipelined = self.releasing + resources
        self.allocatable = self.changing = self.pipelined + resources
        self.height = self.allocatable + resources

    def empty(self, nodes: int) -> Block:
        return np.zeros((self.height, nodes), dtype=np.int64)

    def effect(self, task_class: TaskClass, status: TaskStatus) -> Effect:
        """Return what one task of this class in this status adds to the changing facts of its node."""
        delta = np.zeros(self.changing, dtype=np.int64)
        if status is TaskStatus.PIPELINED:
            self._add_request(delta, task_class, self.pipelined, 1)
        else:
            self._add_request(delta, task_class, self.used, 1)
            self._add_request(delta, task_class, self.idle, -1)
        if status is TaskStatus.RELEASING:
            self._add_request(delta, task_class, self.releasing, 1)
        self._add_presence(delta, task_class, 1)
        return delta

    def effect_of_eviction(self, task_class: TaskClass) -> Effect:
        """Return what evicting a placed task adds: its resources are releasing, and rules ignore its presence."""
        delta = np.zeros(self.changing, dtype=np.int64)
        self._add_request(delta, task_class, self.releasing, 1)
        self._add_presence(delta, task_class, -1)
        return delta

    def _add_presence(self, delta: Effect, task_class: TaskClass, sign: int) -> None:
        delta[self.scored + CPU] += sign * task_class.scored_request[CPU]
        delta[self.scored + MEMORY] += sign * task_class.scored_request[MEMORY]

    @staticmethod
    def _add_request(delta: Effect, task_class: TaskClass, start: int, sign: int) -> None:
        for dimension, amount in task_class.request:
            delta[start + dimension] += sign * amount


class Rows:
    """Some nodes as a rule sees them: amounts by dimension, one entry per node.

    Amounts that an allocation changes are held in a separate block, which may be hypothetical; the rest is looked up.
    """

    __slots__ = (
        "_amounts", "_block", "_capacities", "_fractions", "_layout", "certain", "copies", "index", "later",
        "nodes",
    )  # fmt: skip

    def __init__(
        self,
        amounts: Block,
        layout: AmountLayout,
        nodes: NodeTable,
        index: Index | None = None,
        block: Block | None = None,
        whole: "Rows | None" = None,
        *,
        copies: Index | None = None,
        certain: bool = False,
        later: bool = False,
    ) -> None:
        self._amounts = amounts
        self._block = amounts if block is None else block
        self._layout = layout
        #: Of all nodes, and shared by their subsets.
        self._capacities: dict[int, Vector] = {} if whole is None else whole._capacities
        self._fractions: dict[int, Vector] = {}
        #: The table of all nodes; entry i of a row belongs to node `index[i]`, or to node i if index is None.
        self.nodes = nodes
        self.index = index
        #: By entry, the number of further copies of the class that hypothetical rows contain; None for actual rows.
        self.copies = copies
        #: Whether only rows with enough capacity for the class matter; results for other rows are ignored.
        self.certain = certain
        #: Whether the query is about waiting for a node: releasing pods count as gone.
        self.later = later

    def __len__(self) -> int:
        return self._block.shape[1]

    @property
    def resources(self) -> int:
        """Number of resource dimensions."""
        return self._layout.resources

    def idle(self, dimension: int) -> Amount:
        return self._block[dimension]

    def have_idle(self, request: Sequence[tuple[int, Amount]]) -> Mask:
        """Return which rows have all of these amounts idle: one function, as every update of scores calls it."""
        block = self._block
        dimension, amount = request[0]
        fits: Mask = block[dimension] >= amount
        for dimension, amount in request[1:]:
            fits &= block[dimension] >= amount
        return fits

    def used(self, dimension: int) -> Amount:
        return self._block[self._layout.used + dimension]

    def scored_use(self, dimension: int) -> Amount:
        """cpu or memory in use as scorers count it: pods without a request count with a default."""
        return self._block[self._layout.scored + dimension]

    def _look_up(self, row: int) -> Amount:
        return self._amounts[row] if self.index is None else self._amounts[row][self.index]

    def allocatable(self, dimension: int) -> Amount:
        return self._look_up(self._layout.allocatable + dimension)

    def releasing(self, dimension: int) -> Amount:
        return self._look_up(self._layout.releasing + dimension)

    def pipelined(self, dimension: int) -> Amount:
        return self._look_up(self._layout.pipelined + dimension)

    def future_idle(self, dimension: int) -> Amount:
        """Idle amount once all releasing pods are gone and all pipelined tasks are placed."""
        return self.idle(dimension) + self.releasing(dimension) - self.pipelined(dimension)

    # -- fractions, shared by the scorers of the same rows ------------------------------------------------------

    def capacity(self, dimension: int) -> Vector:
        """Allocatable amounts as divisors: floats, with 1 in place of 0, so that a share of nothing is 0.

        No operation changes allocatable amounts, so the result is computed once for all nodes.
        """
        known = self._capacities.get(dimension)
        if known is None:
            known = self._capacities[dimension] = np.maximum(self._amounts[self._layout.allocatable + dimension], _ONE)
        return known if self.index is None else known[self.index]

    def fraction_with(self, dimension: int, amount: Amount) -> Vector:
        """Fraction in use with `amount` more, at most 1. Read-only: the array is shared.

        A subset of rows is made for one class, so `amount` must be the request of that class.
        """
        fraction = self._fractions.get(dimension)
        if fraction is not None:
            return fraction
        needed = self._block[self._layout.used + dimension] + amount
        if not (self.certain and amount):
            np.minimum(needed, self.allocatable(dimension), out=needed)
        fraction = needed / self.capacity(dimension)
        if self.index is not None:  # the amounts behind all rows change, those of a subset were copied
            self._fractions[dimension] = fraction
        return fraction
