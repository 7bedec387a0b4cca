"""A scheduler and a binder as two processes, with one bind request per decision between them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import aiohttp
import pytest

from stromboli.kube.objects import timestamps
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED
from stromboli.kube.objects.catalogue import BIND_REQUESTS, LEASES, NODES
from testbed.fault_proxy import BINDINGS
from testbed.plane import NAMESPACE, ControlPlane
from testbed.proxy_faults import Answer, Gate, Match
from tests.e2e.binding.test_binder_crashes import Place
from tests.e2e.environment.faulty_cluster import STREAMED_LISTS
from tests.e2e.environment.processes import DEADLINE, LEASE, POOL, ground
from tests.integration.processes.conftest import Command

SIZE = 40
STATUSES = Match("PATCH", r"/bindrequests/[^/]+/status")


class Pair(Place):
    """Schedulers that write requests, and binders that compete for a lease."""

    def decide(self) -> Command:
        environment = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "STROMBOLI_KUBECONFIG": str(self.plane.kubeconfig),
        }
        command = Command(
            "scheduler", f"--scheduler-name={self.name}", f"--node-selector={POOL}:{self.name}", "--bind-mode=request",
            "--schedule-period=200ms", "--event-qps=0", "--listen-address=", "--healthz-address=",
            "--leader-elect=false", environment=environment, folder=self.folder,
        )  # fmt: skip
        self._commands.append(command)
        return command

    def compete(self) -> Command:
        """Start a binder with leader election."""
        return self.bind(
            "--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0", "--leader-elect=true",
            f"--leader-elect-resource-namespace={NAMESPACE}",
            f"--leader-elect-lease-duration={LEASE:g}s", "--leader-elect-renew-deadline=4s",
            "--leader-elect-retry-period=200ms",
        )  # fmt: skip


async def test_another_binder_takes_over_in_the_middle_of_a_gang(plane: ControlPlane, tmp_path: Path) -> None:
    """The gang is bound whole, the requests are deleted afterwards, and the scheduler never binds."""
    async with ground(plane, tmp_path, Pair) as place:
        assert isinstance(place, Pair)
        await place.create_nodes(5, 10)
        first = place.compete()
        await place.until(lambda: "leadership acquired" in first.output, "the first one leads")
        second, gate = place.compete(), Gate()
        place.proxy.faults.add(BINDINGS, gate, times=None, after=SIZE // 2)
        place.decide()
        await place.create_gang("gang", SIZE)
        await place.until_between_writes(gate)
        first.signal(signal.SIGKILL)
        first.ends()
        gate.refuse()
        place.proxy.faults.clear()
        await place.until_bound("gang", SIZE)
        assert "leadership acquired" in second.output
        deadline = time.monotonic() + DEADLINE
        while await place.requests():
            assert time.monotonic() < deadline, f"timed out: requests are deleted\n{place.logs}"
            await asyncio.sleep(0.1)
        assert await place.faults() == [], place.logs
        assert (await response_of(second, "readyz")).startswith("ok")
        numbers = await response_of(second, "metrics")
        assert "stromboli_leader 1.0" in numbers
        assert 'stromboli_binder_requests_finished_total{result="succeeded"} 1.0' in numbers
        second.signal(signal.SIGTERM)
        assert second.ends() == 0


async def response_of(command: Command, path: str) -> str:
    """Return the response at the address that the log of a process names."""
    (address,) = re.findall(rf"http://\S+/{path}\b", command.output)
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return await answer.text()


async def test_binder_that_loses_its_lease_exits(plane: ControlPlane, tmp_path: Path) -> None:
    async with ground(plane, tmp_path, Pair) as place:
        assert isinstance(place, Pair)
        command = place.compete()
        await place.until(lambda: "leadership acquired" in command.output, "the binder leads")
        stolen = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 1, "renewTime": timestamps.now()}}
        await place.client.patch(LEASES, "stromboli-binder", stolen, namespace=NAMESPACE)
        assert command.ends() == 5, command.output
        assert "leadership lost" in command.output


async def test_newer_status_is_never_overwritten(plane: ControlPlane, tmp_path: Path) -> None:
    """Another client writes the request while its status write is in flight: it is read again, with the same result."""
    async with ground(plane, tmp_path, Pair) as place:
        assert isinstance(place, Pair)
        await place.create_nodes(1, 10)
        node = (await place._nodes())[0].metadata.name
        gate = Gate()
        place.proxy.faults.add(STATUSES, gate, times=1)
        place.bind()
        await place.gang("gang", node)
        await place.until(lambda: gate.is_reached, "the status is on its way")
        note = {"metadata": {"annotations": {"example.com/note": "looked at"}}}
        await place.client.patch(BIND_REQUESTS, "gang", note, namespace=place.name)
        gate.open()
        found = await place.until_settled()
        assert found["gang"].status.phase == SUCCEEDED
        assert (found["gang"].metadata.annotations or {})["example.com/note"] == "looked at"
        answers = [call.status for call in place.proxy.seen(STATUSES)]
        assert answers.count(409) >= 1, answers


#: The response of a server without streamed lists.
NOT_STREAMED = Answer(422, "Invalid", "sendInitialEvents is forbidden")
RACES = {"capacity for one": 4, "capacity for both": 8}


@pytest.mark.parametrize("cpus", RACES.values(), ids=RACES)
async def test_one_of_two_requests_for_the_same_capacity_wins(plane: ControlPlane, tmp_path: Path, cpus: int) -> None:
    async with ground(plane, tmp_path, Pair) as place:
        assert isinstance(place, Pair)
        await place.create_nodes(1, cpus)
        node = (await place._nodes())[0].metadata.name
        await place.gang("one", node, 4)
        await place.gang("two", node, 4, scheduler="another")
        if cpus == 8:
            place.proxy.faults.add(STREAMED_LISTS, NOT_STREAMED, times=None)
        place.bind()
        phases = sorted(each.status.phase for each in (await place.until_settled()).values())
        assert phases == ([SUCCEEDED, SUCCEEDED] if cpus == 8 else [FAILED, SUCCEEDED]), place.logs
        assert await place.bound() == cpus
        assert await place.faults() == []
        await place.client.delete(NODES, node)
