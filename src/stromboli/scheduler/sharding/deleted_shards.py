"""Shards whose NodeShard was deleted: their schedulers may still place pods for a while.

A scheduler releases a node through its record. One that loses its record stops when it observes the deletion, which may
take as long as a watch can be stale, plus the time of a request. Until then its nodes count as used.
"""

from __future__ import annotations

from collections.abc import Iterable


class DeletedShards:
    """Deleted shards, and until when they count, by the local clock."""

    def __init__(self, lasts: float) -> None:
        self._lasts = lasts
        self._until: dict[str, float] = {}
        self._number = 0

    def begin(self, shard: str, now: float) -> str:
        """Return the name under which the shard counts from now on; no object has it."""
        self._number += 1
        name = f"{shard}, which is gone ({self._number})"
        self._until[name] = now + self._lasts
        return name

    def over(self, now: float) -> Iterable[str]:
        """Return the shards that no longer count, each once."""
        over = [name for name, until in self._until.items() if now >= until]
        for name in over:
            del self._until[name]
        return over
