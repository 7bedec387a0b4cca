"""A client with a crash point before and after every write: whoever writes through it, plugins included, has them.

A point is called what the write is called, in the words of rights: `create pods/binding`, `patch bindrequests/status`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from stromboli.binding.process.crash_points import crash_point
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection

_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


class CrashPointClient(Client):
    """As any other client. `point` is told the name of every point that is passed."""

    def __init__(
        self,
        connection: Connection,
        *,
        qps: float = 0,
        burst: int = 0,
        may_write: Callable[[], bool] | None = None,
        point: Callable[[str], None] = crash_point,
    ) -> None:
        super().__init__(connection, qps=qps, burst=burst, may_write=may_write)
        self._point = point

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float | None = None,
    ) -> bytes:
        write = write_name(method, path)
        if write:
            self._point(f"before {write}")
        answer = await super().request(
            method, path, params=params, body=body, content_type=content_type, accept=accept, timeout=timeout
        )
        if write:
            self._point(f"after {write}")
        return answer


def write_name(method: str, path: str) -> str:
    """`create pods/binding`; empty for what only reads."""
    verb = _VERBS.get(method, "")
    return f"{verb} {_what(path)}" if verb else ""


@lru_cache(maxsize=4096)
def _what(path: str) -> str:
    """The resource, and the part of it, that a path stands for."""
    parts = path.strip("/").split("/")[2:]
    parts = parts[1:] if path.startswith("/apis/") else parts
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    return "/".join((parts[0], *parts[2:]))
