"""A console of a small cluster with two tenants, on the embedded API server, whose roles say who may read what."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.access.callers import TrustedProxies
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES
from stromboli.local.api_server.server import ApiServer
from stromboli.planner.cycle_records import CycleRecords
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.serving.server_thread import ServerThread
from stromboli.serving.tls import TlsSettings
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, gang, manifest, nodes, queue
from tests.testing.random_clusters.engine import default_program

ROOT, ANA, EVE = "token-of-root", "token-of-ana", "token-of-eve"
CODE = "code-of-the-link"
#: Names that only people who may read namespace `team-b` may see.
SECRETS = ("team-b", "secret-job", "secret-person", "secret-queue")
_RBAC = "rbac.authorization.k8s.io/v1"


def _tenants() -> list[Manifest]:
    mine, theirs = (
        gang(2, cpu=64, name="big", namespace="team-a"),
        gang(1, cpu=1, name="secret-job", namespace="team-b"),
    )
    mine[0]["status"] = {
        "phase": "Pending",
        "conditions": [
            {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "transitionID": "1",
             "message": "0/2 nodes fit: evicted for team-b/secret-job. Ask namespace team-b.",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    }  # fmt: skip
    theirs[0]["metadata"]["labels"] = {"stromboli.dev/user": "secret-person"}
    theirs[0]["spec"]["queue"] = "secret-queue"
    reader = {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["get", "list"]}
    subject = {"kind": "User", "name": "ana", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    return [
        *(manifest("Namespace", name) for name in ("team-a", "team-b")),
        *(queue(name) for name in ("default", "secret-queue")),
        *nodes(4, 2), *mine, *theirs,
        manifest("Role", "reader", _RBAC, "team-a", rules=[reader]),
        manifest("RoleBinding", "reader", _RBAC, "team-a", subjects=[subject], roleRef=reference),
    ]  # fmt: skip


class ClusterThread(ServerThread):
    """An API server with objects, in a thread of its own."""

    name = "api-server"

    def __init__(self) -> None:
        super().__init__()
        self.server = ApiServer(token=ROOT, users={ANA: "ana", EVE: "eve"})

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        await stack.enter_async_context(self.server)
        #: For what is called from other threads.
        self.loop = asyncio.get_running_loop()
        client = await stack.enter_async_context(Client(self.server.connection))
        await install_crds(client)
        for document in _tenants():
            document["metadata"].pop("uid", None)
            await Applier(client).apply([document])
            if document["kind"] == "Node":
                await client.patch(NODES, document["metadata"]["name"], {"spec": {"taints": None}})


@dataclass
class ConsoleClient:
    """Asks a console, as the owner of a token or of a session."""

    server: ConsoleServer
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def send(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers of the response."""
        sent = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **self.headers, **(headers or {})}
        content = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        url = f"{self.server.url}{path}"
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(
                method, url, data=None if content is None else BytesIO(content), headers=sent, ssl=False
            ) as answer,
        ):
            return answer.status, await answer.read(), dict(answer.headers)

    async def get(self, path: str, status: int = 200) -> Any:
        found, body, _ = await self.send("GET", path)
        assert found == status, (path, found, body)
        return msgspec.json.decode(body)

    async def post(self, path: str, body: Any, status: int = 200) -> Any:
        found, answer, _ = await self.send("POST", path, body)
        assert found == status, (path, found, answer)
        return msgspec.json.decode(answer)

    async def until_ready(self) -> None:
        async with asyncio.timeout(30):
            while (await self.send("GET", "/readyz"))[0] != web.HTTPOk.status_code:
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiServer]:
    thread = ClusterThread()
    thread.start()
    yield thread.server
    thread.stop()


@contextlib.contextmanager
def running_console(cluster: ApiServer, **settings: Any) -> Iterator[ConsoleServer]:
    given = {"address": "127.0.0.1:0", **settings}
    server = ConsoleServer(
        ConsoleSettings(lambda: cluster.local_connection, program_factory(()), codes={CODE: ROOT}, **given)
    )
    server.start()
    try:
        asyncio.run(ConsoleClient(server).until_ready())
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def console(cluster: ApiServer) -> Iterator[ConsoleServer]:
    """With a cycle over both tenants, as a scheduler of the same process records it."""
    records = CycleRecords("stromboli")
    scheduled = [each for each in _tenants() if not each["kind"].startswith("Role")]
    planned = PlannedCluster(objects(scheduled), default_program())
    records.add(planned.run_cycle(DecisionRecords()), 1.0, 0.5)
    with running_console(cluster, cycles=records) as server:
        yield server


@pytest.fixture(scope="module")
def behind_proxy(cluster: ApiServer) -> Iterator[ConsoleServer]:
    """A console that trusts the proxies of this machine, over HTTPS with a certificate of its own."""
    proxies = TrustedProxies((ipaddress.ip_network("127.0.0.1"),))
    with running_console(cluster, proxies=proxies, tls=TlsSettings("https")) as server:
        yield server


@pytest.fixture
def root(console: ConsoleServer) -> ConsoleClient:
    return ConsoleClient(console, ROOT)


@pytest.fixture
def ana(console: ConsoleServer) -> ConsoleClient:
    """May read jobs of `team-a`, and nothing else."""
    return ConsoleClient(console, ANA)


@pytest.fixture
async def logged_in(console: ConsoleServer) -> ConsoleClient:
    """A session of `root`: its cookie, without the CSRF value."""
    _, _, headers = await ConsoleClient(console).send("POST", "/api/session", {"code": CODE})
    return ConsoleClient(console, headers={"Cookie": headers["Set-Cookie"].partition(";")[0]})
