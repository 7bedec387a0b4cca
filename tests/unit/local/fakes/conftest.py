"""An API server in memory and a client of it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from stromboli.kube.client.client import Client
from stromboli.kube.watch import reflector
from stromboli.kube.work.retry import RetryPolicy
from stromboli.local.api_server.server import ApiServer


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Production retry delays are too long for tests."""
    monkeypatch.setattr(reflector, "RETRY", RetryPolicy(min_delay=0.02, max_delay=0.02))


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest_asyncio.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client(server.connection) as client:
        yield client
