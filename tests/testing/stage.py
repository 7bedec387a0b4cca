"""Servers for tests: a local API server per test, or one real server that all tests share."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from stromboli.kube.client.client import Client
from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.local.api_server.faults import Faults
from stromboli.local.api_server.server import ApiServer
from testbed.plane import ControlPlane
from tests.testing.cleanup import delete_all


@dataclass(frozen=True, slots=True)
class ServerHandle:
    """A server and its connection."""

    connection: Connection
    #: The local server, whose faults tests control; None for a real one.
    embedded: ApiServer | None = None
    shared: ControlPlane | None = None

    @property
    def server(self) -> ApiServer:
        assert self.embedded is not None, "mark this test: it needs the local server"
        return self.embedded

    @property
    def faults(self) -> Faults:
        return self.server.faults

    def kubeconfig(self, home: Path) -> Path:
        """Return a kubeconfig; it is written to `home` for a local server."""
        if self.shared is not None:
            return self.shared.kubeconfig
        path = home / "kubeconfig"
        if not path.exists():
            self.server.write_kubeconfig(path)
        return path


class TestServers:
    """The servers of this test session: one per test, unless a shared one is set."""

    shared: ControlPlane | None = None

    @contextlib.asynccontextmanager
    async def stage(self, server: ApiServer | None = None) -> AsyncIterator[ServerHandle]:
        """An empty server with Volcano's CRDs."""
        if self.shared is not None:
            connection = load_kubeconfig(str(self.shared.kubeconfig))
            async with _swept(connection):
                yield ServerHandle(connection, shared=self.shared)
            return
        async with server or ApiServer() as running:
            async with Client(running.connection) as client:
                await install_crds(client)
            yield ServerHandle(running.connection, running)


@contextlib.asynccontextmanager
async def _swept(connection: Connection) -> AsyncIterator[None]:
    """Remove all objects before and after the test."""
    async with Client(connection) as client:
        await install_crds(client)
        await delete_all(client)
        try:
            yield
        finally:
            await delete_all(client)


TEST_SERVERS = TestServers()
