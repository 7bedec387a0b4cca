"""A bare HTTP client that shows status codes and bodies as they are."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import aiohttp

from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.local.api_server.server import ApiServer
from testbed.plane import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
DEADLINE = 30.0


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Any

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class HttpApi:
    """Requests with the right token, and the events of watches."""

    #: The definitions of a shared server: creating one takes it some seconds.
    shared_definitions: ClassVar[dict[str, Any]] = {}

    def __init__(self, url: str, session: aiohttp.ClientSession, server: ApiServer | None = None) -> None:
        self.url = url
        self._session = session
        self._server = server
        #: The paths of objects created by the test, oldest first.
        self.created: list[str] = []

    @property
    def server(self) -> ApiServer:
        """The local server itself, for tests that only it supports."""
        assert self._server is not None, "mark this test: it needs the local server"
        return self._server

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        accept: str = "",
        **query: Any,
    ) -> Reply:
        data = None if body is None else io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        headers = {"Content-Type": media, **({"Accept": accept} if accept else {})}
        async with self._session.request(method, self.url + path, data=data, headers=headers, params=query) as response:
            reply = Reply(response.status, _parsed(await response.read()), response.headers)
        if reply.status == 201 and path != CRDS and (name := _name(reply.body)):
            self.created.append(f"{path}/{name}" if method == "POST" else path)
        if method in ("PATCH", "DELETE") and path.startswith(CRDS):
            self.shared_definitions.pop(path.removeprefix(f"{CRDS}/"), None)
        return reply

    async def get(self, path: str, **query: Any) -> Reply:
        return await self.call("GET", path, **query)

    async def post(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("POST", path, body, **query)

    async def patch(self, path: str, body: Any, *, media: str = MERGE, **query: Any) -> Reply:
        return await self.call("PATCH", path, body, media=media, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Reply:
        return await self.call("DELETE", path, body, **query)

    async def put(self, path: str, body: Any, **query: Any) -> Reply:
        return await self.call("PUT", path, body, **query)

    async def define(self, document: dict[str, Any]) -> None:
        """Make sure that this definition exists and its kinds are served."""
        name, spec = document["metadata"]["name"], document["spec"]
        if self._server is None and self.shared_definitions.get(name) == document:
            return
        if (await self.delete(f"{CRDS}/{name}")).status == 200:
            await self.until(f"{CRDS}/{name}", 404)
        reply = await self.post(CRDS, document)
        assert reply.status == 201, reply.message
        for version in spec["versions"]:
            await self.until(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}", 200)
        if self._server is None:
            self.shared_definitions[name] = document

    async def until(self, path: str, status: int) -> Reply:
        """Wait until a path returns this status."""
        async with asyncio.timeout(DEADLINE):
            while (reply := await self.get(path)).status != status:
                await asyncio.sleep(0.05)
        return reply

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[WatchEvents]:
        params = {"watch": "true", **query}
        async with self._session.get(self.url + path, params=params) as response:
            assert response.status == 200, await response.text()
            yield WatchEvents(response)


@asynccontextmanager
async def connected(server: ApiServer) -> AsyncIterator[HttpApi]:
    async with _entered(server.connection) as session:
        yield HttpApi(server.url, session, server)


@asynccontextmanager
async def guest_of(plane: ControlPlane) -> AsyncIterator[HttpApi]:
    """On a shared server; created objects are deleted afterwards."""
    async with _entered(load_kubeconfig(str(plane.kubeconfig))) as session:
        api = HttpApi(plane.url, session)
        try:
            yield api
        finally:
            await _clean_up(api)


@asynccontextmanager
async def _entered(connection: Connection) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=connection.ssl or True)
    headers = await connection.credentials.headers()
    timeout = aiohttp.ClientTimeout(total=DEADLINE)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
        yield session


async def _clean_up(api: HttpApi) -> None:
    """The newest object is deleted first: objects before their namespace. Definitions stay."""
    for path in reversed(api.created):
        reply = await api.delete(path, {"gracePeriodSeconds": 0})
        found = reply.body
        if reply.status == 404:
            continue
        if path.rpartition("/")[0] == NAMESPACES:
            await api.put(f"{path}/finalize", {"metadata": found["metadata"], "spec": {}})
        elif isinstance(found, dict) and "finalizers" in found.get("metadata", {}):
            await api.patch(path, {"metadata": {"finalizers": None}})
        await api.until(path, 404)


class WatchEvents:
    """The events of one watch, one at a time and with a deadline."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self, *, within: float = DEADLINE) -> dict[str, Any] | None:
        """The next event; None if the stream has ended."""
        async with asyncio.timeout(within):
            line = await self._response.content.readline()
        return json.loads(line) if line else None

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events as pairs of type and name."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events if event]

    async def is_cut(self) -> bool:
        """Report whether the connection is cut instead of ending."""
        try:
            while await self.next():
                pass
        except aiohttp.ClientError:
            return True
        return False

    async def all(self) -> list[tuple[str, str]]:
        """All events until the server ends the stream."""
        events = []
        while event := await self.next():
            events.append((event["type"], event["object"]["metadata"].get("name", "")))
        return events


def _name(body: Any) -> str:
    """The path of the object that a request created; none for reviews and actions."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return str(metadata.get("name", "")) if metadata and "uid" in metadata else ""


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "train:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def binding(node: str = "n1", name: str = "p", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": node},
    }


def definition(plural: str, kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """A custom resource definition with one version."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    spec = {
        "group": "test.dev",
        "names": {"plural": plural, "kind": kind},
        "scope": "Namespaced",
        "versions": [served],
    }
    return {"metadata": {"name": f"{plural}.test.dev"}, "spec": spec}
