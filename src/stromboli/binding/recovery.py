"""Gangs of which only a part could be bound: they get the rest, or that part goes.

A gang can be half-bound for a moment, because the cluster knows no write of several pods at once; it must not stay
so. While the next cycles look for places for the rest, the clock runs; when time is up and the gang is still below
its minimum, the pods that the broken commit had bound are evicted, and only those.

What was bound survives a crash of the scheduler: every member of a gang carries the commit it was bound by, how many
members the commit had, and when it was decided. A gang with a pod that waits since before the commit, and fewer
bound members than the commit had, was left behind by somebody who did not come to the end. Before and after are told
by the server's clock where it says when it bound a pod, because it is the one that says when pods came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from stromboli import kube
from stromboli.cluster.objects.timestamps import seconds_of

COMMIT = "stromboli.dev/commit"
DECIDED = "stromboli.dev/decided-at"
#: Why the members of a gang that stayed half-bound are evicted.
UNWOUND = "the gang could not be completed"


def commit_annotations(name: str, size: int, decided: str, *, is_gang: bool) -> dict[str, str]:
    """What every member of a gang carries; pods that need not start together need no such mark."""
    return {COMMIT: f"{name}/{size}", DECIDED: decided} if is_gang else {}


def term_of(pod: kube.Pod) -> int | None:
    """The term of the leader that bound a member of a gang: the name of a commit begins with it."""
    term = _annotation(pod, COMMIT).partition(".")[0]
    return int(term) if term.isdecimal() and len(term) < 9 else None


@dataclass(slots=True)
class HalfBoundGang:
    """A gang below its minimum, the pods to be evicted if it stays so, and since when."""

    job: str
    uids: tuple[str, ...]
    since: float


class GangRecovery:
    """`is_whole` tells whether a job has its minimum, or is gone; `is_hopeful` whether it will have it once the binds
    that are under way are done. A gang is healed when it is whole, and is not unwound while there is hope.
    """

    def __init__(
        self,
        has_minimum_placed: Callable[[str], bool],
        can_complete: Callable[[str], bool],
        clock: Callable[[], float],
        *,
        patience: float,
    ) -> None:
        self._is_whole = has_minimum_placed
        self._can_complete = can_complete
        self._clock = clock
        self._patience = patience
        self._open: dict[str, HalfBoundGang] = {}

    @property
    def open(self) -> int:
        """Gangs that are half-bound just now."""
        return len(self._open)

    def is_open(self, job: str) -> bool:
        return job in self._open

    def begin(self, job: str, uids: Iterable[str]) -> None:
        """A gang was left half-bound."""
        known = self._open.get(job)
        before = known.uids if known else ()
        since = known.since if known else self._clock()
        self._open[job] = HalfBoundGang(job, tuple(dict.fromkeys((*before, *uids))), since)

    def due(self) -> list[HalfBoundGang]:
        """The gangs whose time is up; those that have become whole are forgotten."""
        self._open = {job: half for job, half in self._open.items() if not self._is_whole(job)}
        now = self._clock()
        late = [half for half in self._impossible() if now - half.since >= self._patience]
        for half in late:
            del self._open[half.job]
        return late

    def next_due(self) -> float | None:
        """Seconds until the first gang's time is up; None when there is no such gang."""
        first = min((half.since for half in self._impossible()), default=None)
        return None if first is None else max(first + self._patience - self._clock(), 0.0)

    def _impossible(self) -> list[HalfBoundGang]:
        return [half for half in self._open.values() if not self._can_complete(half.job)]


def left_behind(pods: Collection[kube.Pod]) -> list[str]:
    """The uids of pods of one job that a commit bound before it was broken off; none if there was no such commit."""
    placed = [pod for pod in pods if pod.spec.node_name and COMMIT in (pod.metadata.annotations or {})]
    waiting = [seconds_of(pod.metadata.creation_timestamp) for pod in pods if not pod.spec.node_name]
    if not placed or not waiting:
        return []
    bound = Counter(_annotation(pod, COMMIT) for pod in placed)
    return [
        pod.metadata.uid
        for pod in placed
        if bound[_annotation(pod, COMMIT)] < _size(pod) and min(waiting) <= _bound_at(pod)
    ]


def with_followers(uids: Collection[str], pods: Collection[kube.Pod]) -> list[str]:
    """These pods of a gang, and those that were placed because these were: decided on at the same time, or later."""
    decided = {pod.metadata.uid: _annotation(pod, DECIDED) for pod in pods if pod.spec.node_name}
    began = min((moment for uid, moment in decided.items() if moment and uid in uids), default="")
    followers = [uid for uid, moment in decided.items() if began and moment >= began]
    return list(dict.fromkeys((*uids, *followers)))


def _bound_at(pod: kube.Pod) -> float:
    """When the server bound a pod; when that was decided, if the server does not say."""
    said = [
        c.last_transition_time for c in pod.status.conditions or () if c.type == "PodScheduled" and c.status == "True"
    ]
    return seconds_of(said[0] if said and said[0] else _annotation(pod, DECIDED))


def _annotation(pod: kube.Pod, key: str) -> str:
    return (pod.metadata.annotations or {}).get(key, "")


def _size(pod: kube.Pod) -> int:
    size = _annotation(pod, COMMIT).rpartition("/")[2]
    return int(size) if size.isdecimal() and len(size) < 9 else 0
