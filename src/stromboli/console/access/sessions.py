"""Sessions: a random identifier in a cookie stands for a token, which is reviewed again and again.

A session ends with its token, after some hours, or when its person logs out. The token is in memory only.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stromboli.console.access.attempts import TokenRejected
from stromboli.visibility.reviews import Person, PersonReviews

SESSION_SECONDS = 12 * 3600.0
_MAX_SESSIONS = 1_000
_MAX_PER_PERSON = 20


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """A login. `csrf` must be in a header of requests that are not GET."""

    identifier: str
    token: str
    person: Person
    csrf: str
    #: Seconds since the epoch.
    expires: float


class LoginRefused(TokenRejected):
    """The token or the code is not valid."""


class ConsoleSessions:
    """`codes` are tokens by the code of a printed link. Raises AccessUnavailable if the API server does not answer."""

    def __init__(
        self, reviews: PersonReviews, codes: Mapping[str, str], clock: Callable[[], float] = time.time
    ) -> None:
        self._reviews, self._codes, self._clock = reviews, codes, clock
        self._sessions: OrderedDict[str, ConsoleSession] = OrderedDict()

    async def start(self, token: str, code: str) -> ConsoleSession:
        """Log in with a token or a code. Raises LoginRefused."""
        token = token.strip() or self._token_of(code)
        if not token or (person := await self._reviews.person(token)) is None:
            raise LoginRefused("the API server does not accept the token" if token else "the code is not valid")
        session = ConsoleSession(
            secrets.token_urlsafe(32), token, person, secrets.token_urlsafe(24), self._clock() + SESSION_SECONDS
        )
        own = [each.identifier for each in self._sessions.values() if each.person == person]
        for identifier in own[: max(len(own) + 1 - _MAX_PER_PERSON, 0)]:
            del self._sessions[identifier]
        self._sessions[session.identifier] = session
        while len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    async def find(self, identifier: str) -> ConsoleSession | None:
        """Return a session that has not ended, and whose token the API server still accepts."""
        session = self._sessions.get(identifier)
        if session is None:
            return None
        if self._clock() < session.expires and await self._reviews.person(session.token) == session.person:
            return session
        self.end(identifier)
        return None

    def end(self, identifier: str) -> None:
        self._sessions.pop(identifier, None)

    def _token_of(self, code: str) -> str:
        """Compare with every code in constant time."""
        found = [token for known, token in self._codes.items() if hmac.compare_digest(known.encode(), code.encode())]
        return found[0] if found else ""
