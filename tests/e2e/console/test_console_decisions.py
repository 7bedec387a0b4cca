"""A console with the rights of an installation reads the decisions of a scheduler through the API server."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stromboli.cli.commands.run.console import program_factory
from stromboli.console.server.server import ConsoleServer
from stromboli.console.server.settings import ConsoleSettings
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from testbed.plane import ControlPlane
from tests.e2e.visibility.tenant import TENANT, asking_tenant
from tests.testing.manifests.builders import gang
from tests.testing.planes import fresh_plane

pytestmark = pytest.mark.only("real", because="the embedded server has no RBAC and no aggregation")


async def test_console_shows_what_the_scheduler_decided(tmp_path: Path) -> None:
    with fresh_plane() as plane:
        async with asking_tenant(plane, tmp_path) as tenant:
            connect = partial(load_kubeconfig, str(plane.kubeconfig_of("console")))
            console = ConsoleServer(ConsoleSettings(connect, program_factory(()), "127.0.0.1:0"))
            console.start()
            try:
                async with asyncio.timeout(60), await _session(console, plane) as session:
                    while (await _get(session, "/api/cycles")).get("note", "no answer"):
                        await asyncio.sleep(0.2)
                    await tenant.apply(*gang(1, 3, name="decided", namespace=TENANT))
                    await tenant.until_bound("decided-task-0", TENANT)
                    while not (found := [each for each in await _cycles(session) if each["binds"]]):
                        await asyncio.sleep(0.2)
                    cycle = await _get(session, f"/api/cycles/{found[0]['number']}")
            finally:
                await asyncio.to_thread(console.stop)
    assert [each["job"] for each in cycle["binds"]] == [f"{TENANT}/decided"]
    assert [each["job"] for each in cycle["scores"]] == [f"{TENANT}/decided"]


async def _session(console: ConsoleServer, plane: ControlPlane) -> aiohttp.ClientSession:
    headers = dict(await load_kubeconfig(str(plane.kubeconfig)).credentials.headers())
    return aiohttp.ClientSession(console.url, headers=headers)


async def _get(session: aiohttp.ClientSession, path: str) -> dict[str, Any]:
    async with session.get(path) as answer:
        found: dict[str, Any] = await answer.json()
        return found


async def _cycles(session: aiohttp.ClientSession) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await _get(session, "/api/cycles"))["cycles"]
    return found
