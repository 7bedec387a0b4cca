"""An API server in memory on the loopback address.

`async with ApiServer() as server, Client(server.connection) as client: ...`

It serves HTTPS with a self-made certificate and requires a bearer token. Nothing is written to disk. A stopped server
can be started again, at the same address and with the same objects, to simulate an outage.
"""

from __future__ import annotations

import base64
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from stromboli.kube.client.config.connection import Connection
from stromboli.kube.client.config.credentials import static_token
from stromboli.kube.manifests.yaml import dump_documents
from stromboli.local.api_server.access_reviews import USER, AccessRules
from stromboli.local.api_server.api import Api
from stromboli.local.api_server.control_plane import ControlPlane
from stromboli.local.api_server.faults import Faults
from stromboli.local.api_server.termination import NAMESPACE_GRACE_SECONDS
from stromboli.local.http.handler import HttpFront
from stromboli.serving.certificates import make_certificates

ADDRESS = "127.0.0.1"


class ApiServer:
    """Start it, connect by `connection` or with the kubeconfig, stop it."""

    def __init__(
        self,
        *,
        port: int = 0,
        token: str | None = None,
        users: Mapping[str, str] | None = None,
        faults: Faults | None = None,
        bookmark_interval: float = 60.0,
        native_groups: bool = False,
        namespace_grace: float = NAMESPACE_GRACE_SECONDS,
    ) -> None:
        """`users` are the names of further users by token, for reviews: only `token` is admitted here."""
        self._port = port
        self.token = token or secrets.token_urlsafe(24)
        self.faults = faults if faults is not None else Faults()
        self._plane = ControlPlane(native_groups=native_groups, namespace_grace=namespace_grace)
        access = AccessRules(self._plane.store, {self.token: USER, **(users or {})})
        self._front = HttpFront(self._plane, Api(self._plane, access), self.faults, self.token, bookmark_interval)
        self._certificates = make_certificates()
        self._runner: web.ServerRunner | None = None
        #: The folder of the Unix socket, private to the user.
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def start(self) -> None:
        server = web.Server(
            self._front.handle, request_factory=self._front.request, handler_cancellation=True, access_log=None
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, ADDRESS, self._port, ssl_context=self._certificates.server_context())
        await site.start()
        self._port = self._runner.addresses[0][1]
        self._folder = tempfile.TemporaryDirectory(prefix="stromboli-")
        await web.UnixSite(self._runner, self._socket).start()

    async def stop(self) -> None:
        """End all streams and close all connections."""
        self.drop_watches()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    async def __aenter__(self) -> ApiServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        return f"https://{ADDRESS}:{self._port}"

    @property
    def connection(self) -> Connection:
        return Connection(self.url, self._certificates.client_context(), static_token(self.token))

    @property
    def local_connection(self) -> Connection:
        """Connection within this machine: a private Unix socket without TLS."""
        return Connection("http://localhost", None, static_token(self.token), socket=self._socket)

    @property
    def _socket(self) -> str:
        return str(Path(self._folder.name) / "api.sock") if self._folder else ""

    def kubeconfig(self, extensions: Mapping[str, Mapping[str, Any]] | None = None) -> str:
        """A kubeconfig with this server, as YAML text; the extensions are notes about the cluster, by name."""
        authority = base64.b64encode(self._certificates.authority).decode()
        cluster: dict[str, Any] = {"server": self.url, "certificate-authority-data": authority}
        if extensions:
            cluster["extensions"] = [{"name": name, "extension": each} for name, each in extensions.items()]
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stromboli", "cluster": cluster}],
            "users": [{"name": "stromboli", "user": {"token": self.token}}],
            "contexts": [{"name": "stromboli", "context": {"cluster": "stromboli", "user": "stromboli"}}],
            "current-context": "stromboli",
        }
        return dump_documents([document])

    def write_kubeconfig(self, path: str | Path) -> None:
        """Write the kubeconfig to a file that only the user can read."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(self.kubeconfig())

    @property
    def open_watches(self) -> int:
        """Number of open watches."""
        return self._front.open_watches

    def aggregate(self, group: str, url: str) -> None:
        """Forward the requests of an API group to another server, as for an APIService."""
        self._front.aggregated.register(group, url)

    def compact(self) -> None:
        """Drop the history: older watches and continued lists get 410 Expired."""
        self._plane.compact()

    def drop_watches(self) -> None:
        """Cut all open watches, as a restarting gateway does."""
        self._front.drop_watches()
