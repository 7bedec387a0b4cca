"""A real server observes a new priority class with a delay, and rejects pods that name it until then."""

from __future__ import annotations

import asyncio

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS

DEADLINE = 30.0


async def until_usable(client: Client, name: str) -> None:
    """Wait until pods with this class are accepted."""
    spec = {"priorityClassName": name, "containers": [{"name": "main", "image": "example/main"}]}
    body = msgspec.json.encode({"metadata": {"name": "try"}, "spec": spec})
    async with asyncio.timeout(DEADLINE):
        while not await _is_accepted(client, body):
            await asyncio.sleep(0.05)


async def _is_accepted(client: Client, body: bytes) -> bool:
    try:
        await client.request("POST", PODS.path(namespace="default"), params={"dryRun": "All"}, body=body)
    except ApiError as error:
        if error.status != 403:
            raise
        return False
    return True
