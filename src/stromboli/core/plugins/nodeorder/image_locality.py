"""Prefer nodes that already hold the pod's images.

An image counts with its size times the share of nodes that hold it: an image on a single node should not draw
every pod to that node.
"""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, NodeTable, Vector
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import Locality

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
    """Return what one image counts on every node; 0 where it would have to be pulled."""
    known: Vector = nodes.remember(("image", image), lambda table: _measure(table, image))
    return known


def _measure(nodes: NodeTable, image: str) -> Vector:
    sizes = np.array([node.images.get(image, 0) for node in nodes.nodes], dtype=np.float64)
    return sizes * (np.count_nonzero(sizes) / max(1, len(nodes)))
