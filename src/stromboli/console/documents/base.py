"""The base of wire types."""

from __future__ import annotations

import msgspec


class ConsoleDocument(msgspec.Struct, rename="camel", kw_only=True):
    """A JSON object with camel-case names."""


class ConsoleProblem(ConsoleDocument):
    """Why a request was not answered."""

    code: int
    reason: str
    message: str
    #: Seconds after which it may succeed.
    retry_after: int | None = None


class HiddenCount(ConsoleDocument):
    """Jobs of namespaces that the person may not read, as numbers only."""

    waiting: int = 0
    running: int = 0
    completed: int = 0
