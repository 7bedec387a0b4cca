"""A client that hides nothing: of a server of its own for every test, or a guest of the real one that all share."""

from collections.abc import AsyncIterator

import pytest

from stromboli.embedded.server import ApiServer
from stromboli.kube.access.client import Client
from stromboli.kube.access.kubeconfig import load_kubeconfig
from stromboli.kube.crds import crd_documents, install_crds
from testbed.plane import ControlPlane
from tests.embedded.http_api import HttpApi, connected, guest_of
from tests.planes import SERVER


@pytest.fixture
async def api(request: pytest.FixtureRequest) -> AsyncIterator[HttpApi]:
    if SERVER == "real":
        async with guest_of(request.getfixturevalue("plane")) as api:
            yield api
        return
    async with ApiServer() as server, connected(server) as api:
        yield api


@pytest.fixture
async def volcano(api: HttpApi, request: pytest.FixtureRequest) -> HttpApi:
    """With Volcano's kinds installed. The server that all share keeps them."""
    if SERVER == "real":
        plane: ControlPlane = request.getfixturevalue("plane")
        async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
            await install_crds(client)
        return api
    for document in crd_documents():
        await api.define(document)
    return api
