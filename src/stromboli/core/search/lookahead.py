"""Lookahead: placement of a few copies of a class inside a domain with precomputed scores of further copies.

Gang after gang of one class goes into the same domain. The score of a node with one more copy, with two more, and so on
depends on that node alone, so it is computed for all nodes of the domain at once. It stays valid until something other
than copies of the class changes the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.search.ranking import Ranking

if TYPE_CHECKING:
    from stromboli.core.search.class_view import ClassView

#: How many further copies are precomputed, and for how many nodes at a time.
_DEPTH = 8
_WIDTH = 128


class Lookahead:
    """Scores of further copies by node, the next one last."""

    __slots__ = ("_next_domain",)

    def __init__(self) -> None:
        self._next_domain: dict[int, list[float]] = {}

    def forget(self, rows: Iterable[int]) -> None:
        """Drop the scores of nodes that other operations changed."""
        for row in rows:
            self._next_domain.pop(row, None)

    def place(self, view: ClassView, ranking: Ranking, wanted: int, inside: Index) -> list[int]:
        """Return node rows for up to `wanted` copies, one by one: the best, the lowest index among equals. The scores
        are updated as if the copies were placed.
        """
        scores = ranking.scores[inside]
        taken: list[int] = []
        best, row_at, following, refused = scores.argmax, inside.item, self._next_domain, -np.inf
        for _ in range(wanted):
            place = best()
            if scores[place] == refused:
                break
            row = row_at(place)
            if not following.get(row):
                self._look(view, inside, scores, taken)
            scores[place] = following[row].pop()
            taken.append(row)
        ranking.replace(inside, scores)
        return taken

    def _look(self, view: ClassView, inside: Index, scores: Vector, taken: Sequence[int]) -> None:
        """Precompute scores for the best of the nodes that have none left."""
        following = self._next_domain
        chosen = inside[Ranking(scores).best(_WIDTH)].tolist()
        rows = [row for row in chosen if not following.get(row)]
        copies = np.tile(np.arange(1, _DEPTH + 1), (len(rows), 1))
        if taken:
            already = Counter(taken)
            copies += np.array([already[row] for row in rows])[:, None]
        index = np.array(rows, dtype=np.int64).repeat(_DEPTH)
        imagined = view.ledger.hypothetical(index, copies.ravel(), view.task_class, certain=True)
        known = view.evaluate(imagined).reshape(len(rows), _DEPTH)[:, ::-1]
        following.update(zip(rows, known.tolist(), strict=True))
