"""Recovery after a list or a watch failed: the delay, whether to list again, and the problem to report.

A single failure of a stable stream is the ordinary end of a connection and is retried at once. From the second failure
in a row on, delays grow. Problems that need intervention (a missing permission, a missing CRD) are reported at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum, auto

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.work.retry import RetryPolicy

STABLE_SECONDS = 1.0
"""The failure of a stream that lived this long does not count as one more in a row."""
MAX_WAITS = 3
MAX_CUT_LISTS = 2
_TOO_LARGE = "Too large resource version"
_BUSY = (429, 503, 504)


class Stage(Enum):
    """The stage of the reflector in which the failure occurred."""

    LISTING = auto()
    OPENING_STREAMED_LIST = auto()
    STREAMING_LIST = auto()
    WATCHING = auto()


class StaleListError(RequestFailed):
    """The server returned a list that is older than an object that is already known."""


@dataclass(frozen=True, slots=True)
class WatchRecovery:
    """The next steps after a failure."""

    delay: float = 0.0
    #: The watch cannot be resumed: list again.
    relist: bool = False
    #: The server cannot stream lists: list in pages.
    plain: bool = False
    #: The server does not serve the kind, and the kind is optional.
    absent: bool = False
    #: Access to an optional kind is denied: treat the kind as synced.
    enough: bool = False
    problem: str = ""


class WatchFailures:
    """Decides on the recovery from a failure by its error and by the failures before it."""

    def __init__(self, retry: RetryPolicy, *, optional: bool, probe_seconds: float) -> None:
        self._retry = retry
        self._optional = optional
        self._probe_seconds = probe_seconds
        self._in_a_row = 0
        self._cut_lists = 0

    def ended(self, live_seconds: float) -> float:
        """Return the delay after a watch that ended without an error."""
        self._count(live_seconds)
        return self._lenient_delay()

    def recover(self, error: RequestFailed, stage: Stage, live_seconds: float) -> WatchRecovery:
        self._count(live_seconds)
        if isinstance(error, ApiError):
            return self._recover_from_rejection(error, stage)
        if isinstance(error, Unreachable) and error.sent:
            return self._recover_from_cut(error, stage)
        return WatchRecovery(self._delay(), problem=str(error))

    def _recover_from_rejection(self, error: ApiError, stage: Stage) -> WatchRecovery:
        if _cannot_stream(error, stage):
            return WatchRecovery(relist=True, plain=True)
        if error.is_expired:
            return WatchRecovery(self._lenient_delay(), relist=True)
        if error.is_missing and self._optional:
            return self._recover_from_absence()
        if error.is_denied:
            return WatchRecovery(self._delay(), problem=str(error), enough=self._optional)
        if error.is_missing:
            return WatchRecovery(self._delay(), problem=f"{error}; is the CRD of this kind installed?")
        lost = _TOO_LARGE in error.message and self._in_a_row >= MAX_WAITS
        return WatchRecovery(self._delay(error), relist=lost, problem=str(error))

    def _recover_from_cut(self, error: Unreachable, stage: Stage) -> WatchRecovery:
        """A stream broke or fell silent. After several unfinished streamed lists, switch to pages."""
        self._cut_lists += stage is Stage.STREAMING_LIST
        plain = self._cut_lists >= MAX_CUT_LISTS
        return WatchRecovery(self._lenient_delay(), plain=plain, problem=str(error) if self._in_a_row > 1 else "")

    def _recover_from_absence(self) -> WatchRecovery:
        """The first 404 may come from a server that is starting; the second one counts."""
        if self._in_a_row < 2:
            return WatchRecovery(self._lenient_delay(), relist=True)
        jitter = random.uniform(0.8, 1.2)  # noqa: S311
        return WatchRecovery(jitter * self._probe_seconds, relist=True, absent=True)

    def _count(self, live_seconds: float) -> None:
        if live_seconds >= STABLE_SECONDS:
            self._in_a_row = 0
        self._in_a_row += 1

    def _delay(self, error: ApiError | None = None) -> float:
        return self._retry.delay(self._in_a_row, error)

    def _lenient_delay(self) -> float:
        """No delay after the first failure, growing delays afterwards."""
        return 0.0 if self._in_a_row == 1 else self._delay()


def _cannot_stream(error: ApiError, stage: Stage) -> bool:
    """Old servers reject the request; those whose storage cannot stream accept it and fail inside the stream."""
    if stage is Stage.OPENING_STREAMED_LIST:
        return error.is_invalid
    return stage is Stage.STREAMING_LIST and not error.is_expired and error.status not in _BUSY
