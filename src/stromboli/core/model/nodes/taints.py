"""Taints and tolerations.

Clusters have thousands of nodes and few distinct taint lists, so each distinct list is evaluated once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stromboli.core.model.nodes.table import Index, Mask, NodeTable, Taint
from stromboli.core.model.tasks.selectors import as_integer
from stromboli.core.model.tasks.task_class import Toleration

#: Effects that keep a pod away, and the one that only lowers the score of a node.
REPELLING_EFFECTS = ("NoSchedule", "NoExecute")
DISCOURAGING_EFFECT = "PreferNoSchedule"

Tolerations = tuple[Toleration, ...]


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


class Tolerance:
    """Tolerations by what they can cover: a pod may have thousands of them, and a cluster thousands of taints."""

    __slots__ = ("_by_key", "_by_value")

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._by_value: dict[tuple[str, str], list[Toleration]] = {}
        self._by_key: dict[str, list[Toleration]] = {}
        for each in tolerations:
            if each.operator in ("", "Equal"):
                self._by_value.setdefault((each.key, each.value), []).append(each)
            else:
                self._by_key.setdefault(each.key, []).append(each)

    def covers(self, taint: Taint) -> bool:
        """Report whether a toleration covers the taint; an empty key matches every key."""
        values, keys = self._by_value, self._by_key
        return any(
            tolerates(found, taint)
            for key in (taint.key, "")
            if (found := (*values.get((key, taint.value), ()), *keys.get(key, ())))
        )

    def first_uncovered(self, taints: Iterable[Taint]) -> Taint | None:
        """Return the first taint that keeps a pod with these tolerations away, if there is one."""
        return next((each for each in taints if each.effect in REPELLING_EFFECTS and not self.covers(each)), None)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    """An empty effect matches every effect, an empty key every key."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "Equal" | "":
            return toleration.value == taint.value
        case _:
            return _compares(toleration, taint)


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Gt tolerates taints with a greater number than the toleration's, Lt those with a smaller one."""
    here, bound = as_integer(taint.value), as_integer(toleration.value)
    if here is None or bound is None:
        return False
    return (toleration.operator == "Gt" and here > bound) or (toleration.operator == "Lt" and here < bound)


@dataclass(frozen=True, slots=True, eq=False)
class TaintLists:
    """The distinct taint lists of a table, and the list of each node."""

    codes: Index
    lists: tuple[tuple[Taint, ...], ...]

    def has_effect(self, *effects: str) -> bool:
        """Report whether some node has a taint with one of these effects."""
        return any(taint.effect in effects for taints in self.lists for taint in taints)


def taint_lists(nodes: NodeTable) -> TaintLists:
    known: TaintLists = nodes.remember("taint lists", _intern)
    return known


def _intern(nodes: NodeTable) -> TaintLists:
    numbers: dict[tuple[Taint, ...], int] = {}
    codes = [numbers.setdefault(node.taints, len(numbers)) for node in nodes.nodes]
    return TaintLists(np.array(codes, dtype=np.int64), tuple(numbers))


def first_untolerated(tolerations: Tolerations, taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint that keeps a pod with these tolerations away, if there is one."""
    repelling = (taint for taint in taints if taint.effect in REPELLING_EFFECTS)
    return next((taint for taint in repelling if not tolerates(tolerations, taint)), None)


def tolerated_nodes(nodes: NodeTable, tolerations: Tolerations) -> Mask:
    """Return nodes without a taint that keeps such a pod away. Cached with the table, and read-only."""
    known: Mask = nodes.remember(("tolerated nodes", tolerations), lambda table: _tolerated(table, tolerations))
    return known


def _tolerated(nodes: NodeTable, tolerations: Tolerations) -> Mask:
    distinct, tolerance = taint_lists(nodes), Tolerance(tolerations)
    verdicts = [tolerance.first_uncovered(taints) is None for taints in distinct.lists]
    mask: Mask = np.array(verdicts, dtype=np.bool_)[distinct.codes]
    mask.setflags(write=False)
    return mask
