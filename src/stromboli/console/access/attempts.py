"""How often one address may offer tokens that the API server does not accept: each costs it a review."""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from aiohttp import web

#: Tokens that one address may offer in vain at once, and the seconds after which one of them is forgotten.
_BURST, _SECONDS = 60, 1.0
_MAX_ADDRESSES = 2_000
#: A network of IPv6 that one client has for itself.
_PREFIX = 64


class TokenRejected(Exception):
    """What was offered proves nothing."""


class TooManyAttempts(Exception):
    """The address has offered too many wrong tokens."""


class LoginAttempts:
    """Counts the attempts of each address that are in progress or have failed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: Attempts that count, and when they were counted.
        self._counts: OrderedDict[str, tuple[float, float]] = OrderedDict()

    @contextlib.contextmanager
    def attempt(self, address: str) -> Iterator[None]:
        """Count an attempt, unless it succeeds or is not judged. Raises TooManyAttempts."""
        if self._count(address) > _BURST - 1:
            raise TooManyAttempts("this address has offered too many wrong tokens; wait, and log in with a valid one")
        self._add(address, 1)
        try:
            yield
        except TokenRejected:
            raise
        except BaseException:
            self._add(address, -1)
            raise
        self._add(address, -1)

    def _count(self, address: str) -> float:
        count, counted = self._counts.get(address, (0.0, 0.0))
        return max(0.0, count - (self._clock() - counted) / _SECONDS)

    def _add(self, address: str, number: int) -> None:
        self._counts[address] = max(0.0, self._count(address) + number), self._clock()
        self._counts.move_to_end(address)
        while len(self._counts) > _MAX_ADDRESSES:
            self._counts.popitem(last=False)


def address_of(request: web.BaseRequest) -> str:
    """Return the address of a client, or its network; empty if it is gone."""
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    text = str(peer[0]).partition("%")[0] if peer else ""
    if ":" not in text:
        return text
    address = ipaddress.IPv6Address(text)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _PREFIX), strict=False))
