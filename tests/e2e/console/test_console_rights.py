"""The console on an API server, with the rights of an installation."""

from __future__ import annotations

import asyncio
from functools import partial

import aiohttp
import pytest
from aiohttp import web

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_console_shows_a_cluster_with_its_own_rights(
    cluster: Cluster, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch, streams_lists: bool
) -> None:
    """Older API servers do not stream the first list of a watch."""
    monkeypatch.setattr(Client, "streams_lists", streams_lists)
    await cluster.create_gang("shown", 2, "1")
    connect = partial(load_kubeconfig, str(plane.kubeconfig_of("console")))
    console = ConsoleServer(ConsoleSettings(connect, program_factory(()), "127.0.0.1:0"))
    console.start()
    headers = dict(await load_kubeconfig(str(plane.kubeconfig)).credentials.headers())
    try:
        async with aiohttp.ClientSession(console.url, headers=headers) as session, asyncio.timeout(60):
            while True:
                async with session.get("/api/jobs?search=shown") as answer:
                    rows = (await answer.json()).get("jobs", []) if answer.status == web.HTTPOk.status_code else []
                if rows and rows[0]["phase"] == "Running":
                    break
                await asyncio.sleep(0.2)
            async with session.get("/api/overview") as answer:
                alarms = {each["kind"] for each in (await answer.json())["alarms"]}
                assert alarms <= {"PolicyUnknown"}, "nothing is installed here, and every kind can be watched"
            async with session.get(f"/api/jobs/{rows[0]['namespace']}/shown/yaml") as answer:
                assert "kind: PodGroup" in await answer.text()
    finally:
        await asyncio.to_thread(console.stop)
