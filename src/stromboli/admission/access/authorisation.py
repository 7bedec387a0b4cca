"""Authorisation of queue use by SubjectAccessReview.

Results are cached for a short time, because a gang of a thousand pods needs the same review a thousand times. A failed
review denies access unless configured otherwise, and is never cached.
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
from stromboli.admission.verdict import USE
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import QUEUES

_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MAX_CACHED = 10_000
_SECONDS_TO_ANSWER = 5.0

_log = logging.getLogger("stromboli.admission")


class AuthorisationUnavailable(Exception):
    """The access review failed; the message has the reason."""


@dataclass(frozen=True, slots=True)
class _AccessQuestion:
    """A user, with groups and extra attributes, and what is done with which queue."""

    user: bytes
    queue: str
    verb: str


class Authorisation:
    """Access reviews, cached for `ttl` seconds; equal reviews share one request."""

    def __init__(
        self,
        client: Client,
        ttl: float,
        clock: Callable[[], float] = time.monotonic,
        on_result: Callable[[str], None] = lambda result: None,
    ) -> None:
        """`on_result` is called after each review with `allowed`, `denied` or `error`."""
        self._client = client
        self._ttl = ttl
        self._clock = clock
        self._on_result = on_result
        self._answers: OrderedDict[_AccessQuestion, tuple[float, bool]] = OrderedDict()
        self._pending: dict[_AccessQuestion, asyncio.Task[bool]] = {}

    async def allows(self, user: User, queue: str, verb: str = USE) -> bool:
        """Report whether the user may use the queue, or act on it otherwise. Raises AuthorisationUnavailable."""
        question = _AccessQuestion(msgspec.json.encode(user, order="sorted"), queue, verb)
        until, answer = self._answers.get(question, (0.0, False))
        if self._clock() < until:
            return answer
        task = self._pending.get(question)
        if task is None:
            task = self._pending[question] = asyncio.create_task(self._ask(question, user))
            task.add_done_callback(lambda done: self._done(question, done))
        return await asyncio.shield(task)

    def _done(self, question: _AccessQuestion, task: asyncio.Task[bool]) -> None:
        """Retrieve the exception here too: the callers may be gone."""
        self._pending.pop(question, None)
        if not task.cancelled():
            task.exception()

    async def _ask(self, question: _AccessQuestion, user: User) -> bool:
        queue = question.queue
        body = msgspec.json.encode(access_review(user, queue, question.verb))
        try:
            answer = await self._client.request("POST", _PATH, body=body, timeout=_SECONDS_TO_ANSWER)
            allowed = msgspec.json.decode(answer, type=_AccessReview).status.allowed
        except (RequestFailed, msgspec.DecodeError) as error:
            self._on_result("error")
            _log.warning("access review failed", extra={"user": user.username, "queue": queue, "error": str(error)})
            raise AuthorisationUnavailable(str(error)) from error
        self._on_result("allowed" if allowed else "denied")
        self._store(question, allowed)
        return allowed

    def _store(self, question: _AccessQuestion, allowed: bool) -> None:
        self._answers[question] = (self._clock() + self._ttl, allowed)
        self._answers.move_to_end(question)
        while len(self._answers) > _MAX_CACHED:
            self._answers.popitem(last=False)


class _AccessReviewStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessReviewStatus = msgspec.field(default_factory=_AccessReviewStatus)


def access_review(user: User, queue: str, verb: str = USE) -> dict[str, Any]:
    """The SubjectAccessReview of a user and a queue."""
    attributes = {"group": QUEUES.group, "resource": QUEUES.plural, "verb": verb, "name": queue}
    known = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    spec = {"resourceAttributes": attributes, **{key: value for key, value in known.items() if value}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
