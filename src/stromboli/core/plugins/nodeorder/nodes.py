"""Scores by facts of nodes: preferred node affinity, PreferNoSchedule taints and images."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, NodeTable, Taint, Vector
from stromboli.core.model.nodes.taints import DISCOURAGING_EFFECT, Tolerance, taint_lists
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import Locality


class PreferredNodeAffinity(WeightedScorer):
    """The weights of the preferred terms that a node matches, relative to the best candidate."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.preferred_node_terms)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        raw = np.zeros(len(rows))
        for weight, term in task_class.preferred_node_terms:
            raw += weight * ledger.nodes.matching(term)
        best = raw.max(initial=0.0) if candidates is None else raw[candidates].max(initial=0.0)
        return raw * (self.top / best) if best > 0 else np.zeros(len(rows))


class TaintToleration(WeightedScorer):
    """100 without PreferNoSchedule taints that the pod does not tolerate, 0 for the candidate with most of them."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return taint_lists(ledger.nodes).has_effect(DISCOURAGING_EFFECT)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        distinct, tolerance = taint_lists(ledger.nodes), Tolerance(task_class.tolerations)
        counts = np.array([_discouraging(tolerance, taints) for taints in distinct.lists], dtype=np.float64)
        raw = counts[distinct.codes]
        most = raw.max(initial=0.0) if candidates is None else raw[candidates].max(initial=0.0)
        return self.top - raw * (self.top / most) if most > 0 else np.full(len(rows), self.top)


def _discouraging(tolerance: Tolerance, taints: tuple[Taint, ...]) -> int:
    """Return how many PreferNoSchedule taints of a node the pod does not tolerate."""
    discouraging = (taint for taint in taints if taint.effect == DISCOURAGING_EFFECT)
    return sum(not tolerance.covers(taint) for taint in discouraging)


_MEBIBYTE = 1 << 20
#: Scores begin at the lower size and reach their maximum at the upper size per container.
_LEAST = 23 * _MEBIBYTE
_MAX_BYTES_PER_CONTAINER = 1000 * _MEBIBYTE


class ImageLocality(WeightedScorer):
    """The size of the images that need not be pulled, from 0 (almost none) to 100 (plenty)."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.images)

    def scores(self, task_class: TaskClass, rows: Rows, ledger: Ledger, candidates: Mask | None) -> Vector:
        raw = np.zeros(len(rows))
        for image in task_class.images:
            raw += _spread_sizes(ledger.nodes, image)
        most = _MAX_BYTES_PER_CONTAINER * max(1, task_class.container_count)
        return (np.clip(raw, _LEAST, most) - _LEAST) * (self.top / (most - _LEAST))


def _spread_sizes(nodes: NodeTable, image: str) -> Vector:
    """Return the size that one image counts on every node; 0 where it would have to be pulled."""
    known: Vector = nodes.remember(("image", image), lambda table: _measure(table, image))
    return known


def _measure(nodes: NodeTable, image: str) -> Vector:
    sizes = np.array([node.images.get(image, 0) for node in nodes.nodes], dtype=np.float64)
    return sizes * (np.count_nonzero(sizes) / max(1, len(nodes)))
