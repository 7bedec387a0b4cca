"""Who asks: the person of a session, of a bearer token, or of a header of a trusted proxy.

Browsers add cookies, and proxies add names, to requests that other sites cause. Such requests are therefore rejected
unless they have the CSRF value, which other sites cannot read. A bearer token is added by its owner alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from stromboli.console.access.attempts import LoginAttempts, TokenRejected, address_of
from stromboli.console.access.sessions import ConsoleSession, ConsoleSessions
from stromboli.visibility.reviews import Person, PersonReviews

CSRF_HEADER = "X-Stromboli-Csrf"
_READS = ("GET", "HEAD")
#: A directory of people must not name users and groups of Kubernetes itself, such as system:masters.
_RESERVED = "system:"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NotLoggedIn(TokenRejected):
    """Nothing proves who asks."""


class RequestRejected(Exception):
    """The request may come from another site."""


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Proxies that name the people who ask: the headers of other clients count for nothing."""

    networks: Sequence[Network] = ()
    user_header: str = "X-Forwarded-User"
    #: A header with groups, separated by commas; it may be repeated.
    group_header: str = "X-Forwarded-Groups"

    def person(self, request: web.BaseRequest) -> Person | None:
        """Return the person in the headers of a trusted proxy; None without one."""
        names = request.headers.getall(self.user_header, [])
        if not self.networks or not self._is_trusted(request) or not names:
            return None
        if len(names) > 1 or not names[0].strip():
            raise NotLoggedIn(f"the proxy sends {len(names)} values of {self.user_header}; it must send one")
        if names[0].strip().startswith(_RESERVED):
            raise NotLoggedIn(f"the proxy sends a user that begins with {_RESERVED}; these are Kubernetes' own")
        groups = (each.strip() for value in request.headers.getall(self.group_header, ()) for each in value.split(","))
        own = (each for each in groups if each and not each.startswith(_RESERVED))
        return Person(names[0].strip(), groups=(*own, "system:authenticated"))

    def _is_trusted(self, request: web.BaseRequest) -> bool:
        peer = request.transport.get_extra_info("peername") if request.transport is not None else None
        if not peer:
            return False
        address = ipaddress.ip_address(str(peer[0]).partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class ConsoleCaller:
    """A person with what proves it."""

    person: Person
    #: The value that requests other than reads need; empty if they need none.
    csrf: str = ""
    session: ConsoleSession | None = None


@dataclass(slots=True)
class ConsoleCallers:
    """Identifies people. `cookie` is the name of the cookie of sessions, which depends on the address."""

    sessions: ConsoleSessions
    reviews: PersonReviews
    proxies: TrustedProxies
    cookie: str
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    async def caller(self, request: web.BaseRequest) -> ConsoleCaller:
        """Return who asks. Raises NotLoggedIn, RequestRejected, TooManyAttempts, AccessUnavailable."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return ConsoleCaller(await self._of_token(request, token.strip()))
        found = await self._ambient(request)
        if request.method not in _READS:
            check_origin(request)
            if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), found.csrf.encode()):
                raise RequestRejected(f"the header {CSRF_HEADER} must have the value of the session")
        return found

    async def _of_token(self, request: web.BaseRequest, token: str) -> Person:
        """Return the person of a token. Tokens that were accepted before are no attempts."""
        is_known = self.reviews.has_accepted(token)
        with contextlib.nullcontext() if is_known else self.attempts.attempt(address_of(request)):
            person = await self.reviews.person(token)
            if person is None:
                raise NotLoggedIn("the API server does not accept the token")
            return person

    async def _ambient(self, request: web.BaseRequest) -> ConsoleCaller:
        """Return the caller by what a browser sends by itself."""
        forwarded = self.proxies.person(request)
        if forwarded is not None:
            return ConsoleCaller(forwarded, self._csrf_of(forwarded))
        identifier = request.cookies.get(self.cookie, "")
        session = await self.sessions.find(identifier) if identifier else None
        if session is None:
            raise NotLoggedIn("log in, or send a bearer token")
        return ConsoleCaller(session.person, session.csrf, session)

    def _csrf_of(self, person: Person) -> str:
        return hmac.new(self._secret, repr(person).encode(), hashlib.sha256).hexdigest()


def check_origin(request: web.BaseRequest) -> None:
    """Reject a request that a browser sends for another site. Other clients send neither header."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise RequestRejected("requests of other sites are rejected")
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
        message = f"Origin {origin[:80]!r} differs from Host {request.host[:80]!r}; a proxy must pass on Host"
        raise RequestRejected(f"requests of other sites are rejected: {message}")
