"""The port to services that have a say in decisions and live outside of the process.

The core does not know how they are reached: whoever makes a program hands it somebody who does. Answers come or they do
not; there is no waiting without an end behind this port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

Document = Mapping[str, Any]


class ServiceError(Exception):
    """Somebody outside did not answer, or not in a way that could be understood; the message says which."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service: its address, how long one answer may take, and the files with certificates for it."""

    address: str
    seconds: float = 1.0
    authorities: str = ""
    certificate: str = ""
    key: str = ""


class ServiceClient(Protocol):
    """What is said to one service during one cycle."""

    def ask(self, verb: str, question: Document) -> Document:
        """The answer to a question. Raises NoAnswer."""
        ...


class ExternalServices(Protocol):
    """Somebody who can reach services."""

    def client_for(self, endpoint: Endpoint) -> ServiceClient:
        """Begin a conversation; nothing is sent yet."""
        ...

    def close(self) -> None:
        """Nobody will be asked any more."""
        ...


def checked_url(text: str) -> str:
    """An address that can be asked, without what stands behind a path. Raises ValueError that says what to write."""
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
