"""Access to metrics and configuration by the authentication and authorisation of the API server, as in kube-scheduler.

A bearer token is reviewed with a TokenReview, and its user with a SubjectAccessReview. Results are cached for a short
time. A failed review denies access and is not cached. Tokens are neither stored nor logged.
"""

from __future__ import annotations

import asyncio
import enum
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from stromboli.kube.client.api_errors import RequestFailed

_TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SECONDS_TO_KEEP = 10.0
_SECONDS_TO_ANSWER = 5.0
_MAX_CACHED = 1000
_MAX_CONCURRENT = 16

K = TypeVar("K")
V = TypeVar("V")

_log = logging.getLogger("stromboli.access")


class Access(enum.Enum):
    """The result of the reviews."""

    ALLOWED = 200
    NOT_AUTHENTICATED = 401
    FORBIDDEN = 403


class AccessUnavailable(Exception):
    """A review failed, or too many are in progress."""


class ReviewClient(Protocol):
    """The part of a client that reviews need."""

    async def request(self, method: str, path: str, *, body: bytes, timeout: float) -> bytes: ...


class SharedAnswers(Generic[K, V]):
    """Results of reviews by question, for a short time. Equal questions share one review; a failed one is repeated."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[K, tuple[float, asyncio.Task[V]]] = OrderedDict()

    async def get(self, question: K, ask: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the result for a question, which is asked unless it is known."""
        until, task = self._answers.get(question, (0.0, None))
        if task is None or self._clock() >= until or _has_failed(task):
            task = asyncio.create_task(ask())
            self._store(question, task)
        return await asyncio.shield(task)

    def latest(self, question: K) -> V | None:
        """Return the latest result that is kept, however old; None without one."""
        _, task = self._answers.get(question, (0.0, None))
        return None if task is None or not task.done() or _has_failed(task) else task.result()

    def _store(self, question: K, task: asyncio.Task[V]) -> None:
        task.add_done_callback(_has_failed)
        self._answers[question] = (self._clock() + _SECONDS_TO_KEEP, task)
        self._answers.move_to_end(question)
        while len(self._answers) > _MAX_CACHED:
            self._answers.popitem(last=False)


class AccessReviewer:
    """Asks the API server. A limited number of reviews is made at a time."""

    def __init__(self, client: ReviewClient) -> None:
        self._client = client
        self._concurrent = asyncio.Semaphore(_MAX_CONCURRENT)

    async def authenticate(self, token: str) -> ReviewedUser | None:
        """Return the user of a token; None if it is not valid. Raises AccessUnavailable."""
        answer = await self._post(_TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        return answer.user if answer.authenticated else None

    async def authorize(self, spec: dict[str, Any]) -> bool:
        """Report whether a user may do what the spec of a SubjectAccessReview describes. Raises AccessUnavailable."""
        return (await self._post(_ACCESS_REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)).allowed

    async def _post(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> _ReviewStatus:
        if self._concurrent.locked():
            raise AccessUnavailable("too many reviews are in progress")
        body = msgspec.json.encode({"apiVersion": version, "kind": kind, "spec": spec})
        async with self._concurrent:
            try:
                answer = await self._client.request("POST", path, body=body, timeout=_SECONDS_TO_ANSWER)
                return msgspec.json.decode(answer, type=_ReviewAnswer).status
            except (RequestFailed, msgspec.DecodeError) as error:
                _log.warning("access review failed", extra={"kind": kind, "error": str(error)})
                raise AccessUnavailable("the API server did not review the access") from error


class AccessReviews:
    """Reviews of tokens and paths."""

    def __init__(self, client: ReviewClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviewer = AccessReviewer(client)
        self._answers: SharedAnswers[tuple[bytes, str], Access] = SharedAnswers(clock)

    async def review(self, token: str, path: str) -> Access:
        """Report whether the user of the token may get the path. Raises AccessUnavailable."""
        question = (hashlib.sha256(token.encode()).digest(), path)
        return await self._answers.get(question, lambda: self._reviewed(token, path))

    async def _reviewed(self, token: str, path: str) -> Access:
        user = await self._reviewer.authenticate(token)
        if user is None:
            return Access.NOT_AUTHENTICATED
        known = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
        spec = {key: value for key, value in known.items() if value}
        spec["nonResourceAttributes"] = {"path": path, "verb": "get"}
        return Access.ALLOWED if await self._reviewer.authorize(spec) else Access.FORBIDDEN


def _has_failed(task: asyncio.Task[Any]) -> bool:
    """Report whether a review ended with an error; retrieves it, because the callers may be gone."""
    return task.done() and (task.cancelled() or task.exception() is not None)


class ReviewedUser(msgspec.Struct):
    """The user of a token."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _ReviewStatus(msgspec.Struct):
    authenticated: bool = False
    allowed: bool = False
    user: ReviewedUser = msgspec.field(default_factory=ReviewedUser)


class _ReviewAnswer(msgspec.Struct):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)
