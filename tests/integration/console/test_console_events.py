"""Server-sent events: changes of jobs reach the people who may read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from stromboli.console.access.callers import CSRF_HEADER
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.local.api_server.server import ApiServer
from tests.integration.console.conftest import SECRETS, ConsoleClient

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")


class EventReader:
    """Events of a stream, by their names."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._content = answer.content
        self.received = ""

    async def until(self, name: str) -> Any:
        """Return the document of the next event with this name."""
        async with asyncio.timeout(30):
            while True:
                text = (await self._content.readuntil(b"\n\n")).decode()
                self.received += text
                if text.startswith(f"event: {name}\n"):
                    return msgspec.json.decode(text.partition("data: ")[2].encode())

    async def until_end(self) -> None:
        async with asyncio.timeout(30):
            await self._content.read()


@asynccontextmanager
async def reading(client: ConsoleClient) -> AsyncIterator[EventReader]:
    version = (await client.get("/api/job-table"))["version"]
    headers = {**({"Authorization": f"Bearer {client.token}"} if client.token else {}), **client.headers}
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.get(f"{client.server.url}/api/events?jobs={version}", headers=headers) as answer,
    ):
        assert answer.headers["Content-Type"] == "text/event-stream"
        reader = EventReader(answer)
        await reader.until("hello")
        yield reader


async def test_changes_reach_those_who_may_read_them(
    cluster: ApiServer, root: ConsoleClient, ana: ConsoleClient
) -> None:
    async with Client(cluster.connection) as client, reading(root) as all_jobs, reading(ana) as own:
        for namespace, name in (("team-b", "secret-job-2"), ("team-a", "later")):
            await client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": {"minMember": 1}}, namespace=namespace)
        seen: set[str] = set()
        while "team-b/secret-job-2" not in seen or "team-a/later" not in seen:
            change = await all_jobs.until("jobs")
            seen |= set(change["changed"]["keys"])
            assert change["base"] < change["version"]
        while "team-a/later" not in (change := await own.until("jobs"))["changed"]["keys"]:
            pass
        assert change["hidden"]["waiting"] == 2
        for namespace, name in (("team-b", "secret-job-2"), ("team-a", "later")):
            await client.delete(POD_GROUPS, name, namespace=namespace)
        while "team-a/later" not in (await own.until("jobs"))["removed"]:
            pass
        assert not [name for name in SECRETS if name in own.received]


async def test_stream_names_resources_that_changed(cluster: ApiServer, root: ConsoleClient) -> None:
    async with Client(cluster.connection) as client, reading(root) as stream:
        await client.create(POD_GROUPS, {"metadata": {"name": "new"}, "spec": {"minMember": 1}}, namespace="team-a")
        event = await stream.until("version")
        assert {"overview", "jobs"} <= set(event["resources"])
        await client.delete(POD_GROUPS, "new", namespace="team-a")


async def test_stream_ends_with_its_session(cluster: ApiServer, logged_in: ConsoleClient) -> None:
    csrf = (await logged_in.get("/api/session"))["csrf"]
    async with Client(cluster.connection) as client, reading(logged_in) as stream:
        await logged_in.send("DELETE", "/api/session", headers={CSRF_HEADER: csrf})
        await client.create(POD_GROUPS, {"metadata": {"name": "end"}, "spec": {"minMember": 1}}, namespace="team-a")
        await stream.until_end()
        assert "team-a/end" not in stream.received
        await client.delete(POD_GROUPS, "end", namespace="team-a")
