"""Addresses to listen on."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    #: None for all interfaces.
    host: str | None
    port: int

    def __str__(self) -> str:
        host = self.host or ""
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Report whether only clients of the same machine reach it; a name other than localhost may be any address."""
        try:
            return ipaddress.ip_address(self.host or "").is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_address(text: str) -> Address:
    """Parse an address as Volcano's flags write it: `:8080`, `127.0.0.1:8080`, `[::1]:8080`. Port 0 is any free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > MAX_PORT:
        raise ValueError(f"{text!r} is not an address to listen on; write one like :8080 or 127.0.0.1:8080")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} is not an address to listen on; put [ and ] around {host}")
    return Address(host or None, int(port))


def is_loopback_url(url: str) -> bool:
    """Report whether a URL is one of this machine."""
    return Address(urlsplit(url).hostname, 0).is_loopback


class ListenError(RuntimeError):
    """An address cannot be listened on."""
