"""A check of leadership immediately before a write is sent.

Time passes between the decision to write and the write: a connection is opened, or the process is suspended. The
request body therefore repeats the check when it is about to be sent; the headers wait for it, and nothing is sent if
the check fails.
"""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractStreamWriter


class WriteDenied(aiohttp.ClientError):
    """The write was not sent."""


class GuardedPayload(aiohttp.BytesPayload):
    """A request body that is sent only if `may_write` still returns true."""

    def __init__(self, body: bytes, may_write: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_write = may_write

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_write():
            raise WriteDenied
        await super().write_with_length(writer, content_length)


def was_denied_locally(error: BaseException) -> bool:
    """Report whether a request failed for this reason; aiohttp wraps errors raised while a body is sent."""
    return isinstance(error, WriteDenied) or isinstance(error.__cause__, WriteDenied)
