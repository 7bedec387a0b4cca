"""The thrash guard: a preempted job does not preempt back at once.

Where rules allow two jobs to evict each other in turn, both would lose their work repeatedly. For a while after one
received the capacity of another, it is protected: from the job that lost it and, after a reclaim, from every job of the
queue that lost it. With an eviction memory, it stays protected from the job that lost it for as long as that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.carryover import MAX_HISTORY_AGE, PastEviction
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.values.times import duration_or_nothing

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_HOUR = 3600.0


class Window(NamedTuple):
    """A duration as the configuration writes it, and in seconds."""

    text: str
    seconds: float


def _window(text: str) -> Window:
    seconds = duration_or_nothing(text)
    if seconds > _HOUR:
        raise ValueError(f"{text!r} is longer than an hour")
    return Window(text, seconds)


def _memory(text: str) -> Window:
    seconds = duration_or_nothing(text)
    if seconds > MAX_HISTORY_AGE:
        raise ValueError(f"{text!r} is longer than a day, for which the eviction history is kept")
    return Window(text, seconds)


class ThrashGuardArguments(Arguments):
    thrashing_window: Window = Argument(
        "thrashingWindow",
        "60s",
        "How long a job that preempted others is protected from their preemption, at most an hour; 0s for none.",
        parse=_window,
    )
    eviction_memory: Window = Argument(
        "evictionMemory",
        "0s",
        "How long a job may not preempt one that preempted it, and evictions count in `leastLoss`; at most a day.",
        parse=_memory,
    )


def evictions_since(session: Session, moment: float) -> Iterator[PastEviction]:
    """The evictions of earlier cycles after a moment, the latest first."""
    for eviction in reversed(session.snapshot.eviction_history):
        if eviction.at <= moment:
            return
        yield eviction


class ThrashGuard:
    """The pairs of protected job and preemptor in this cycle. False when there are none."""

    def __init__(self, session: Session, arguments: ThrashGuardArguments) -> None:
        window, memory = arguments.thrashing_window, arguments.eviction_memory
        self.window = max(window, memory, key=lambda each: each.seconds).text
        recent = list(evictions_since(session, session.now - max(window.seconds, memory.seconds)))
        since = session.now - window.seconds
        self._jobs = {(eviction.victim, eviction.preemptor) for eviction in recent}
        self._queues = {(each.queue, each.preemptor) for each in recent if each.queue and each.at > since}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def protects(self, holder: Job, preemptor: Job) -> bool:
        """Report whether the holder received capacity that the preemptor, or its queue, lost a short while ago."""
        return (preemptor.key, holder.key) in self._jobs or (preemptor.queue, holder.key) in self._queues
