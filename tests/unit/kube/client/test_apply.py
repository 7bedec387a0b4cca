"""Server-side apply reports what was done with each object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.local.api_server.server import ApiServer


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, Client(server.connection) as client:
        yield client


def config_map(name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}


async def test_objects_are_created_configured_or_unchanged(client: Client) -> None:
    async def applied(*documents: dict[str, Any]) -> dict[str, str]:
        done = {}
        count = await Applier(client).apply(
            documents, lambda document, verb: done.update({document["metadata"]["name"]: verb})
        )
        assert count == len(done)
        return done

    assert await applied(config_map("a", "1"), config_map("b", "1")) == {"a": "created", "b": "created"}
    assert await applied(config_map("a", "1"), config_map("b", "2")) == {"a": "unchanged", "b": "configured"}
