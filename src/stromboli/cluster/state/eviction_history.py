"""Recent preemptions: known to the deciding process only, and stored in no object."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.core.model.jobs.carryover import MAX_HISTORY_AGE, PastEviction


class EvictionHistory:
    def __init__(self) -> None:
        self._latest: dict[tuple[str, str, str], PastEviction] = {}

    def note(self, eviction_history: Iterable[PastEviction]) -> None:
        for taking in eviction_history:
            self._latest[taking.preemptor, taking.victim, taking.queue] = taking

    def recent_evictions(self, now: float) -> tuple[PastEviction, ...]:
        """Preemptions within the maximum age; older ones are dropped."""
        if self._latest:
            recent = {key: taking for key, taking in self._latest.items() if taking.at > now - MAX_HISTORY_AGE}
            self._latest = recent
        return tuple(self._latest.values())

    def all(self) -> list[PastEviction]:
        return list(self._latest.values())
