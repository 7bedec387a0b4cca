"""Whether somebody may use a queue: the API server is asked, as it would ask itself (SubjectAccessReview).

An answer is remembered for a while, because a gang of a thousand pods asks the same a thousand times. No answer is no
permission, unless the administrator has chosen otherwise; it is never remembered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.admission.requests import User
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES

VERB = "use"
_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MAX_CACHED = 10_000
_SECONDS_TO_ANSWER = 5.0

_log = logging.getLogger("stromboli.admission")


class AuthorisationUnavailable(Exception):
    """Nobody knows whether it is allowed; the message says why."""


@dataclass(frozen=True, slots=True)
class _AccessQuestion:
    """Who wants to use what. Groups and the like have a say in what people may do."""

    user: bytes
    queue: str


class Authorisation:
    """Asks the server, and remembers what it said for `ttl` seconds; each question is asked once at a time."""

    def __init__(
        self,
        client: Client,
        ttl: float,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[str], None] = lambda result: None,
    ) -> None:
        """`told` hears how each question to the server ended: `allowed`, `denied` or `unanswered`."""
        self._client = client
        self._ttl = ttl
        self._clock = clock
        self._told = told
        self._answers: OrderedDict[_AccessQuestion, tuple[float, bool]] = OrderedDict()
        self._pending: dict[_AccessQuestion, asyncio.Task[bool]] = {}

    async def may_use(self, user: User, queue: str) -> bool:
        """Raises Unanswered."""
        asked = _AccessQuestion(msgspec.json.encode(user, order="sorted"), queue)
        until, answer = self._answers.get(asked, (0.0, False))
        if self._clock() < until:
            return answer
        task = self._pending.get(asked)
        if task is None:
            task = self._pending[asked] = asyncio.create_task(self._ask(asked, user, queue))
            task.add_done_callback(lambda done: self._done(asked, done))
        return await asyncio.shield(task)

    def _done(self, asked: _AccessQuestion, task: asyncio.Task[bool]) -> None:
        """Whoever asked may be gone by now, so that what went wrong is looked at here as well."""
        self._pending.pop(asked, None)
        if not task.cancelled():
            task.exception()

    async def _ask(self, asked: _AccessQuestion, user: User, queue: str) -> bool:
        body = msgspec.json.encode(access_review(user, queue))
        try:
            answer = await self._client.request("POST", _PATH, body=body, timeout=_SECONDS_TO_ANSWER)
            allowed = msgspec.json.decode(answer, type=_AccessReview).status.allowed
        except (RequestFailed, msgspec.DecodeError) as error:
            self._told("unanswered")
            _log.warning("nobody says whether %s may use queue %s: %s", user.username, queue, error)
            raise AuthorisationUnavailable(str(error)) from error
        self._told("allowed" if allowed else "denied")
        self._remember(asked, allowed)
        return allowed

    def _remember(self, asked: _AccessQuestion, allowed: bool) -> None:
        self._answers[asked] = (self._clock() + self._ttl, allowed)
        self._answers.move_to_end(asked)
        while len(self._answers) > _MAX_CACHED:
            self._answers.popitem(last=False)


class _AccessReviewStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessReviewStatus = msgspec.field(default_factory=_AccessReviewStatus)


def access_review(user: User, queue: str) -> dict[str, Any]:
    """The question as the API server understands it."""
    attributes = {"group": QUEUES.group, "resource": QUEUES.plural, "verb": VERB, "name": queue}
    known = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    spec = {"resourceAttributes": attributes, **{key: value for key, value in known.items() if value}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
