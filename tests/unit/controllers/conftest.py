"""An API server in memory and a client of it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.local.api_server.server import ApiServer


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client(server.connection) as client:
        yield client
