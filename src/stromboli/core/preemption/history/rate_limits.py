"""Limits of the number of preemptions in a period: for the whole cluster, and for the preemptors of each queue."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.carryover import MAX_HISTORY_AGE
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.values.times import parse_duration
from stromboli.core.preemption.history.thrash_guard import evictions_since
from stromboli.core.session.session import Session
from stromboli.core.session.waiting_reasons import counted

_FORM = re.compile(r"([0-9]{1,9})/([0-9a-zµμ.]+)")


class Rate(NamedTuple):
    """At most so many evicted jobs in a period."""

    text: str
    number: int
    seconds: float


def _rate(text: str) -> Rate | None:
    if not text:
        return None
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:64]!r} is not a rate; write a number of evicted jobs and a period, such as 20/1h")
    seconds = parse_duration(found[2])
    if seconds > MAX_HISTORY_AGE:
        raise ValueError(f"{text!r}: the period is longer than a day, for which the eviction history is kept")
    return Rate(text, int(found[1]), seconds)


class PreemptionRateArguments(Arguments):
    cluster_rate: Rate | None = Argument(
        "preemptionRate",
        "",
        "At most so many evicted jobs in a period, such as `100/1h`; empty for no limit.",
        parse=_rate,
    )
    queue_rate: Rate | None = Argument(
        "queuePreemptionRate", "", "The same for the preemptors of each queue, such as `20/1h`.", parse=_rate
    )


class PreemptionRates:
    """The evicted jobs of the periods before this cycle and in it."""

    def __init__(self, session: Session, action: str, arguments: PreemptionRateArguments) -> None:
        self._session, self._action = session, action
        self._cluster, self._queue = arguments.cluster_rate, arguments.queue_rate
        self._is_limited = bool(self._cluster or self._queue)
        self._in_cluster = 0
        self._in_queues = Counter[str]()
        #: The evictions of this cycle that are counted, and the pairs of preemptor and victim among them.
        self._seen = 0
        self._pairs: set[tuple[str, str]] = set()
        if self._is_limited:
            self._count_history()

    def _count_history(self) -> None:
        now, cluster, queue = self._session.now, self._cluster, self._queue
        of_cluster, of_queue = cluster.seconds if cluster else 0.0, queue.seconds if queue else 0.0
        for eviction in evictions_since(self._session, now - max(of_cluster, of_queue)):
            self._in_cluster += eviction.at > now - of_cluster
            if eviction.at > now - of_queue:
                self._in_queues[eviction.preemptor_queue] += 1

    def refusal(self, preemptor: Task) -> Reason | None:
        """Return the limit that is reached. A plan is not split: it may exceed a limit that was not reached before."""
        if not self._is_limited:
            return None
        self._count_decisions()
        queue = self._session.jobs[preemptor.job].queue
        if self._queue is not None and self._in_queues[queue] >= self._queue.number:
            return self._refusal(self._in_queues[queue], f"for queue {queue}", self._queue)
        if self._cluster is not None and self._in_cluster >= self._cluster.number:
            return self._refusal(self._in_cluster, "in the cluster", self._cluster)
        return None

    def _count_decisions(self) -> None:
        evictions = self._session.decisions.evictions
        for eviction in evictions[self._seen :]:
            pair = eviction.preemptor, eviction.task.job
            if eviction.preemptor not in ("", eviction.task.job) and pair not in self._pairs:
                self._pairs.add(pair)
                self._in_cluster += 1
                self._in_queues[self._session.jobs[eviction.preemptor].queue] += 1
        self._seen = len(evictions)

    def _refusal(self, number: int, where: str, rate: Rate) -> Reason:
        detail = f"{self._action}: {counted(number, 'job')} evicted {where}, and the limit is {rate.text}"
        return Reason(Code.PREEMPTION_RATE, detail)
