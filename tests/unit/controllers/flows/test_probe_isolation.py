"""Probes that hang delay neither the flows of other namespaces nor outlive their flow, in virtual time."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from unittest import mock

import pytest

from stromboli.controllers.flows.probe_tasks import MAX_PER_NAMESPACE, MAX_TOTAL, ProbeKey, ProbeTasks
from stromboli.controllers.names import JOB_FLOW
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import JOB_FLOWS, JOB_TEMPLATES, NAMESPACES, PODS, VOLCANO_JOBS
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually

HOSTILE, QUIET = "hostile", "quiet"
HANGING_ADDRESS, ADDRESS = "10.0.0.66", "10.0.0.7"
PORT = 80
ANSWER_SECONDS = 0.9
"""Just within the limit of one connection, so that many conditions reach the limit of a whole probe."""


class Servers:
    """Pods behind the connections of probes: those at HANGING_ADDRESS answer late, the others at once."""

    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.most = 0

    async def connect(self, address: str, port: int) -> tuple[None, mock.Mock]:
        self.open[address] += 1
        self.tried[address] += 1
        self.most = max(self.most, self.open[address])
        try:
            await asyncio.sleep(ANSWER_SECONDS if address == HANGING_ADDRESS else 0)
        finally:
            self.open[address] -= 1
        if port != PORT:
            raise ConnectionRefusedError
        return None, mock.Mock()


@contextlib.asynccontextmanager
async def world_with_servers() -> AsyncIterator[tuple[JobWorld, Servers]]:
    servers = Servers()
    with mock.patch.object(asyncio, "open_connection", servers.connect):
        async with JobWorld(controllers=(JOB_FLOW,)).running() as world:
            for namespace in (HOSTILE, QUIET):
                await world.client.create(NAMESPACES, {"metadata": {"name": namespace}})
            yield world, servers


async def create_flow(world: JobWorld, namespace: str, name: str, conditions: int) -> None:
    """Create a flow whose second Job waits for connections to the pod of the first."""
    for template in ("server", "client"):
        body = {"metadata": {"name": template}, "spec": {"tasks": [task("worker")]}}
        with contextlib.suppress(ApiError):
            await world.client.create(JOB_TEMPLATES, body, namespace=namespace)
    probe = {"tcpSocketList": [{"taskName": "worker", "port": PORT}] * conditions}
    depends = {"targets": ["server"], "probe": probe}
    steps = [{"name": "server"}, {"name": "client", "dependsOn": depends}]
    await world.client.create(JOB_FLOWS, {"metadata": {"name": name}, "spec": {"flows": steps}}, namespace=namespace)


async def has_job(world: JobWorld, namespace: str, name: str) -> bool:
    try:
        await world.client.get(VOLCANO_JOBS, name, namespace=namespace)
    except ApiError:
        return False
    return True


async def run_server(world: JobWorld, namespace: str, flow: str, address: str) -> None:
    """Play the pod of the first Job of a flow as soon as it exists."""
    name = f"{flow}-server"
    await world.until(lambda: has_job(world, namespace, name))
    job = await world.client.get(VOLCANO_JOBS, name, namespace=namespace)
    owner: dict[str, Any] = {"apiVersion": VOLCANO_JOBS.api_version, "kind": "Job", "name": name}
    owner |= {"uid": job.metadata.uid, "controller": True}
    labels = {"volcano.sh/job-name": name, "volcano.sh/task-spec": "worker"}
    metadata = {"name": f"{name}-0", "labels": labels, "ownerReferences": [owner]}
    body = {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "example/web"}]}}
    await world.client.create(PODS, body, namespace=namespace)
    status = {"status": {"phase": "Running", "podIP": address}}
    await world.client.patch(PODS, f"{name}-0", status, namespace=namespace, subresource="status")


async def hang_probes(world: JobWorld, servers: Servers, flows: int) -> None:
    for number in range(flows):
        await create_flow(world, HOSTILE, f"etl-{number}", conditions=30)
    for number in range(flows):
        await run_server(world, HOSTILE, f"etl-{number}", HANGING_ADDRESS)

    async def hang() -> bool:
        return servers.open[HANGING_ADDRESS] >= MAX_PER_NAMESPACE

    await world.until(hang)


def test_hanging_probes_of_a_namespace_delay_no_flow_of_another() -> None:
    async def run() -> None:
        async with world_with_servers() as (world, servers):
            await hang_probes(world, servers, 40)
            async with asyncio.timeout(4):
                await create_flow(world, QUIET, "etl", conditions=3)
                await run_server(world, QUIET, "etl", ADDRESS)
                await world.until(lambda: has_job(world, QUIET, "etl-client"))
            assert servers.most <= MAX_PER_NAMESPACE
            assert not await has_job(world, HOSTILE, "etl-0-client")

    run_virtually(run())


def test_probes_of_deleted_flows_are_cancelled() -> None:
    async def run() -> None:
        async with world_with_servers() as (world, servers):
            await hang_probes(world, servers, 2 * MAX_PER_NAMESPACE)
            for flow in (await world.client.list(JOB_FLOWS)).items:
                await world.client.delete(JOB_FLOWS, flow.metadata.name, namespace=HOSTILE)
            await asyncio.sleep(0.5)
            tried = servers.tried[HANGING_ADDRESS]
            assert servers.open.total() == 0
            await asyncio.sleep(60)
            assert servers.tried[HANGING_ADDRESS] == tried

    run_virtually(run())


@pytest.mark.parametrize("port", [PORT, PORT + 1], ids=["same port", "another port"])
def test_answer_is_used_only_for_the_specification_that_it_was_requested_for(port: int) -> None:
    async def run() -> None:
        async with world_with_servers() as (world, servers):
            await create_flow(world, QUIET, "etl", conditions=1)
            await run_server(world, QUIET, "etl", HANGING_ADDRESS)

            async def is_asked() -> bool:
                return servers.open[HANGING_ADDRESS] > 0

            await world.until(is_asked)
            flow = await world.client.get(JOB_FLOWS, "etl", namespace=QUIET)
            steps = flow.spec["flows"]
            steps[1]["dependsOn"]["probe"]["tcpSocketList"][0]["port"] = port
            await world.client.patch(JOB_FLOWS, "etl", {"spec": {"flows": steps}}, namespace=QUIET)
            await asyncio.sleep(20)
            assert await has_job(world, QUIET, "etl-client") == (port == PORT)

    run_virtually(run())


# -- the tasks alone ----------------------------------------------------------------------------------------------


class Probes:
    """Checks that end when the test ends them, by state."""

    def __init__(self) -> None:
        self.ends: dict[Any, asyncio.Future[bool]] = {}
        self.answered: list[tuple[str, str]] = []
        self.tasks = ProbeTasks(lambda namespace, flow: self.answered.append((namespace, flow)))

    async def check(self, state: Any) -> bool:
        self.ends[state] = asyncio.get_running_loop().create_future()
        return await self.ends[state]

    def ask(self, namespace: str, flow: str, state: Any) -> tuple[bool, bool]:
        """Return whether the probe has passed, and whether an answer is known."""
        answer = self.tasks.ask(ProbeKey(namespace, flow, "step"), state, lambda: self.check(state))
        return answer.passed, answer.wait > 0

    async def end(self, state: Any, *, passed: bool) -> None:
        self.ends[state].set_result(passed)
        await asyncio.sleep(0.01)


PENDING = (False, False)


async def keeps_an_answer_for_the_interval(probes: Probes) -> None:
    assert probes.ask("a", "etl", 1) == PENDING
    await asyncio.sleep(0.01)
    await probes.end(1, passed=False)
    assert probes.answered == [("a", "etl")]
    assert probes.ask("a", "etl", 1) == (False, True)
    await asyncio.sleep(3)
    assert probes.ask("a", "etl", 1) == PENDING
    await asyncio.sleep(0.01)
    await probes.end(1, passed=True)
    assert probes.ask("a", "etl", 1) == (True, True)


async def uses_no_answer_of_an_earlier_state(probes: Probes) -> None:
    probes.ask("a", "etl", 1)
    await asyncio.sleep(0.01)
    await probes.end(1, passed=True)
    assert probes.ask("a", "etl", 2) == PENDING


async def cancels_the_probe_of_an_earlier_state(probes: Probes) -> None:
    probes.ask("a", "etl", 1)
    await asyncio.sleep(0.01)
    assert probes.ask("a", "etl", 2) == PENDING
    await asyncio.sleep(0.01)
    assert probes.ends[1].cancelled()
    await probes.end(2, passed=True)
    assert (probes.answered, probes.ask("a", "etl", 2)) == ([("a", "etl")], (True, True))


async def gives_namespaces_their_turns(probes: Probes) -> None:
    namespaces = [f"hostile-{number}" for number in range(MAX_TOTAL // MAX_PER_NAMESPACE)]
    for namespace in namespaces:
        for number in range(2 * MAX_PER_NAMESPACE):
            probes.ask(namespace, f"etl-{number}", (namespace, number))
    await asyncio.sleep(0.01)
    assert len(probes.ends) == probes.tasks.running == MAX_TOTAL
    probes.ask("quiet", "etl", "quiet")
    await asyncio.sleep(0.01)
    assert "quiet" not in probes.ends
    for number in range(MAX_PER_NAMESPACE):
        for namespace in namespaces:
            await probes.end((namespace, number), passed=False)
    assert "quiet" in probes.ends
    assert probes.tasks.running == MAX_TOTAL


async def ends_all_when_it_is_closed(probes: Probes) -> None:
    for number in range(3 * MAX_PER_NAMESPACE):
        probes.ask("a", f"etl-{number}", number)
    await asyncio.sleep(0.01)
    probes.tasks.close()
    await asyncio.sleep(0.01)
    assert all(end.cancelled() for end in probes.ends.values())
    assert (probes.tasks.running, len(probes.ends), probes.answered) == (0, MAX_PER_NAMESPACE, [])


CASES = [
    keeps_an_answer_for_the_interval,
    uses_no_answer_of_an_earlier_state,
    cancels_the_probe_of_an_earlier_state,
    gives_namespaces_their_turns,
    ends_all_when_it_is_closed,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_probe_tasks(case: Any) -> None:
    async def run() -> None:
        probes = Probes()
        await case(probes)
        probes.tasks.close()
        await asyncio.sleep(0.01)

    run_virtually(run())
