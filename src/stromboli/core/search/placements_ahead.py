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

    __slots__ = ("_repeats", "position", "rows")

    def __init__(self) -> None:
        #: The next row is the last entry.
        self.rows: list[int] = []
        #: Where the log is if nothing but the rows handed out was placed; then the class repeats.
        self.position = -1
        self._repeats = 1

    def take(self, wanted: int) -> list[int]:
        """Return up to `wanted` of the rows, in order. Only valid if the log is at the position."""
        taken = self.rows[: -wanted - 1 : -1]
        del self.rows[-wanted:]
        self.position += len(taken)
        return taken

    def copies_to_place(self, wanted: int) -> int:
        """Return the size of the next batch of a class that repeats: twice as many as last time."""
        return max(wanted, min(wanted * self._repeats * 2, _MAX_COPIES // wanted * wanted))

    def keep(self, rows: list[int], wanted: int, position: int) -> list[int]:
        """Keep a batch that was computed at a position of the log; return its first `wanted` rows."""
        self._repeats = 2 * self._repeats if position == self.position else 1
        if len(rows) <= wanted:
            self.position = position + len(rows)
            return rows
        self.rows = rows[: wanted - 1 : -1]
        self.position = position + wanted
        return rows[:wanted]

    def give_back(self, rows: list[int], position: int) -> None:
        """Put rows back that were taken and are not used."""
        self.rows.extend(reversed(rows))
        self.position = position

    def drop(self) -> list[int]:
        """Forget the rest of the batch and return it: the scores of these rows count copies that were not placed."""
        rows, self.rows = self.rows, []
        return rows
