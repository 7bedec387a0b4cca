"""Recovery of half-bound gangs by the scheduler: later cycles complete them, or the bound part is evicted.

The time limit starts when a commit leaves a gang half-bound. If the gang is still below its minimum at the limit, the
pods that the commit had bound are evicted, and only those.

The information survives a crash of the scheduler: every member of a gang has annotations with its commit, the size of
the commit, how many other members it completes to a whole gang, and the time of the decision. A gang with a pod that is
pending since before the commit, and fewer bound members than the commit had, was left behind by a process that did not
finish; so was one below its minimum whose commit was to complete others. Times are compared by the API server's clock
where it reports when it bound a pod, because it also sets the creation timestamps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from stromboli import kube
from stromboli.binding.gangs import GangStep, recovery_step
from stromboli.cluster.objects.timestamps import seconds_of

COMMIT = "stromboli.dev/commit"
DECIDED = "stromboli.dev/decided-at"


def commit_annotations(name: str, size: int, decided: str, *, is_gang: bool, completes: int = 0) -> dict[str, str]:
    """Return the annotations of every member of a gang; pods that need not start together get none. `completes` is the
    number of members that were placed before, or are being bound, if the commit makes the gang whole with them.
    """
    mark = f"{name}/{size}/{completes}" if completes else f"{name}/{size}"
    return {COMMIT: mark, DECIDED: decided} if is_gang else {}


def completes_others(annotations: Mapping[str, str]) -> bool:
    """Report whether the commit of a member made its gang whole together with members of earlier commits."""
    return _numbers(annotations)[1] > 0


def term_of(pod: kube.Pod) -> int | None:
    """Return the term of the leader that bound a member of a gang: the first part of the commit's name."""
    term = _annotation(pod, COMMIT).partition(".")[0]
    return int(term) if term.isdecimal() and len(term) < 9 else None


@dataclass(slots=True)
class HalfBoundGang:
    """A gang below its minimum, the pods to evict if it stays so, and since when."""

    job: str
    uids: tuple[str, ...]
    since: float


class GangRecovery:
    """`is_whole` reports whether a job has its minimum bound, or is gone; `can_complete` whether it will have it once
    the pending binds succeed. A gang below its minimum is unwound after `timeout` seconds.
    """

    def __init__(
        self,
        is_whole: Callable[[str], bool],
        can_complete: Callable[[str], bool],
        clock: Callable[[], float],
        *,
        timeout: float,
    ) -> None:
        self._is_whole = is_whole
        self._can_complete = can_complete
        self._clock = clock
        self._timeout = timeout
        self._open: dict[str, HalfBoundGang] = {}

    @property
    def open(self) -> int:
        """The number of half-bound gangs."""
        return len(self._open)

    def is_open(self, job: str) -> bool:
        return job in self._open

    def begin(self, job: str, uids: Iterable[str]) -> None:
        """Track a gang that was left half-bound."""
        known = self._open.get(job)
        before = known.uids if known else ()
        since = known.since if known else self._clock()
        self._open[job] = HalfBoundGang(job, tuple(dict.fromkeys((*before, *uids))), since)

    def due(self) -> list[HalfBoundGang]:
        """Return the gangs to unwind; gangs that have become whole are dropped."""
        steps = {job: self._step(half) for job, half in self._open.items()}
        due = [half for job, half in self._open.items() if steps[job] is GangStep.UNWIND]
        self._open = {job: half for job, half in self._open.items() if steps[job] is GangStep.WAIT}
        return due

    def next_due(self) -> float | None:
        """Return the seconds until the next time limit; None without half-bound gangs that pending binds leave so."""
        pending = [half.since for half in self._open.values() if not self._can_complete(half.job)]
        return max(min(pending) + self._timeout - self._clock(), 0.0) if pending else None

    def _step(self, half: HalfBoundGang) -> GangStep:
        return recovery_step(
            is_whole=self._is_whole(half.job),
            can_complete=self._can_complete(half.job),
            is_late=self._clock() - half.since >= self._timeout,
        )


def left_behind(pods: Collection[kube.Pod]) -> list[str]:
    """Return the uids of pods, of a job below its minimum, that an incomplete commit bound, or one that was to complete
    others; empty without such commits.
    """
    placed = [pod for pod in pods if pod.spec.node_name and COMMIT in (pod.metadata.annotations or {})]
    pending = [seconds_of(pod.metadata.creation_timestamp) for pod in pods if not pod.spec.node_name]
    if not placed or not pending:
        return []
    bound = Counter(_annotation(pod, COMMIT) for pod in placed)
    return [
        pod.metadata.uid
        for pod in placed
        if _is_incomplete(pod, bound[_annotation(pod, COMMIT)]) and min(pending) <= _bound_at(pod)
    ]


def _is_incomplete(pod: kube.Pod, bound: int) -> bool:
    size, completes = _numbers(pod.metadata.annotations or {})
    return bound < size or completes > 0


def with_followers(uids: Collection[str], pods: Collection[kube.Pod]) -> list[str]:
    """Return these pods of a gang, and those that were placed because of them: decided at the same time or later."""
    decided = {pod.metadata.uid: _annotation(pod, DECIDED) for pod in pods if pod.spec.node_name}
    began = min((moment for uid, moment in decided.items() if moment and uid in uids), default="")
    followers = [uid for uid, moment in decided.items() if began and moment >= began]
    return list(dict.fromkeys((*uids, *followers)))


def _bound_at(pod: kube.Pod) -> float:
    """Return when the API server bound a pod, or else when that was decided."""
    conditions = pod.status.conditions or ()
    times = [each.last_transition_time for each in conditions if each.type == "PodScheduled" and each.status == "True"]
    return seconds_of(times[0] if times and times[0] else _annotation(pod, DECIDED))


def _annotation(pod: kube.Pod, key: str) -> str:
    return (pod.metadata.annotations or {}).get(key, "")


def _numbers(annotations: Mapping[str, str]) -> tuple[int, int]:
    """Return the size of the commit, and the number of members that it completes."""
    _, size, completes, *_ = (*annotations.get(COMMIT, "").split("/"), "", "")
    return _number(size), _number(completes)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 0
