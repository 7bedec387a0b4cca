"""The thrash guard: a preempted job does not preempt back at once.

Where rules allow two jobs to evict each other in turn, both would lose their work repeatedly. For a while after one
received the capacity of another, it is protected: from the job that lost it and, after a reclaim, from every job of the
queue that lost it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.carryover import MAX_HISTORY_AGE
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.values.times import duration_or_nothing

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class Window(NamedTuple):
    """A duration as the configuration writes it, and in seconds."""

    text: str
    seconds: float


def _window(text: str) -> Window:
    seconds = duration_or_nothing(text)
    if seconds > MAX_HISTORY_AGE:
        raise ValueError(f"{text!r} is longer than an hour, for which the eviction history is kept")
    return Window(text, seconds)


class ThrashGuardArguments(Arguments):
    thrashing_window: Window = Argument(
        "thrashingWindow",
        "60s",
        "How long a job that preempted others is protected from their preemption, at most an hour; 0s for none.",
        parse=_window,
    )


class ThrashGuard:
    """The pairs of protected job and preemptor in this cycle. False when there are none."""

    def __init__(self, session: Session, window: Window) -> None:
        self.window = window.text
        since = session.now - window.seconds
        recent = [eviction for eviction in session.snapshot.eviction_history if eviction.at > since]
        self._jobs = {(eviction.victim, eviction.preemptor) for eviction in recent}
        self._queues = {(eviction.queue, eviction.preemptor) for eviction in recent if eviction.queue}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def protects(self, holder: Job, preemptor: Job) -> bool:
        """Report whether the holder received capacity that the preemptor, or its queue, lost a short while ago."""
        return (preemptor.key, holder.key) in self._jobs or (preemptor.queue, holder.key) in self._queues
