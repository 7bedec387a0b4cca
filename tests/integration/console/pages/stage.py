"""A console of a local cluster with jobs, in threads, and a browser that is logged in."""

from __future__ import annotations

import asyncio
import contextlib
import time
import urllib.request
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from stromboli.cli.commands.run.console import program_factory
from stromboli.cli.policies import read_registry
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.core.model.usage.budgets import BUDGETS
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.local.api_server.server import ApiServer
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
from stromboli.local.up.local_cluster import local_cluster
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy
from stromboli.serving.server_thread import ServerThread
from tests.testing.browser import WatchedPage
from tests.testing.manifests.builders import Manifest, gang, manifest, queue

ROOT, ANA, CODE = "token-of-root", "token-of-ana", "code-of-the-link"
SECONDS = 30.0
_RBAC = "rbac.authorization.k8s.io/v1"
_GROUPS = "scheduling.volcano.sh"
_BUDGETS = (
    '[{"resource": "cpu", "hours": 0, "period": "day", "grace": 1000, "over": "preemptible"}, '
    '{"resource": "cpu", "hours": 1000, "user": "*"}]'
)
HOSTILE = (
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "x" * 5000,
    "\u202egnirts\u05d0\u05d1",
)


def cluster_objects() -> list[Manifest]:
    reader = {"apiGroups": [_GROUPS], "resources": ["podgroups"], "verbs": ["get", "list"]}
    subject = {"kind": "User", "name": "ana", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    return [
        *(manifest("Namespace", name) for name in ("team-a", "team-b")),
        queue("research", annotations={BUDGETS: _BUDGETS}), queue("vision", parent="research"),
        queue("production"), queue("secret"),
        *gang(4, cpu=4, name="train", namespace="team-a", queue="vision"),
        *gang(2, cpu=4, name="serve", namespace="team-b", queue="production"),
        *gang(3, cpu=64, name="huge", namespace="team-a", queue="research"),
        *gang(1, cpu=64, name="secret-job", namespace="team-b", queue="secret"),
        *(manifest("Role", "reader", _RBAC, "team-a", rules=[reader]),
          manifest("RoleBinding", "reader", _RBAC, "team-a", subjects=[subject], roleRef=reference)),
    ]  # fmt: skip


def hostile_objects() -> list[Manifest]:
    """Jobs whose names are those of owners, which no API server validates."""
    made = []
    for place, name in enumerate(HOSTILE):
        head = gang(1, cpu=64, name=f"podgroup-hostile-{place}", namespace="team-a", queue="research")[0]
        head["metadata"]["ownerReferences"] = [
            {"apiVersion": "example.com/v1", "kind": "Train", "name": name, "uid": f"uid-{place}"}
        ]
        head["status"] = {"phase": "Pending", "conditions": [
            {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "transitionID": "1",
             "message": name, "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}  # fmt: skip
        made.append(head)
    return made


class StageCluster(ServerThread):
    """A local cluster with its scheduler, whose history is recorded."""

    name = "cluster"

    def __init__(self, history: Path) -> None:
        super().__init__()
        self.server = ApiServer(token=ROOT, users={ANA: "ana"})
        self.history = str(history)
        self._client: Future[Client] = Future()

    async def serve(self, stack: contextlib.AsyncExitStack) -> None:
        """Return at once: the start of a cluster may take longer than the thread waits."""
        task = asyncio.create_task(self._run_cluster())
        stack.push_async_callback(_end, task)

    async def _run_cluster(self) -> None:
        policy = ActivePolicy(read_registry(()), "")
        options = SchedulerOptions(history=self.history)
        pool = NodePool(8, resources={"cpu": "8", "memory": "32Gi", "pods": "110"}, racks=2)
        try:
            async with local_cluster(policy, pools=[pool], options=options, server=self.server) as running:
                self._client.set_result(running.client)
                await asyncio.Event().wait()
        except Exception as error:
            self._client.set_exception(error)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the loop of the cluster."""
        assert self._loop is not None, "the cluster is started"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def apply(self, documents: list[Manifest]) -> None:
        client = self._client.result(2 * SECONDS)
        for document in documents:
            document["metadata"].pop("uid", None)
        self.run(Applier(client).apply(documents))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def start_console(cluster: StageCluster, address: str = "127.0.0.1:0") -> ConsoleServer:
    """Start a console, and wait until it has read the cluster."""
    settings = ConsoleSettings(
        lambda: cluster.server.connection, program_factory(()), address=address, history=cluster.history,
        codes={CODE: ROOT},
    )  # fmt: skip
    console = ConsoleServer(settings)
    console.start()
    until(lambda: _answers(f"{console.url}/readyz"))
    return console


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS):  # noqa: S310
            return True
    except (HTTPError, URLError):
        return False


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition is not met"
        time.sleep(0.02)


@dataclass
class Visitor:
    """A browser that visits a console, and what must hold for all that it sees."""

    url: str
    watched: WatchedPage
    artefacts: Path
    #: Parts of console messages that are expected: failed requests of this visit.
    expected: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.watched.page

    def log_in(self, path: str = "/", token: str = "") -> None:
        """Open a page by a printed link, or by a token."""
        self.expected.append("401")
        self.page.goto(f"{self.url}{path}" + ("" if token else f"#code={CODE}"))
        if token:
            self.page.get_by_label("Token of the API server").fill(token)
            self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_text("Live", exact=True).wait_for()

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")
        self.page.get_by_text("Live", exact=True).wait_for()

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()

    def settle(self) -> None:
        """Wait until nothing is loading."""
        self.page.locator("h1").first.wait_for()
        self.page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")

    def check(self, name: str) -> None:
        """Keep a picture, and require that the page is accessible, not wider than the screen, and without errors."""
        self.artefacts.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.artefacts / f"{name}.png", full_page=True)
        found = Axe().run(self.page).response["violations"]
        violations = [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
        assert not violations, violations
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
        self.check_quiet()

    def check_quiet(self) -> None:
        """Require that no script failed, and that no other host was asked."""
        problems = [each for each in self.watched.problems if not any(text in each for text in self.expected)]
        elsewhere = [each for each in self.watched.requests if not each.startswith(self.url)]
        assert not problems, problems
        assert not elsewhere, elsewhere
