"""A client with a crash point before and after every write, also of plugins: tests kill the process there.

    STROMBOLI_CRASH_POINT="before create pods/binding#3" stromboli binder

kills the process, as a power failure would, the third time it reaches that point. Without the variable a point costs
one comparison. A point has the name of the write, in terms of RBAC: `create pods/binding`, `patch bindrequests/status`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from functools import lru_cache

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection

VARIABLE = "STROMBOLI_CRASH_POINT"

_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
_name, _, _times = os.environ.get(VARIABLE, "").partition("#")
_left = int(_times) if _times.isdecimal() else 1


def crash_point(name: str) -> None:
    """Kill the process if the variable names this point."""
    global _left
    if name != _name:
        return
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)


class CrashPointClient(Client):
    """`point` is called with the name of every point."""

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
        is_small: bool = False,
    ) -> bytes:
        write = write_name(method, path)
        if write:
            self._point(f"before {write}")
        answer = await super().request(
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            accept=accept,
            timeout=timeout,
            is_small=is_small,
        )
        if write:
            self._point(f"after {write}")
        return answer


def write_name(method: str, path: str) -> str:
    """Return the name of a write, such as `create pods/binding`; empty for a read."""
    verb = _VERBS.get(method, "")
    return f"{verb} {_what(path)}" if verb else ""


@lru_cache(maxsize=4096)
def _what(path: str) -> str:
    """Return the resource and subresource of a path."""
    parts = path.strip("/").split("/")[2:]
    parts = parts[1:] if path.startswith("/apis/") else parts
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    return "/".join((parts[0], *parts[2:]))
