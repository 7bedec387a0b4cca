"""Errors as documents, with the status of the response."""

from __future__ import annotations

import logging

import msgspec
from aiohttp import web

from stromboli.console.access.attempts import TooManyAttempts
from stromboli.console.access.callers import NotLoggedIn, RequestRejected
from stromboli.console.access.sessions import LoginRefused
from stromboli.console.documents.base import ConsoleProblem
from stromboli.console.views.view import NotFound, NotPermitted
from stromboli.history.databases.database import HistoryError
from stromboli.serving.access import AccessUnavailable
from stromboli.visibility.limits import TooManyQuestions
from stromboli.visibility.process import AnswerFailed

_log = logging.getLogger("stromboli.console")


class NotReady(Exception):
    """The cluster is not known yet."""


class Unanswerable(Exception):
    """The question is valid, but has no answer; the message is for its author."""


#: Status, reason and seconds after which to try again, by the type of an error.
_PROBLEMS: tuple[tuple[type[Exception], int, str, int | None], ...] = (
    (NotLoggedIn, 401, "Unauthorized", None),
    (LoginRefused, 401, "Unauthorized", None),
    (RequestRejected, 403, "Forbidden", None),
    (NotPermitted, 403, "Forbidden", None),
    (NotFound, 404, "NotFound", None),
    (Unanswerable, 422, "Invalid", None),
    (TooManyAttempts, 429, "TooManyRequests", 5),
    (TooManyQuestions, 429, "TooManyRequests", 5),
    (NotReady, 503, "NotReady", 1),
    (AccessUnavailable, 503, "ServiceUnavailable", 5),
    (AnswerFailed, 503, "ServiceUnavailable", 5),
    (HistoryError, 503, "ServiceUnavailable", 5),
    (TimeoutError, 408, "RequestTimeout", None),
    (msgspec.DecodeError, 400, "BadRequest", None),
    (UnicodeDecodeError, 400, "BadRequest", None),
    (ValueError, 400, "BadRequest", None),
)


def problem_of(error: Exception) -> web.Response:
    """Return the response to a request that failed. Causes of internal errors are logged only."""
    if isinstance(error, web.HTTPException):
        return problem(error.status, error.reason.replace(" ", ""), error.text or error.reason)
    for kind, status, reason, retry_after in _PROBLEMS:
        if isinstance(error, kind):
            return problem(status, reason, str(error) or "the request did not arrive in time", retry_after)
    _log.error("request failed", exc_info=error)
    return problem(500, "InternalError", "internal error; the log of the console contains the cause")


def problem(status: int, reason: str, message: str, retry_after: int | None = None) -> web.Response:
    document = ConsoleProblem(code=status, reason=reason, message=message, retry_after=retry_after)
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return web.Response(
        status=status, body=msgspec.json.encode(document), content_type="application/json", headers=headers
    )
