"""Errors of API requests, and whether a failed write may have been carried out."""

from __future__ import annotations


class RequestFailed(Exception):
    """A request without a successful response."""

    #: Whether the server may have carried out the request nevertheless.
    outcome_unknown = False


class ApiError(RequestFailed):
    """An error response: status code, one-word reason and message."""

    def __init__(self, status: int, reason: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        #: The delay that the server asks for before a retry, in seconds.
        self.retry_after = retry_after

    @property
    def outcome_unknown(self) -> bool:  # type: ignore[override]
        """A gateway error or a time-out inside the server leaves the outcome of a write unknown."""
        return self.status >= 500

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_missing(self) -> bool:
        return self.status == 404

    @property
    def is_expired(self) -> bool:
        """The requested resource version is no longer in the history: list again."""
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
    """No response: connection refused, timed out, cut off, or not a response of an API server.

    `sent` is true if the request may have reached the server; its outcome is then unknown.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent

    @property
    def outcome_unknown(self) -> bool:  # type: ignore[override]
        return self.sent
