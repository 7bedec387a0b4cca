"""The deserved and maximum amounts of all queues at once: a row per queue, in a tree or without one.

An amount that does not fit is reduced inside the subtree that specifies it; other subtrees are not affected. Each
correction is reported. A queue whose ancestors do not lead to the root has no defined limits: it is detached with
all its descendants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.resources.resources import UNLIMITED, Request, ResourceAxis

Rows = NDArray[np.int64]


class QueueTree:
    """The queues that hang below the root, one row each; row 0 is the root, and parents come before children."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        children: dict[str, list[str]] = {}
        for name, queue in queues.items():
            if name != ROOT:
                children.setdefault(queue.parent or ROOT, []).append(name)
        self.queues = [queues.get(ROOT) or Queue(ROOT, ROOT)]
        parents = [0]
        #: The rows of each level below the root.
        self.levels: list[Rows] = []
        above, first = [ROOT], 0
        while above:
            level = [(name, first + place) for place, parent in enumerate(above) for name in children.get(parent, ())]
            first = len(self.queues)
            self.queues += [queues[name] for name, _ in level]
            parents += [parent for _, parent in level]
            if level:
                self.levels.append(np.arange(first, first + len(level)))
            above = [name for name, _ in level]
        self.parents: Rows = np.array(parents, dtype=np.int64)
        self.row = {queue.name: row for row, queue in enumerate(self.queues)}
        #: Queues that have queues below them.
        self.inner = frozenset(children)
        #: By name, why a queue is detached.
        self.cut_off = {name: _fault(name, queues) for name in queues if name not in self.row}

    def chain(self, row: int) -> list[int]:
        """Return a row and its ancestors, the root last."""
        chain = [row]
        while chain[-1]:
            chain.append(int(self.parents[chain[-1]]))
        return chain


def _fault(name: str, queues: Mapping[str, Queue]) -> str:
    """Describe the nearest queue, from here upwards, that has no place."""
    seen = [name]
    while (parent := queues[seen[-1]].parent) in queues:
        if parent in seen:
            return f"queue {parent} is its own ancestor; correct its spec.parent"
        seen.append(parent)
    return f"spec.parent of queue {seen[-1]}: queue {parent!r} does not exist; create it or name another"


Table = NDArray[np.int64]


@dataclass(slots=True)
class QueueLimits:
    """Tables with a row per queue and a column per resource."""

    guarantee: Table
    deserved: Table
    #: The most it may hold now: its capability, and what the queues share without the guarantees of others.
    limit: Table
    #: The most it may have admitted: the same, as if there were no pods of no queue; in a tree, its capability alone.
    ceiling: Table
    #: The corrections, as messages.
    corrections: list[str] = field(default_factory=list)


def flat_limits(
    queues: Sequence[Queue],
    total: Sequence[int],
    shareable: Sequence[int],
    axis: ResourceAxis,
    *,
    as_quotas: bool = False,
) -> QueueLimits:
    """Compute the limits without a hierarchy: all queues share the cluster, less the guarantees of others.

    With `as_quotas`, a queue that names deserved amounts deserves any amount of other resources.
    """
    size = len(total)
    capability = _table([queue.capability for queue in queues], size, UNLIMITED)
    reserved = _table([queue.guarantee for queue in queues], size)
    guarantee = np.minimum(reserved, capability)
    limit, ceiling = (
        np.minimum(np.maximum(np.array(amounts, dtype=np.int64) - guarantee.sum(axis=0), 0) + guarantee, capability)
        for amounts in (shareable, total)
    )
    wanted = _deserved_table(queues, size, shareable if as_quotas else None)
    deserved = np.maximum(np.minimum(wanted, capability if as_quotas else limit), guarantee)
    corrections = _unkept_guarantees(queues, reserved, capability, axis)
    return QueueLimits(guarantee, deserved, limit, ceiling, corrections)


def tree_limits(
    tree: QueueTree, shareable: Sequence[int], axis: ResourceAxis, *, as_quotas: bool = False
) -> QueueLimits:
    """Compute the limits of a hierarchy: every queue stays within its parent, except for quotas."""
    return _QueueLimitTree(tree, shareable, axis, as_quotas).promises


