"""A bare HTTP client: tests of the server should see status codes and bodies as they are on the wire."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from stromboli.embedded.server import ApiServer

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
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
        return self.body.get("reason", "")

    @property
    def message(self) -> str:
        return self.body.get("message", "")


class HttpApi:
    """Requests with the right token, and the events of watches as they come."""

    def __init__(self, server: ApiServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

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
        url = self.server.url + path
        async with self._session.request(method, url, data=data, headers=headers, params=query) as response:
            text = await response.read()
            return Reply(response.status, _parsed(text), response.headers)

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

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[WatchEvents]:
        url = self.server.url + path
        params = {"watch": "true", **query}
        async with self._session.get(url, params=params) as response:
            assert response.status == 200, await response.text()
            yield WatchEvents(response)


@asynccontextmanager
async def connected(server: ApiServer) -> AsyncIterator[HttpApi]:
    connector = aiohttp.TCPConnector(ssl=server.connection.ssl)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield HttpApi(server, session)


class WatchEvents:
    """The events of one watch, one at a time and never waited for without a deadline."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self, *, within: float = DEADLINE) -> dict[str, Any] | None:
        """The next event; None when the stream has ended."""
        async with asyncio.timeout(within):
            line = await self._response.content.readline()
        return json.loads(line) if line else None

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events as pairs of type and name."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events if event]

    async def is_cut(self) -> bool:
        """Whether the connection ends in the middle instead of the stream coming to its end."""
        try:
            while await self.next():
                pass
        except aiohttp.ClientError:
            return True
        return False

    async def all(self) -> list[tuple[str, str]]:
        """Everything until the server ends the stream."""
        events = []
        while event := await self.next():
            events.append((event["type"], event["object"]["metadata"].get("name", "")))
        return events


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "train:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def binding(node: str = "n1", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}}


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
