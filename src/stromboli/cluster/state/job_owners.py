"""Whose jobs are whose, where several schedulers share a cluster: a job is of the scheduler that its pods name.

Others' jobs count for their queues, and are otherwise left alone: what is to become of them, and what is said of them,
is for their own scheduler to decide. A job of which no pod was seen yet may be anybody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection


class JobOwners:
    """Counts the pods of jobs, ours and others'."""

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._names = scheduler_names
        self._pods: dict[str, tuple[str, bool]] = {}
        self._ours: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        #: The jobs of which all pods that were seen name other schedulers.
        self.foreign: set[str] = set()

    def note(self, uid: str, job: str, scheduler: str) -> None:
        """A pod is there, and is of a job, if it names one."""
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
