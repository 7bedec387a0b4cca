"""What an API server answers when it does not do what it was asked, and what it means that it did not answer."""

from __future__ import annotations


class RequestFailed(Exception):
    """A request that was not answered with success."""

    #: Whether the server may have done what it was asked all the same.
    outcome_unknown = False


class ApiError(RequestFailed):
    """The server said no: its status code, the reason in one word, and a message for people."""

    def __init__(self, status: int, reason: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        #: How long the server asks to be left alone, in seconds.
        self.retry_after = retry_after

    @property
    def outcome_unknown(self) -> bool:  # type: ignore[override]
        """A gateway or a time-out inside the server does not say what became of the write."""
        return self.status >= 500

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_missing(self) -> bool:
        return self.status == 404

    @property
    def is_expired(self) -> bool:
        """The history that was asked for is no longer there: list again."""
        return self.status == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_invalid(self) -> bool:
        return self.status in (400, 413, 415, 422)

    @property
    def is_denied(self) -> bool:
        return self.status in (401, 403)

    @property
    def is_throttled(self) -> bool:
        return self.status == 429


class Unreachable(RequestFailed):
    """No answer: refused, timed out, cut off, or something that is no answer of an API server.

    `sent` tells whether the request may have reached the server; if so, nobody knows what became of it.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent

    @property
    def outcome_unknown(self) -> bool:  # type: ignore[override]
        return self.sent
