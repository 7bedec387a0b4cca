"""Placement of k copies of a class at once, exactly as one by one would.

One by one always takes the best node (the lowest index among equals), which changes that node's score, and so on. It
never touches a node outside the k best ones. So: take those, compute for each the score of its 1st, 2nd, ... copy, and
merge these sequences. A node once taken stays the best until one of its copies scores below the lowest score it was
taken at; therefore the order is a stable sort by the running minimum of each sequence. Nothing is assumed about how
scores change.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from stromboli.core.model.nodes.table import Index, Vector
from stromboli.core.search.class_view import REFUSED, ClassView
from stromboli.core.search.lookahead import Lookahead
from stromboli.core.search.ranking import Ranking

#: Up to this many copies the first evaluation has the full depth.
_SHALLOW = 12
#: Up to this many copies inside a domain are placed one by one, with the lookahead scores.
_FEW = 24


def place_copies(view: ClassView, ranking: Ranking, wanted: int, inside: Index | None = None) -> list[int]:
    """Return node rows for up to `wanted` copies, in the order of placement; all of them `inside`, if given.

    The scores are updated as if the copies were placed.
    """
    if inside is not None and not len(inside):
        return []
    if inside is not None and wanted <= _FEW:
        view.lookahead = view.lookahead or Lookahead()
        return view.lookahead.place(view, ranking, wanted, inside)
    rows = ranking.best(wanted) if inside is None else inside[Ranking(ranking.scores[inside]).best(wanted)]
    if not len(rows):
        return []
    sequence = sequence_of_copies(view, rows, wanted)
    ranking.replace(rows, sequence.scores_after(wanted))
    if view.lookahead is not None:
        view.lookahead.forget(rows.tolist())
    return sequence.nodes.tolist()


def place_copies_beside(view: ClassView, ranking: Ranking, wanted: int, totals: Vector) -> list[int]:
    """Do the same with `totals`: the scores with additions that do not change with the copies. Both are whole numbers,
    so the difference is exact.
    """
    rows = Ranking(totals).best(wanted)
    if not len(rows):
        return []
    added = totals[rows] - ranking.scores[rows]
    sequence = sequence_of_copies(view, rows, wanted, added)
    ranking.replace(rows, sequence.scores_after(wanted) - added)
    return sequence.nodes.tolist()


class CopySequence(NamedTuple):
    """The order in which copies go to some nodes."""

    candidates: Index
    #: Entry (i, j): the score of candidate i for one more copy after j copies.
    table: Vector
    #: For each copy, its entry in the flattened table.
    order: Index
    #: For each copy, its candidate.
    owners: Index

    @property
    def nodes(self) -> Index:
        """The node of each copy."""
        return self.candidates[self.owners]

    @property
    def scores(self) -> Vector:
        """The score of the node of each copy, when the copy is placed."""
        return self.table.take(self.order)

    def scores_after(self, copies: int) -> Vector:
        """Return the scores of the candidates after so many of the copies."""
        taken = np.bincount(self.owners[:copies], minlength=len(self.candidates))
        return self.table.take(_starts(*self.table.shape) + taken)


def sequence_of_copies(view: ClassView, rows: Index, wanted: int, added: Vector | None = None) -> CopySequence:
    """Return the sequence for up to `wanted` copies; the rows are the best of all that may be used, with something
    `added` to the score of each, if given.
    """
    deepest = wanted if wanted <= _SHALLOW else min(wanted, _most_that_fit(view, rows))
    depth = deepest if wanted <= _SHALLOW else 2 * (wanted // len(rows)) + 4
    while True:
        copies = min(depth, deepest) + 1
        table = _scores_of_copies(view, rows, copies)
        if added is not None:
            table = table + added[:, None]
        order = _order_of_taking(table, wanted)
        owners = order // copies
        if copies > deepest or np.bincount(owners).max() < copies:
            return CopySequence(rows, table, order, owners)
        depth *= 4


def _order_of_taking(table: Vector, wanted: int) -> Index:
    """Return the best `wanted` entries of the flattened table, without refused ones."""
    running = np.minimum.accumulate(table, axis=1).ravel()
    order = np.argsort(-running, kind="stable")[:wanted]
    return order if running[order[-1]] > REFUSED else order[running[order] > REFUSED]


def _most_that_fit(view: ClassView, rows: Index) -> int:
    """Return the maximum number of copies that one of the rows can hold by its idle amounts."""
    amounts, request = view.ledger.amounts, view.task_class.request
    dimension, amount = request[0]
    capacity = amounts[dimension][rows] // amount
    for dimension, amount in request[1:]:
        np.minimum(capacity, amounts[dimension][rows] // amount, out=capacity)
    return int(capacity.max())


def _scores_of_copies(view: ClassView, rows: Index, copies: int) -> Vector:
    """Entry (i, j): the score of row i for one more copy after j copies."""
    index, number = rows.repeat(copies), _counted(len(rows), copies)
    imagined = view.ledger.hypothetical(index, number, view.task_class, certain=True)
    return view.evaluate(imagined).reshape(len(rows), copies)


@lru_cache(maxsize=256)
def _counted(rows: int, copies: int) -> Index:
    """Return 0, 1, ... copies - 1, repeated for each row."""
    return np.tile(np.arange(copies, dtype=np.int64), rows)


@lru_cache(maxsize=256)
def _starts(rows: int, copies: int) -> Index:
    """Return the start of each row in the flattened table."""
    return np.arange(rows, dtype=np.int64) * copies
