"""The interface to external services that take part in decisions.

The core does not depend on the transport: the caller passes an implementation to the program. Every call returns or
fails within its timeout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

Document = Mapping[str, Any]


class ServiceError(Exception):
    """An external service failed or returned an invalid response; the message names it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service: its address, the timeout of a call, and the files with its certificates."""

    address: str
    seconds: float = 1.0
    authorities: str = ""
    certificate: str = ""
    key: str = ""


class ServiceClient(Protocol):
    """The calls to one service during one cycle."""

    def ask(self, verb: str, question: Document) -> Document:
        """Return the response to a request. Raises ServiceError."""
        ...


class ExternalServices(Protocol):
    """Connects to services."""

    def client_for(self, endpoint: Endpoint) -> ServiceClient:
        """Return a client for a cycle; nothing is sent yet."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


def checked_url(text: str) -> str:
    """Return a valid URL without a trailing slash. Raises ValueError with the expected form."""
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or not text.isprintable() or " " in text:
        raise ValueError(f"{text[:80]!r} is no address; write one such as https://prometheus.monitoring:9090")
    if parts.username or parts.password:
        raise ValueError("an address has no user and no password in it")
    return text.rstrip("/")
