"""A write that is asked for its permission at the last moment.

Much can happen between the decision to write and the writing: a connection has to be opened, or the process is stopped
for a while. So the body itself asks when its turn has come; headers wait for it, and nothing is sent if it may not be.
"""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractStreamWriter


class WriteDenied(aiohttp.ClientError):
    """Nothing was sent."""


class GuardedPayload(aiohttp.BytesPayload):
    """The body of a request that is sent only if `may_write` says so then."""

    def __init__(self, body: bytes, may_write: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_write = may_write

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_write():
            raise WriteDenied
        await super().write_with_length(writer, content_length)


def was_denied_locally(error: BaseException) -> bool:
    """Whether this is why a request failed; aiohttp wraps what happens while it sends a body."""
    return isinstance(error, WriteDenied) or isinstance(error.__cause__, WriteDenied)
