"""Placements ahead: nodes for copies of a class that will probably be placed next.

Equal jobs often follow each other: one job after the other places a task of the same class, and nothing else happens in
between. Then one batch placement finds the nodes of many of them. Whose turn it is does not matter: as long as the
ledger's log contains nothing but the placements handed out, the next node is the one that a search now would find. Any
other change makes the rest of the batch invalid.
"""

from __future__ import annotations

#: The most copies to place ahead.
_MAX_COPIES = 128


class PlacementsAhead:
    """The rest of the last batch of one class, and the position in the log at which it is valid."""

    __slots__ = ("_position", "_repeats", "_rows")

    def __init__(self) -> None:
        #: The next row is the last entry.
        self._rows: list[int] = []
        self._position = -1
        self._repeats = 1

    def take(self, wanted: int, position: int) -> list[int]:
        """Return up to `wanted` of the rows, in order; none if the log is not where they are valid."""
        if not self._rows or position != self._position:
            return []
        taken = self._rows[: -wanted - 1 : -1]
        del self._rows[-wanted:]
        self._position = position + len(taken)
        return taken

    def copies_to_place(self, wanted: int, position: int) -> int:
        """Return the size of the next batch: twice as many as last time if the class repeats, otherwise `wanted`."""
        self._repeats = 2 * self._repeats if position == self._position else 1
        return max(wanted, min(wanted * self._repeats, _MAX_COPIES // wanted * wanted))

    def keep(self, rows: list[int], wanted: int, position: int) -> list[int]:
        """Keep a batch that was computed at a position of the log; return its first `wanted` rows."""
        self._rows = rows[: wanted - 1 : -1]
        self._position = position + min(wanted, len(rows))
        return rows[:wanted]

    def give_back(self, rows: list[int], position: int) -> None:
        """Put rows back that were taken and are not used."""
        self._rows.extend(reversed(rows))
        self._position = position

    def drop(self) -> list[int]:
        """Forget the rest of the batch and return it: the scores of these rows count copies that were not placed."""
        rows, self._rows = self._rows, []
        return rows
