"""Who had to make room for whom a short while ago. Known to the process that decided it, and to no object."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.core.model.jobs.eviction_history import LONGEST_MEMORY, Taking


class Takings:
    def __init__(self) -> None:
        self._latest: dict[tuple[str, str, str], Taking] = {}

    def note(self, takings: Iterable[Taking]) -> None:
        for taking in takings:
            self._latest[taking.claimant, taking.victim, taking.queue] = taking

    def since_lately(self, now: float) -> tuple[Taking, ...]:
        """What was not too long ago; the rest is forgotten."""
        if self._latest:
            recent = {key: taking for key, taking in self._latest.items() if taking.at > now - LONGEST_MEMORY}
            self._latest = recent
        return tuple(self._latest.values())

    def all(self) -> list[Taking]:
        return list(self._latest.values())
