"""A bare HTTP client: of a server of its own for every test, or of the shared real one."""

from collections.abc import AsyncIterator

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import crd_documents, install_crds
from stromboli.local.api_server.server import ApiServer
from testbed.plane import ControlPlane
from tests.integration.api_server.http_api import HttpApi, connected, guest_of
from tests.testing.planes import SERVER


@pytest.fixture
async def api(request: pytest.FixtureRequest) -> AsyncIterator[HttpApi]:
    if SERVER == "real":
        async with guest_of(request.getfixturevalue("plane")) as api:
            yield api
        return
    async with ApiServer(namespace_grace=0.0) as server, connected(server) as api:
        yield api


@pytest.fixture
async def volcano(api: HttpApi, request: pytest.FixtureRequest) -> HttpApi:
    """With Volcano's CRDs installed. The shared server keeps them."""
    if SERVER == "real":
        plane: ControlPlane = request.getfixturevalue("plane")
        async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
            await install_crds(client)
        return api
    for document in crd_documents():
        await api.define(document)
    return api
