"""Reviews of people by the API server: who a token belongs to, and what a person may do.

Results are cached for a short time, by the hash of the token; a failed review is not.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stromboli.serving.access import AccessReviewer, ReviewClient, SharedAnswers
from stromboli.visibility.questions import GROUP, VERSION, Question


@dataclass(frozen=True, slots=True)
class Person:
    """A user as the API server knows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())

    def as_spec(self) -> dict[str, Any]:
        """Return the user as a SubjectAccessReview names it."""
        extra = {key: list(values) for key, values in self.extra}
        known = {"user": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in known.items() if value}


class PersonReviews:
    """Raises AccessUnavailable if the API server does not answer."""

    def __init__(self, client: ReviewClient, clock: Callable[[], float] = time.monotonic) -> None:
        #: Reviews of unknown tokens, which every client may send, must not take the turns of those of people.
        self._unknown, self._accepted, self._reviewer = (AccessReviewer(client) for _ in range(3))
        self._people: SharedAnswers[bytes, Person | None] = SharedAnswers(clock)
        self._rights: SharedAnswers[tuple[Person, str, str, str, str], bool] = SharedAnswers(clock)

    async def person(self, token: str) -> Person | None:
        """Return the person with this token; None if the API server does not accept it."""
        reviewer = self._accepted if self.has_accepted(token) else self._unknown
        return await self._people.get(_hash(token), lambda: self._authenticate(token, reviewer))

    def has_accepted(self, token: str) -> bool:
        """Report whether the latest review of a token accepted it, as far as it is remembered."""
        return self._people.latest(_hash(token)) is not None

    async def may(self, person: Person, question: Question) -> bool:
        """Report whether the person may ask this."""
        right = (person, question.verb, question.namespace, question.resource, question.name)
        return await self._rights.get(right, lambda: self._authorize(person, question))

    async def _authenticate(self, token: str, reviewer: AccessReviewer) -> Person | None:
        user = await reviewer.authenticate(token)
        if user is None:
            return None
        extra = tuple((key, tuple(values)) for key, values in sorted(user.extra.items()))
        return Person(user.username, user.uid, tuple(user.groups), extra)

    async def _authorize(self, person: Person, question: Question) -> bool:
        resource, _, part = question.resource.partition("/")
        attributes = {
            "namespace": question.namespace, "verb": question.verb, "group": GROUP, "version": VERSION,
            "resource": resource, "subresource": part, "name": question.name,
        }  # fmt: skip
        present = {key: value for key, value in attributes.items() if value}
        return await self._reviewer.authorize({**person.as_spec(), "resourceAttributes": present})


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