class _QueueLimitTree:
    def __init__(self, tree: QueueTree, shareable: Sequence[int], axis: ResourceAxis, as_quotas: bool) -> None:
        self._tree = tree
        self._axis = axis
        self._corrections: list[str] = []
        queues, size = tree.queues, len(shareable)
        capability = _table([queue.capability for queue in queues], size, UNLIMITED)
        own = self._inherited(capability)
        reserved = _table([queue.guarantee for queue in queues], size)
        self._corrections += _unkept_guarantees(queues, reserved, own, axis)
        guarantee = self._shared_out("are guaranteed", reserved, own, np.zeros_like(reserved))
        wanted = _deserved_table(queues, size, shareable if as_quotas else None)
        deserved = self._shared_out("deserve", wanted, own, guarantee, fits=not as_quotas)
        limit, ceiling = capability.copy(), capability.copy()
        limit[0] = np.minimum(limit[0], np.array(shareable, dtype=np.int64))
        self._restrict(limit, guarantee)
        self._restrict(ceiling, guarantee)
        self.promises = QueueLimits(guarantee, deserved, limit, ceiling, self._corrections)

    def _inherited(self, capability: Table) -> Table:
        """Return capabilities with those of ancestors applied: a queue inherits a resource that it does not name."""
        tree, own = self._tree, capability.copy()
        for level in tree.levels:
            above = own[tree.parents[level]]
            for place, dimension in np.argwhere((own[level] > above) & (own[level] < UNLIMITED)):
                queue_row = level[place]
                queue, parent = tree.queues[queue_row], tree.queues[tree.parents[queue_row]]
                wanted, have = _amount(self._axis, dimension, own[queue_row, dimension]), above[place, dimension]
                self._corrections.append(
                    f"Queue {queue.name}: spec.capability: {wanted} is more than queue {parent.name} above it may "
                    f"have; {_amount(self._axis, dimension, have)} counts"
                )
            own[level] = np.minimum(own[level], above)
        return own

    def _shared_out(self, what: str, named: Table, most: Table, least: Table, *, fits: bool = True) -> Table:
        """Return the named amounts, within `least` and `most`, such that children have no more together than their
        parent, if it `fits`.

        The root has the sum of its children, and so has a queue in every resource for which it names nothing. Where
        children name more than there is, each keeps its proportion.
        """
        tree = self._tree
        amounts = np.maximum(np.minimum(named, most), least)
        sums = np.zeros_like(amounts)
        for level in reversed(tree.levels):
            filled = np.maximum(np.minimum(sums[level], most[level]), least[level])
            amounts[level] = np.where(named[level] > 0, amounts[level], filled)
            np.add.at(sums, tree.parents[level], amounts[level])
        amounts[0] = np.maximum(np.minimum(sums[0], most[0]), least[0])
        if not fits:
            return amounts
        for row, dimension in np.argwhere(sums > amounts):
            wanted, have = (_amount(self._axis, dimension, table[row, dimension]) for table in (sums, amounts))
            self._corrections.append(
                f"Queue {tree.queues[row].name}: the queues below it {what} {wanted} together, and it has only {have} "
                "to share out; each counts in proportion"
            )
        for level in tree.levels:
            self._fit_into_parents(level, amounts, least)
        return amounts

    def _fit_into_parents(self, level: Rows, amounts: Table, least: Table) -> None:
        """Reduce the amounts of children above `least` where their sum exceeds the parent."""
        parents = self._tree.parents[level]
        sums, kept = np.zeros_like(amounts), np.zeros_like(amounts)
        np.add.at(sums, parents, amounts[level])
        np.add.at(kept, parents, least[level])
        for row, dimension in np.argwhere(sums > amounts):
            spare = int(amounts[row, dimension] - kept[row, dimension])
            wanted = int(sums[row, dimension] - kept[row, dimension])
            for child in level[parents == row]:
                floor = int(least[child, dimension])
                amounts[child, dimension] = floor + (int(amounts[child, dimension]) - floor) * spare // wanted

    def _restrict(self, limit: Table, guarantee: Table) -> None:
        """Limit each queue, from the root down, to its parent's amount less the guarantees of its siblings."""
        tree = self._tree
        sums = np.zeros_like(guarantee)
        for level in tree.levels:
            np.add.at(sums, tree.parents[level], guarantee[level])
        for level in tree.levels:
            parents = tree.parents[level]
            above = limit[parents]
            headroom = np.maximum(above - sums[parents], 0) + guarantee[level]
            headroom = np.where(above < UNLIMITED, np.minimum(headroom, above), above)
            limit[level] = np.minimum(limit[level], headroom)


def _unkept_guarantees(queues: Sequence[Queue], reserved: Table, most: Table, axis: ResourceAxis) -> list[str]:
    """Guarantees that exceed the limit of their queue."""
    return [
        f"Queue {queues[row].name}: spec.guarantee.resource: {_amount(axis, d, reserved[row, d])} is more than it may "
        f"have; {_amount(axis, d, most[row, d])} counts"
        for row, d in np.argwhere(reserved > most)
    ]


def _amount(axis: ResourceAxis, dimension: np.int64, amount: np.int64) -> str:
    return f"{axis.names[dimension]} {axis.format(int(dimension), int(amount))}"


def _deserved_table(queues: Sequence[Queue], size: int, unnamed: Sequence[int] | None) -> Table:
    """Return the deserved amounts; with `unnamed`, those of resources that a queue with such amounts does not name."""
    table = _table([queue.deserved for queue in queues], size)
    for row, queue in enumerate(queues if unnamed is not None else ()):
        if queue.deserved:
            named = {dimension for dimension, _ in queue.deserved}
            table[row] = [table[row, d] if d in named else amount for d, amount in enumerate(unnamed or ())]
    return table


def _table(requests: Sequence[Request], size: int, missing: int = 0) -> Table:
    table = np.full((len(requests), size), missing, dtype=np.int64)
    for row, request in enumerate(requests):
        for dimension, amount in request:
            if dimension < size:
                table[row, dimension] = amount
    return table
