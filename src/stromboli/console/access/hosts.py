"""Names under which the console may be asked.

A page of another site can make a browser resolve its own name to the address of the console (DNS rebinding), and then
read what the console answers. Requests for names that were not configured are therefore rejected. Addresses need no
resolution, so they are always allowed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from stromboli.serving.address import Address


class AllowedHosts:
    """The names of `address`, of this machine, and further ones."""

    def __init__(self, address: Address, further: Collection[str] = ()) -> None:
        own = ("localhost",) if address.is_loopback else ("localhost", socket.gethostname())
        self._names = frozenset(each.lower() for each in (*own, address.host or "", *further) if each)

    def allows(self, host: str) -> bool:
        """Report whether the header `Host` of a request has an allowed name."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
