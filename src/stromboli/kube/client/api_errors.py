"""Errors of API requests, and whether a failed write may have been carried out."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import msgspec

from stromboli.kube.manifests.errors import printable


class RequestFailed(Exception):
    """A request without a successful response."""

    #: Whether the server may have carried out the request despite the error.
    outcome_unknown = False


class ApiError(RequestFailed):
    """An error response: status code, one-word reason and message."""

    def __init__(self, status: int, reason: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        #: The Retry-After of the server, in seconds.
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


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None


class _ApiStatus(msgspec.Struct, rename="camel"):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_ApiStatus)


def error_from(status: int, body: bytes | msgspec.Raw, retry_after: str | None = None) -> ApiError:
    """Convert an error response to an ApiError. The body may be anything, even no JSON."""
    try:
        found = _STATUS.decode(body)
    except (msgspec.DecodeError, ValueError):
        found = _ApiStatus(message=printable(bytes(body).decode("utf-8", "replace").strip()) or None)
    asked = found.details.retry_after_seconds if found.details else None
    return ApiError(
        status or found.code or 500,
        found.reason or "",
        found.message or "the server gave no reason",
        retry_after=_seconds(retry_after) if retry_after else asked,
    )


def _seconds(text: str) -> float | None:
    """Parse `Retry-After`: a number of seconds or a date."""
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
