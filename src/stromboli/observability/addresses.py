"""Addresses to listen on, as Volcano's flags write them: `:8080`, `127.0.0.1:8080`, `[::1]:8080`."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    #: None for all interfaces.
    host: str | None
    port: int

    def __str__(self) -> str:
        host = self.host or ""
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Raises ValueError with what is wrong. Without a host, all interfaces are meant; port 0 is any free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > MAX_PORT:
        raise ValueError(f"{text!r} is not an address to listen on; write one like :8080 or 127.0.0.1:8080")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} is not an address to listen on; put [ and ] around {host}")
    return Address(host or None, int(port))
