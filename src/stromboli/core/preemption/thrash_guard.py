"""Truce: whoever had to make room does not take it back at once.

Where rules would let two jobs evict each other in turn, both would lose their work for ever. For a while after one was
given the room of another, the other may not take from it: neither the job that lost it, nor, where queues got back
their share, any job of the queue that lost it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.model.jobs.eviction_history import MAX_HISTORY_AGE
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.values.durations import duration_or_nothing

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class Window(NamedTuple):
    """A duration as the configuration writes it, and in seconds."""

    text: str
    seconds: float


def _window(text: str) -> Window:
    seconds = duration_or_nothing(text)
    if seconds > MAX_HISTORY_AGE:
        raise ValueError(f"{text!r} is longer than an hour; who made room for whom is not remembered any longer")
    return Window(text, seconds)


class ThrashGuardArguments(Arguments):
    thrashing_window: Window = Argument(
        "thrashingWindow",
        "60s",
        "How long a job that preempted others is protected from their preemption, at most an hour; 0s for none.",
        parse=_window,
    )


class ThrashGuard:
    """Who may not take from whom in this cycle. False when there is nobody."""

    def __init__(self, session: Session, window: Window) -> None:
        self.window = window.text
        since = session.now - window.seconds
        recent = [taking for taking in session.snapshot.eviction_history if taking.at > since]
        self._jobs = {(taking.victim, taking.preemptor) for taking in recent}
        self._queues = {(taking.queue, taking.preemptor) for taking in recent if taking.queue}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def protects(self, holder: Job, preemptor: Job) -> bool:
        """Whether the holder of a room is safe from a claimant who lost it, itself or its queue, a short while ago."""
        return (preemptor.key, holder.key) in self._jobs or (preemptor.queue, holder.key) in self._queues
