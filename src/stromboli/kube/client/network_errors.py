"""Errors of the network as Unreachable: whether the request was sent, and a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from stromboli.kube.client.api_errors import Unreachable
from stromboli.kube.client.connection_pool import NotSent, cause
from stromboli.kube.client.lines import LineTooLong

_NOT_SENT = (NotSent, aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


class DeniedInBody(aiohttp.ClientError):
    """The write was not sent."""


class GuardedPayload(aiohttp.BytesPayload):
    """A request body that is sent only if `may_write` still returns true."""

    def __init__(self, body: bytes, may_write: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_write = may_write

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_write():
            raise DeniedInBody
        await super().write_with_length(writer, content_length)


def was_denied_locally(error: BaseException) -> bool:
    """Report whether a request failed for this reason; aiohttp wraps errors raised while a body is sent."""
    return isinstance(error, DeniedInBody) or isinstance(error.__cause__, DeniedInBody)


@contextmanager
def converted_errors(method: str, path: str) -> Iterator[None]:
    """Convert network errors to Unreachable."""
    try:
        yield
    except (aiohttp.ClientError, OSError, TimeoutError, LineTooLong) as error:
        sent = not isinstance(error, _NOT_SENT) and not was_denied_locally(error)
        raise Unreachable(f"{method} {path}: {_describe(error)}", sent=sent) from error


def _describe(error: Exception) -> str:
    if was_denied_locally(error):
        return "not the leader any more"
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        return f"cannot connect to {error.host}:{error.port}: {cause(error.os_error)}"
    return str(error) or type(error).__name__
