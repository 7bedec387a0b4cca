"""A small API server in memory with scripted failures.

It supports get, list, watch, create, merge patch and delete on any path, keeps a history, and applies the next scripted
failure before each request.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web

from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import Anonymous, Credentials

Trick = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
Document = dict[str, Any]

PODS_PATH = "/api/v1/pods"
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


@dataclass
class Request:
    """A received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Rule:
    """A scripted failure, the requests it applies to, and how often."""

    trick: Trick
    method: str = ""
    watch: bool | None = None
    path: str = ""
    times: int | None = 1
    fired: int = 0

    def fits(self, request: web.Request) -> bool:
        if self.times is not None and self.fired >= self.times:
            return False
        wanted_watch = self.watch is None or self.watch == ("watch" in request.query)
        return wanted_watch and self.path in request.path and self.method in ("", request.method)


def refusal(status: int, reason: str = "", message: str = "", **details: Any) -> Document:
    return {"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": message} | (
        {"details": details} if details else {}
    )


def pod(name: str, uid: str = "", version: int = 0, **fields: Any) -> Document:
    metadata = {"name": name, "namespace": "d", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


def event(kind: str, document: Document) -> bytes:
    return json.dumps({"type": kind, "object": document}).encode() + b"\n"


def bookmark(version: int, annotations: dict[str, str] | None = None) -> bytes:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


#: The rounds of the event loop after which a connection that a client opened and closed just now is known here.
_ACCEPT_ROUNDS = 5


@dataclass
class LittleServer:
    """Use it as `async with LittleServer() as server`."""

    streams_lists: bool = True
    credentials: Credentials = field(default_factory=Anonymous)
    #: How often every watch event is sent, the last time together with an older version of its object.
    echoes: bool = False

    def __post_init__(self) -> None:
        self.objects: dict[str, Document] = {}
        self.history: list[tuple[int, str, Document]] = []
        self.version = 10
        self.oldest = 0
        self.requests: list[Request] = []
        self._rules: list[Rule] = []
        self._changed = asyncio.Event()
        self._watches: list[web.Request] = []
        self._uids = itertools.count(1)

    async def __aenter__(self) -> "LittleServer":
        runner = self._runner = web.AppRunner(self._application(), shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.connection = Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", None, self.credentials)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _ in range(_ACCEPT_ROUNDS):
            await asyncio.sleep(0)
        self.drop_watches()
        await self._runner.cleanup()

    # -- what a test does ---------------------------------------------------------------------------------------

    def play(
        self, trick: Trick, *, method: str = "", watch: bool | None = None, path: str = "", times: int | None = 1
    ) -> Rule:
        rule = Rule(trick, method, watch, path, times)
        self._rules.append(rule)
        return rule

    def put(self, name: str, **fields: Any) -> None:
        """Create or change a pod."""
        path = f"/api/v1/namespaces/d/pods/{name}"
        known = self.objects.get(path)
        uid = known["metadata"]["uid"] if known else f"uid-{name}-{next(self._uids)}"
        self._write(path, pod(name, uid, **fields), "MODIFIED" if known else "ADDED")

    def delete(self, name: str) -> None:
        self._remove(f"/api/v1/namespaces/d/pods/{name}")

    def forget_history(self) -> None:
        """Reject watches from earlier versions with 410."""
        self.oldest = self.version

    def drop_watches(self) -> None:
        """Cut all watches."""
        for request in self._watches:
            if request.transport is not None:
                request.transport.abort()

    def pods(self) -> dict[str, str]:
        """The version of every pod, by key."""
        listed = (document["metadata"] for path, document in self.objects.items() if "/pods/" in path)
        return {f"{each['namespace']}/{each['name']}": each["resourceVersion"] for each in listed}

    def seen(self, method: str = "", *, watch: bool | None = None) -> list[Request]:
        return [
            each
            for each in self.requests
            if method in ("", each.method) and (watch is None or watch == ("watch" in each.query))
        ]

    # -- what the server does -----------------------------------------------------------------------------------

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        body = json.loads(content) if content else None
        headers = dict(request.headers)
        self.requests.append(Request(request.method, request.path, dict(request.query), headers, body))
        for rule in self._rules:
            if rule.fits(request):
                rule.fired += 1
                if (response := await rule.trick(request)) is not None:
                    return response
        if "watch" in request.query:
            return await self._watch(request)
        respond: Callable[[web.Request, Any], web.StreamResponse] = getattr(self, f"_{request.method.lower()}")
        return respond(request, body)

    def _get(self, request: web.Request, body: Any) -> web.Response:
        if (found := self.objects.get(request.path)) is not None:
            return web.json_response(found)
        if request.path.partition("/namespaces/")[2].count("/") == 2:
            return web.json_response(refusal(404, "NotFound", f"{request.path} not found"), status=404)
        return self._list(request)

    def _list(self, request: web.Request) -> web.Response:
        items = list(self._collection(request.path))
        start, limit = int(request.query.get("continue", "0")), int(request.query.get("limit", "0")) or len(items) or 1
        metadata = {"resourceVersion": str(self.version)}
        if start + limit < len(items):
            metadata["continue"] = str(start + limit)
        return web.json_response({"metadata": metadata, "items": items[start : start + limit]})

    def _collection(self, path: str) -> Iterator[Document]:
        plural = f"/{path.rpartition('/')[2]}/"
        return (document for key, document in sorted(self.objects.items()) if plural in key)

    def _post(self, request: web.Request, body: Any) -> web.Response:
        path = f"{request.path}/{body['metadata']['name']}"
        if path in self.objects:
            return web.json_response(refusal(409, "AlreadyExists", "it exists"), status=409)
        body["metadata"]["uid"] = f"uid-{next(self._uids)}"
        return web.json_response(self._write(path, body, "ADDED"), status=201)

    def _patch(self, request: web.Request, body: Any) -> web.Response:
        found = self.objects.get(request.path)
        if found is None:
            return web.json_response(refusal(404, "NotFound", "not found"), status=404)
        for precondition in ("resourceVersion", "uid"):
            wanted = body.get("metadata", {}).get(precondition)
            if wanted not in (None, found["metadata"][precondition]):
                return web.json_response(refusal(409, "Conflict", f"{precondition} differs"), status=409)
        return web.json_response(self._write(request.path, _merged(found, body), "MODIFIED"))

    def _delete(self, request: web.Request, body: Any) -> web.Response:
        if request.path not in self.objects:
            return web.json_response(refusal(404, "NotFound", "not found"), status=404)
        self._remove(request.path)
        return web.json_response({"kind": "Status", "status": "Success"})

    def _write(self, path: str, document: Document, kind: str) -> Document:
        self.version += 1
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self.version)}}
        self.objects[path] = document
        self._happened(kind, document)
        return document

    def _remove(self, path: str) -> None:
        document = self.objects.pop(path, None)
        if document is not None:
            self.version += 1
            metadata = {**document["metadata"], "resourceVersion": str(self.version)}
            self._happened("DELETED", {**document, "metadata": metadata})

    def _happened(self, kind: str, document: Document) -> None:
        self.history.append((self.version, kind, document))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        streaming = "sendInitialEvents" in request.query
        if streaming and not self.streams_lists:
            return web.json_response(refusal(422, "Invalid", "sendInitialEvents is forbidden for watch"), status=422)
        response = web.StreamResponse()
        await response.prepare(request)
        self._watches.append(request)
        try:
            await self._stream(request, response, streaming)
        except (ConnectionError, RuntimeError):
            pass
        finally:
            self._watches = [each for each in self._watches if each is not request]
        return response

    async def _stream(self, request: web.Request, response: web.StreamResponse, streaming: bool) -> None:
        sent = self.version if streaming else int(request.query["resourceVersion"])
        if streaming:
            for document in list(self._collection(request.path)):
                await response.write(event("ADDED", document))
            await response.write(bookmark(sent, INITIAL_EVENTS_END))
        if sent < self.oldest:
            await response.write(event("ERROR", refusal(410, "Expired", "too old resource version")))
            return
        while True:
            changed = self._changed
            for position, (version, kind, document) in enumerate(self.history):
                if version > sent:
                    await response.write(self._event_lines(position, kind, document))
                    sent = version
            await changed.wait()

    def _event_lines(self, position: int, kind: str, document: Document) -> bytes:
        line = event(kind, document)
        if not self.echoes:
            return line
        uid = document["metadata"]["uid"]
        older = (event(what, each) for _, what, each in self.history[:position] if each["metadata"]["uid"] == uid)
        return line + line + next(older, b"")


def _merged(found: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    found = found if isinstance(found, dict) else {}
    merged = {**found, **{key: _merged(found.get(key), value) for key, value in patch.items()}}
    return {key: value for key, value in merged.items() if value is not None}
