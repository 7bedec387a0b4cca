"""A server of its own for every test, and a client that hides nothing."""

from collections.abc import AsyncIterator

import pytest

from stromboli.embedded.server import ApiServer
from stromboli.kube.crds import crd_documents
from tests.embedded.http_api import CRDS, HttpApi, connected


@pytest.fixture
async def api() -> AsyncIterator[HttpApi]:
    async with ApiServer() as server, connected(server) as api:
        yield api


@pytest.fixture
async def volcano(api: HttpApi) -> HttpApi:
    """With Volcano's kinds installed."""
    for document in crd_documents():
        assert (await api.post(CRDS, document)).status == 201
    return api
