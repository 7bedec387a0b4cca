"""Schedulers that write bind requests, as processes with permissions of their own: killed, restarted, replaced.

The test plays the binder, or a real one runs.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from testbed.plane import REQUESTER, ControlPlane
from testbed.proxy_faults import Gate, LoseAnswer, Match
from tests.e2e.environment.kubectl import kubectl
from tests.e2e.environment.processes import DEADLINE, Ground, ground
from tests.integration.processes.conftest import Command

CREATION = Match("POST", "/bindrequests")
REQUESTING = ("--bind-mode=request",)


def start(place: Ground) -> Command:
    return place.start(*REQUESTING, account=REQUESTER)


async def requests(place: Ground) -> list[BindRequest]:
    return (await place.client.list(BIND_REQUESTS, namespace=place.name)).items


async def until(place: Ground, reached: Callable[[], Awaitable[object]], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not await reached():
        assert time.monotonic() < deadline, f"timed out: {what}\n{place.logs}"
        await asyncio.sleep(0.05)


async def until_requests(place: Ground, count: int) -> list[BindRequest]:
    async def enough() -> bool:
        return len(await requests(place)) == count

    await until(place, enough, f"{count} bind requests")
    return await requests(place)


async def write_status(place: Ground, request: BindRequest, **status: Any) -> None:
    name = request.metadata.name
    await place.client.patch(BIND_REQUESTS, name, {"status": status}, namespace=place.name, subresource="status")


async def execute(place: Ground, request: BindRequest) -> None:
    for member in request.spec.pods:
        await place.client.bind(
            place.name, member.pod_name, member.pod_uid, member.selected_node,
            annotations=member.annotations, labels=member.labels,
        )  # fmt: skip
    pods = [{"podUID": member.pod_uid, "phase": "Bound"} for member in request.spec.pods]
    await write_status(place, request, phase="Succeeded", pods=pods)


@pytest.mark.parametrize("is_written", [False, True], ids=["before the request is written", "after, without an answer"])
async def test_scheduler_killed_while_writing_a_request_loses_nothing(
    plane: ControlPlane, tmp_path: Path, is_written: bool
) -> None:
    """The next scheduler writes the request if it does not exist, and counts its capacity if it does."""
    async with ground(plane, tmp_path) as place:
        await place.create_nodes(2, 4)
        gate = Gate()
        if is_written:
            place.proxy.faults.add(CREATION, LoseAnswer(), times=1)
        place.proxy.faults.add(CREATION, gate, times=1)
        await place.create_gang("first", 8)
        scheduler = start(place)
        await place.until(lambda: gate.is_reached, "a request is about to be written")
        assert len(await requests(place)) == int(is_written)
        scheduler.kill()
        place.proxy.faults.clear()
        await place.create_gang("second", 8)
        start(place)
        (request,) = await until_requests(place, 1)
        await place.until_waiting("second" if request.spec.pod_group == "first" else "first")
        assert [each.metadata.uid for each in await requests(place)] == [request.metadata.uid]
        assert await place.bound() == 0
        await execute(place, request)
        await place.until_bound(request.spec.pod_group, 8)
        await until_requests(place, 0)
        assert await place.faults() == []


async def test_direct_scheduler_cleans_up_requests_of_its_predecessor(plane: ControlPlane, tmp_path: Path) -> None:
    """The requests of its predecessor hold their capacity; the failed one is deleted and its pods are bound."""
    async with ground(plane, tmp_path) as place:
        await place.create_nodes(2, 4)
        await place.create_gang("first", 4)
        await place.create_gang("second", 4)
        before = start(place)
        held, failed = await until_requests(place, 2)
        before.kill()
        await write_status(place, failed, phase="Failed", reason="the binder failed")
        place.start()
        await place.until_bound(failed.spec.pod_group, 4)
        assert await place.bound(held.spec.pod_group) == 0
        (left,) = await until_requests(place, 1)
        assert left.metadata.uid == held.metadata.uid
        await execute(place, left)
        await until_requests(place, 0)
        assert await place.bound() == 8
        assert await place.faults() == []


async def test_bindrequests_command_shows_requests_and_their_problems(plane: ControlPlane, tmp_path: Path) -> None:
    """Also for a request whose response was lost, so that the scheduler had to read it."""
    async with ground(plane, tmp_path) as place:
        await place.create_nodes(1, 4)
        place.proxy.faults.add(CREATION, LoseAnswer(), times=1)
        await place.create_gang("ring", 3)
        start(place)
        (request,) = await until_requests(place, 1)
        environment = {"HOME": str(tmp_path), "PATH": "", "KUBECONFIG": str(plane.kubeconfig)}
        watch = place.keep(
            Command("bindrequests", "-n", place.name, "--watch", environment=environment, folder=tmp_path)
        )
        watch.wait_for_output("Pending")
        await write_status(place, request, phase="Binding", failedAttempts=2, reason="the disk is on fire")
        watch.wait_for_output("the disk is on fire")
        table = (await kubectl(plane, "get", "br", "-n", place.name)).splitlines()
        assert table[0].split() == ["NAME", "POD", "GROUP", "PODS", "PHASE", "ATTEMPTS", "REASON", "AGE"]
        assert table[1].split()[:5] == [request.metadata.name, "ring", "3", "Binding", "2"]
        await execute(place, request)
        watch.wait_for_output("Deleted")
        watch.signal(signal.SIGINT)
        assert watch.ends() == 0
