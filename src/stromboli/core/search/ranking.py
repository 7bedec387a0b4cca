"""The best nodes of a vector of scores: highest score first, lowest index among equals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stromboli.core.model.nodes.table import Index, Vector

_REFUSED = -np.inf
#: From this size on, a maximum per block pays off.
_MANY = 16_384
#: Up to this many, repeated maximum search is faster than one partition.
_FEW = 24


class Ranking:
    """Scores of all nodes, optimized for finding the best few."""

    __slots__ = ("_argmax", "scores")

    def __init__(self, scores: Vector) -> None:
        self.scores = scores
        #: Row of the highest score; the bound method itself, as this is the most frequent call.
        self._argmax: Callable[[], int] = self._find_best()

    def _find_best(self) -> Callable[[], int]:
        return self.scores.argmax  # type: ignore[return-value]

    def first(self) -> int:
        """Return the best node, -1 if every node is refused."""
        if not len(self.scores):
            return -1
        row = self._argmax()
        return int(row) if self.scores[row] > _REFUSED else -1

    def first_as_list(self) -> list[int]:
        """Return the best node, none if every node is refused."""
        row = self.first()
        return [row] if row >= 0 else []

    def best(self, wanted: int) -> Index:
        """Return the `wanted` best nodes (fewer if fewer are left), in index order."""
        rows = self._by_maximum(wanted) if wanted <= _FEW else self._by_partition(wanted)
        rows.sort()
        return rows

    def replace(self, rows: Index, scores: Vector) -> None:
        self.scores[rows] = scores

    def _by_maximum(self, wanted: int) -> Index:
        scores, rows, kept = self.scores, [], []
        best, refused = self._argmax, -np.inf
        for _ in range(wanted):
            row = best()
            score = scores[row]
            if score == refused:
                break
            rows.append(row)
            kept.append(score)
            scores[row] = refused
        found = np.array(rows, dtype=np.int64)
        self.replace(found, np.array(kept, dtype=np.float64))
        return found

    def _by_partition(self, wanted: int) -> Index:
        scores = self.scores
        left = np.flatnonzero(scores > -np.inf)
        if len(left) <= wanted:
            return left
        values = scores[left]
        threshold = np.partition(values, len(values) - wanted)[len(values) - wanted]
        above = left[values > threshold]
        level = left[values == threshold][: wanted - len(above)]
        return np.concatenate((above, level))


class BlockedRanking(Ranking):
    """For very many nodes: keeps a maximum per block of nodes, as an upper bound that is corrected when read."""

    __slots__ = ("_bounds",)
    BLOCK = 256

    def __init__(self, scores: Vector) -> None:
        super().__init__(scores)
        blocks = -(-len(scores) // self.BLOCK)
        padded = np.full(blocks * self.BLOCK, -np.inf)
        padded[: len(scores)] = scores
        self._bounds = padded.reshape(blocks, self.BLOCK).max(axis=1)

    def _find_best(self) -> Callable[[], int]:
        return self._best_of_blocks

    def _best_of_blocks(self) -> int:
        bounds = self._bounds
        while True:
            block = int(bounds.argmax())
            start = block * self.BLOCK
            inside = self.scores[start : start + self.BLOCK]
            row = int(inside.argmax())
            if inside[row] == bounds[block]:
                return start + row
            bounds[block] = inside[row]

    def raised(self, rows: Index) -> None:
        """Raise the bounds of these rows to their rewritten scores."""
        np.maximum.at(self._bounds, rows // self.BLOCK, self.scores[rows])

    def replace(self, rows: Index, scores: Vector) -> None:
        super().replace(rows, scores)
        self.raised(rows)


def ranking_of(scores: Vector) -> Ranking:
    return BlockedRanking(scores) if len(scores) >= _MANY else Ranking(scores)
