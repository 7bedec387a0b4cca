"""Nodes of shards whose NodeShard is gone: somebody may still be placing pods on them, and cannot say so any more.

A scheduler gives up a node by its record. One that loses its record stops as soon as it hears of that, which may take
as long as a watch can be silent, and what it has under way may take as long as a request. Until then nobody else comes.
"""

from __future__ import annotations

from collections.abc import Iterable


class DeletedShards:
    """Which shards are gone, and until when they count, in seconds of our clock."""

    def __init__(self, lasts: float) -> None:
        self._lasts = lasts
        self._until: dict[str, float] = {}
        self._number = 0

    def begin(self, shard: str, now: float) -> str:
        """The name by which it counts from now on: one that no object has, as another of its own may come."""
        self._number += 1
        name = f"{shard}, which is gone ({self._number})"
        self._until[name] = now + self._lasts
        return name

    def over(self, now: float) -> Iterable[str]:
        """Those that do not count any more; each is told once."""
        over = [name for name, until in self._until.items() if now >= until]
        for name in over:
            del self._until[name]
        return over
