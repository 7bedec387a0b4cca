"""Errors from response bodies: a Status object of an API server, or any text of a proxy in between."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.manifests.errors import printable


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
