"""Where a story is played: on an embedded server of its own, or on the real one that all stories share."""

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
class Stage:
    """A server, and how to get in."""

    connection: Connection
    #: Only where it is our own, so that things can go wrong with it.
    embedded: ApiServer | None = None
    shared: ControlPlane | None = None

    @property
    def server(self) -> ApiServer:
        assert self.embedded is not None, "mark this story: only the embedded server can tell it"
        return self.embedded

    @property
    def faults(self) -> Faults:
        return self.server.faults

    def kubeconfig(self, home: Path) -> Path:
        """A kubeconfig for people; it may be made in their home."""
        if self.shared is not None:
            return self.shared.kubeconfig
        path = home / "kubeconfig"
        if not path.exists():
            self.server.write_kubeconfig(path)
        return path


class TestServers:
    """Where the stories of this session are played; on servers of their own unless somebody says otherwise."""

    shared: ControlPlane | None = None

    @contextlib.asynccontextmanager
    async def stage(self, server: ApiServer | None = None) -> AsyncIterator[Stage]:
        """An empty stage, with Volcano's kinds."""
        if self.shared is not None:
            connection = load_kubeconfig(str(self.shared.kubeconfig))
            async with _swept(connection):
                yield Stage(connection, shared=self.shared)
            return
        async with server or ApiServer() as running:
            async with Client(running.connection) as client:
                await install_crds(client)
            yield Stage(running.connection, running)


@contextlib.asynccontextmanager
async def _swept(connection: Connection) -> AsyncIterator[None]:
    """Nothing is left of the story before, and nothing will be left of this one."""
    async with Client(connection) as client:
        await install_crds(client)
        await delete_all(client)
        try:
            yield
        finally:
            await delete_all(client)


TEST_SERVERS = TestServers()
