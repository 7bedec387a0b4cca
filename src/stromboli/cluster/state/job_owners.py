"""Which scheduler owns a job, where several schedulers share a cluster: the one that its pods name.

Jobs of other schedulers count in their queues and are otherwise left to their scheduler, which decides about them and
reports on them. A job without pods may belong to any scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection


class JobOwners:
    """Counts the pods of jobs by owner."""

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._names = scheduler_names
        self._pods: dict[str, tuple[str, bool]] = {}
        self._ours: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        #: Jobs all of whose pods name other schedulers.
        self.foreign: set[str] = set()

    def note(self, uid: str, job: str, scheduler: str) -> None:
        """Count a pod, if it belongs to a job."""
        place = (job, scheduler in self._names)
        if self._pods.get(uid) != place:
            self.forget(uid)
            if job:
                self._pods[uid] = place
                self._count(place, 1)

    def forget(self, uid: str) -> None:
        place = self._pods.pop(uid, None)
        if place is not None:
            self._count(place, -1)

    def _count(self, place: tuple[str, bool], change: int) -> None:
        job, is_ours = place
        counts = self._ours if is_ours else self._others
        counts[job] += change
        if not counts[job]:
            del counts[job]
        if self._others[job] and not self._ours[job]:
            self.foreign.add(job)
        else:
            self.foreign.discard(job)
