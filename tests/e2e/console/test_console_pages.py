"""Every page of the console by its link, in a browser, with a cluster on an API server."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster
from tests.integration.console.pages.stage import Visitor
from tests.testing.browser import WatchedPage, running_browser


def _pages(cluster: Cluster, node: str) -> dict[str, str]:
    """By link, a text that the page shows when it has read its documents."""
    return {
        "/": "Why jobs wait",
        "/jobs": "too-large",
        f"/jobs/{cluster.namespace}/too-large": "Why it waits",
        f"/jobs/{cluster.namespace}/shown": "shown-1",
        "/queues": "default",
        "/queues/default": "Amounts",
        "/nodes": node,
        f"/nodes/{node}?resource=cpu": f"on {node}",
        "/decisions": "Decisions",
        "/what-if": "Objects to submit",
        "/what-if?mode=policy": "Plan with it",
        "/history": "History",
        "/no/such/page": "There is no page at this address.",
    }


async def test_every_page_opens_by_its_link(cluster: Cluster, plane: ControlPlane, tmp_path: Path) -> None:
    await cluster.create_gang("shown", 2, "1")
    await cluster.create_gang("too-large", 1, "64")
    await cluster.until_phase("shown", "Running")
    [node, *_] = await cluster.nodes_of("shown")
    connect = partial(load_kubeconfig, str(plane.kubeconfig_of("console")))
    console = ConsoleServer(ConsoleSettings(connect, program_factory(()), "127.0.0.1:0"))
    console.start()
    headers = dict(await load_kubeconfig(str(plane.kubeconfig)).credentials.headers())
    token = headers["Authorization"].partition(" ")[2]
    try:
        await asyncio.to_thread(_visit, console.url, token, _pages(cluster, node), tmp_path)
    finally:
        await asyncio.to_thread(console.stop)


def _visit(url: str, token: str, pages: dict[str, str], artefacts: Path) -> None:
    """Open all pages in a thread: the browser has an event loop of its own."""
    with running_browser() as browser, browser.new_context() as context:
        visitor = Visitor(url, WatchedPage(context.new_page()), artefacts)
        visitor.log_in(token=token)
        for path, text in pages.items():
            visitor.open(path)
            visitor.sees(text)
            visitor.settle()
        visitor.check_quiet()
