"""Placing k copies of a class at once, exactly as one by one would.

One by one always takes the best node (the lowest index among equals), which changes that node's score, and so
on. It never touches a node outside the k best ones. So: take those, compute for each the score of its 1st, 2nd,
... copy, and merge these sequences. A node once taken stays the best until one of its copies scores below the
lowest score it was taken at; therefore the order of taking is a stable sort by the running minimum of each
sequence. Nothing is assumed about how scores change.
"""

from __future__ import annotations

import numpy as np

from stromboli.framework.class_view import REFUSED, ClassView
from stromboli.framework.ranking import Ranking
from stromboli.model.nodes import Index, Vector

#: Below this many copies the depth of the first try is simply all of them.
_SHALLOW = 12


def place_copies(view: ClassView, ranking: Ranking, wanted: int) -> list[int]:
    """Node rows for up to `wanted` copies, in the order of taking. The view's scores are left as they will be
    once the copies are placed."""
    rows = ranking.best(wanted)
    if not len(rows):
        return []
    depth = _first_depth(wanted, len(rows))
    most = int(_capacity(view, rows).max())
    while True:
        copies = min(depth, most, wanted) + 1
        table = _scores_of_copies(view, rows, copies)
        running = np.minimum.accumulate(table, axis=1)
        order = np.argsort(-running.ravel(), kind="stable")[:wanted]
        order = order[running.ravel()[order] > REFUSED]
        taken = np.bincount(order // copies, minlength=len(rows))
        if copies > min(most, wanted) or int(taken.max()) < copies:
            break
        depth *= 4
    ranking.replace(rows, table[np.arange(len(rows)), taken])
    return rows[order // copies].tolist()


def _first_depth(wanted: int, rows: int) -> int:
    """How many copies per node to look at first: a few more than an even spread would need."""
    return wanted if wanted <= _SHALLOW else 2 * (wanted // rows) + 4


def _capacity(view: ClassView, rows: Index) -> Index:
    """How many copies each row could hold by its idle amounts."""
    books, request = view.ledger.books, view.task_class.request
    dimension, amount = request[0]
    capacity = books[dimension][rows] // amount
    for dimension, amount in request[1:]:
        capacity = np.minimum(capacity, books[dimension][rows] // amount)
    return capacity


def _scores_of_copies(view: ClassView, rows: Index, copies: int) -> Vector:
    """Entry (i, j): the score of row i for one more copy after j copies."""
    index = np.repeat(rows, copies)
    number = np.tile(np.arange(copies, dtype=np.int64), len(rows))
    hypothetical = view.ledger.hypothetical(index, number, view.task_class)
    return view.evaluate(hypothetical).reshape(len(rows), copies)
