"""What to do when a list or a watch fails: how long to wait, whether to begin anew, and what to tell people.

One failure after a quiet time is the ordinary end of a connection, and is answered at once. From the second in a row
on, waits grow. What people must put right (a missing permission, a kind that is not installed) is said at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.backoff import Backoff

STABLE_SECONDS = 1.0
"""A stream that lived this long was a success; what ends it is not one more failure in a row."""
MAX_WAITS = 3
MAX_CUT_LISTS = 2
_TOO_LARGE = "Too large resource version"
_BUSY = (429, 503, 504)


class Stage(Enum):
    """How far it had come."""

    LISTING = auto()
    OPENING_STREAMED_LIST = auto()
    STREAMING_LIST = auto()
    WATCHING = auto()


class StaleListError(RequestFailed):
    """The server answered with a list from before something that we already know."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do next."""

    delay: float = 0.0
    #: What we know cannot be taken up again: begin with a list.
    relist: bool = False
    #: The server cannot send a list as a stream: ask for pages.
    plain: bool = False
    #: The server does not have the kind, and that is all right.
    absent: bool = False
    #: There is nothing to wait for: what is known is all that can be known.
    enough: bool = False
    problem: str = ""


class Setbacks:
    """Judges failures by themselves and by how many came before."""

    def __init__(self, backoff: Backoff, *, optional: bool, probe_seconds: float) -> None:
        self._backoff = backoff
        self._optional = optional
        self._probe_seconds = probe_seconds
        self._in_a_row = 0
        self._cut_lists = 0

    def ended(self, lived: float) -> float:
        """A watch ended as watches do: how long to wait before the next."""
        self._count(lived)
        return self._delay()

    def judge(self, error: RequestFailed, stage: Stage, lived: float) -> Verdict:
        self._count(lived)
        if isinstance(error, ApiError):
            return self._judge_refusal(error, stage)
        if isinstance(error, Unreachable) and error.sent:
            return self._judge_cut(error, stage)
        return Verdict(self._backoff.next(), problem=str(error))

    def _judge_refusal(self, error: ApiError, stage: Stage) -> Verdict:
        if _cannot_stream(error, stage):
            return Verdict(relist=True, plain=True)
        if error.is_expired:
            return Verdict(self._delay(), relist=True)
        if error.is_missing and self._optional:
            return self._judge_absence(error)
        if error.is_denied:
            return Verdict(self._backoff.next(), problem=str(error), enough=self._optional)
        if error.is_missing:
            return Verdict(self._backoff.next(), problem=f"{error}; is the definition of this kind installed?")
        lost = _TOO_LARGE in error.message and self._in_a_row >= MAX_WAITS
        return Verdict(self._backoff.next(error.retry_after), relist=lost, problem=str(error))

    def _judge_cut(self, error: Unreachable, stage: Stage) -> Verdict:
        """A stream that broke off, or fell silent. A list that never ends may be one that the server does not mean."""
        self._cut_lists += stage is Stage.STREAMING_LIST
        plain = self._cut_lists >= MAX_CUT_LISTS
        return Verdict(self._delay(), plain=plain, problem=str(error) if self._in_a_row > 1 else "")

    def _judge_absence(self, error: ApiError) -> Verdict:
        """Once may be an accident of a server that is starting; twice is an answer."""
        if self._in_a_row < 2:
            return Verdict(self._delay(), relist=True)
        return Verdict(self._backoff.chance.uniform(0.8, 1.2) * self._probe_seconds, relist=True, absent=True)

    def _count(self, lived: float) -> None:
        if lived >= STABLE_SECONDS:
            self._in_a_row = 0
            self._backoff.reset()
        self._in_a_row += 1

    def _delay(self) -> float:
        """At once the first time, then ever later."""
        delay = self._backoff.next()
        return 0.0 if self._in_a_row == 1 else delay


def _cannot_stream(error: ApiError, stage: Stage) -> bool:
    """Old servers refuse the request; those whose storage cannot do it accept, and then say so inside the stream."""
    if stage is Stage.OPENING_STREAMED_LIST:
        return error.is_invalid
    return stage is Stage.STREAMING_LIST and not error.is_expired and error.status not in _BUSY
