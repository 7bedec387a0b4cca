"""Paths, discovery documents and responses of the aggregated API."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from stromboli.serving.access import AccessUnavailable
from stromboli.visibility.callers import Callers, UnknownCaller
from stromboli.visibility.limits import TooManyQuestions
from stromboli.visibility.process import AnswerFailed, NotLeading
from stromboli.visibility.questions import (
    API_VERSION,
    CYCLES,
    GROUP,
    RESOURCES,
    ROOT,
    VERSION,
    Question,
    VisibilityAnswer,
    question_of,
)
from stromboli.visibility.reviews import Person, PersonReviews

MAX_BODY = 8 << 20
"""The size of the objects of a question: a job of some thousand pods."""
_RETRY_SECONDS = 5
_KNOWN = {resource.name: resource for resource in RESOURCES}
_OF_NAMESPACE = f"{ROOT}/namespaces/{{namespace}}/{{resource}}"

_log = logging.getLogger("stromboli.visibility")

ReadBody = Callable[[], Awaitable[bytes]]
AskQuestion = Callable[[str, Question, ReadBody | None], Awaitable[VisibilityAnswer]]
"""Answers a question of the person of this name, whose objects are read when it is its turn. Raises TooManyQuestions,
AnswerFailed, OSError, ValueError.
"""
ReadCycles = Callable[[Mapping[str, str]], bytes]
"""Returns recorded cycles as JSON, for the parameters of a request. Raises NotLeading, ValueError."""
Responder = Callable[[web.Request], Awaitable[web.Response]]


class VisibilityApi:
    def __init__(self, callers: Callers, reviews: PersonReviews, ask: AskQuestion, cycles: ReadCycles) -> None:
        self._callers, self._reviews, self._ask, self._cycles = callers, reviews, ask, cycles

    def application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY)
        application.on_response_prepare.append(self._close_stranger)
        router = application.router
        for path, document in _discovery().items():
            router.add_get(path, _serving(document))
        for path in (_OF_NAMESPACE, f"{_OF_NAMESPACE}/{{name}}", f"{_OF_NAMESPACE}/{{name}}/{{part}}"):
            router.add_route("*", path, self._handling(self._answered))
        router.add_get(f"{ROOT}/{CYCLES.name}", self._handling(self._recorded))
        return application

    async def _close_stranger(self, request: web.Request, response: web.StreamResponse) -> None:
        """Only the API server keeps its connections: others could keep all that are allowed."""
        if not self._callers.is_proxy(request):
            response.force_close()
            response.headers["Connection"] = "close"  # they are written already

    def _handling(self, respond: Responder) -> Responder:
        async def handle(request: web.Request) -> web.Response:
            return await self._handle(request, respond)

        return handle

    async def _handle(self, request: web.Request, respond: Responder) -> web.Response:
        """Every failure is a Status, as API servers return it."""
        try:
            return await respond(request)
        except UnknownCaller as error:
            return failure(401, "Unauthorized", str(error))
        except web.HTTPRequestEntityTooLarge:
            return failure(413, "RequestEntityTooLarge", f"the objects of a question may have {MAX_BODY >> 20} MiB")
        except (ValueError, msgspec.DecodeError) as error:
            return failure(400, "BadRequest", str(error))
        except TooManyQuestions as error:
            return failure(429, "TooManyRequests", str(error), retry_after=_RETRY_SECONDS)
        except NotLeading as error:
            return failure(503, "ServiceUnavailable", str(error), retry_after=0)
        except (AnswerFailed, AccessUnavailable, OSError, TimeoutError) as error:
            _log.warning("question not answered", extra={"path": request.path, "error": str(error)})
            return failure(
                503, "ServiceUnavailable", str(error) or "the scheduler does not answer", retry_after=_RETRY_SECONDS
            )

    async def _answered(self, request: web.Request) -> web.Response:
        question = _question(request)
        if not _is_known(question):
            return failure(404, "NotFound", f"{API_VERSION} has no {question.verb} of {question.resource}")
        person = await self._callers.person(request)
        if not await self._reviews.may(person, question):
            return failure(403, "Forbidden", _refusal(person, question, "the role stromboli-user has this right"))
        began = time.monotonic()
        answer = await self._ask(person.name, question, request.read if question.objects is not None else None)
        facts = {"user": person.name, "namespace": question.namespace, "resource": question.resource}
        _log.info("question answered", extra={**facts, "seconds": round(time.monotonic() - began, 3)})
        if answer.problem is not None:
            return failure(422, "Invalid", answer.problem)
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _recorded(self, request: web.Request) -> web.Response:
        """Cycles name jobs of all namespaces, so their reader needs a right for all of them."""
        question = Question(CYCLES.name, "")
        person = await self._callers.person(request)
        if not await self._reviews.may(person, question):
            return failure(403, "Forbidden", _refusal(person, question, "the account of the console has this right"))
        return web.Response(body=self._cycles(request.query), content_type="application/json")


def _question(request: web.Request) -> Question:
    """Return the question of a request; its objects are read when it is answered. Raises ValueError."""
    objects: list[dict[str, Any]] | None = [] if request.method == "POST" else None
    if objects is None and request.method != "GET":
        raise ValueError(f"{request.method} is not a question; use GET, or POST with objects")
    return question_of(dict(request.match_info), dict(request.query), objects)


class _Body(msgspec.Struct):
    """A List, or an object without `items`."""

    kind: str = ""
    items: msgspec.Raw = msgspec.Raw(b"[]")


def objects_of(body: bytes) -> msgspec.Raw:
    """Return the objects of a List, or a single one, as JSON: only the answering process decodes them. Raises
    ValueError.
    """
    try:
        document = msgspec.json.decode(body, type=_Body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"the body is not a JSON object: {error}") from error
    if not document.kind.endswith("List"):
        return msgspec.Raw(b"[" + body + b"]")
    if not bytes(document.items).startswith(b"["):
        raise ValueError("the body is neither an object nor a List of objects")
    return document.items


def _is_known(question: Question) -> bool:
    resource = _KNOWN.get(question.resource)
    return (
        resource is not None
        and question.verb in resource.verbs
        and not (question.objects is not None and question.name)
    )


def _refusal(person: Person, question: Question, remedy: str) -> str:
    where = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    return (
        f'User "{person.name}" cannot {question.verb} resource "{question.resource}" in API group "{GROUP}" {where}; '
        f"{remedy}"
    )


def failure(code: int, reason: str, message: str, *, retry_after: int | None = None) -> web.Response:
    """Return a Status. A client that should ask again gets a new connection, perhaps to another replica."""
    status = {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code,
    }  # fmt: skip
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    response = web.Response(
        status=code, body=msgspec.json.encode(status), content_type="application/json", headers=headers
    )
    if retry_after is not None:
        response.force_close()
    return response


def _serving(document: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Discovery is the same for all, and has no secrets."""
    body = msgspec.json.encode(document)

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    return get


def _discovery() -> dict[str, dict[str, Any]]:
    version = {"groupVersion": API_VERSION, "version": VERSION}
    group = {"name": GROUP, "versions": [version], "preferredVersion": version}
    resources = [
        {
            "name": resource.name, "singularName": "", "namespaced": resource.is_namespaced, "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        for resource in (*RESOURCES, CYCLES)
    ]  # fmt: skip
    return {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **group},
        ROOT: {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": resources},
    }
