"""The situations of Volcano's suites for Jobs: policies, Commands, elastic changes and the end of Jobs, with the rights
of an installation.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from stromboli.kube.objects.catalogue import CLAIMS, NAMESPACES, NODES, POD_GROUPS, PODS, VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.local.fakes.kubelet.node_health import NOT_READY, reports_conditions
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool, create_nodes, node_documents
from tests.e2e.volcano.world import World, running_world
from tests.testing.planes import fresh_plane

SECONDS = 30.0
_POLL = 0.05
_NUMBERS = itertools.count(1)
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def task(name: str, replicas: int, command: str = "", **fields: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "example/main"}
    container["resources"] = {"requests": {"cpu": fields.pop("cpu", "100m")}}
    if command:
        container["command"] = ["sh", "-c", command]
    template = {"spec": {"containers": [container], "restartPolicy": fields.pop("restart", "Never")}}
    return {"name": name, "replicas": replicas, "template": template, **fields}


class RunningJob:
    """A Job in a namespace of its own."""

    def __init__(self, world: World, namespace: str) -> None:
        self.world, self.client, self.namespace = world, world.client, namespace

    async def found(self) -> VolcanoJob:
        return await self.client.get(VOLCANO_JOBS, "train", namespace=self.namespace)

    async def phases(self) -> list[str]:
        return [each.status or "" for each in (await self.found()).status.conditions or ()]

    async def until_phases(self, *expected: str) -> None:
        """Wait until the Job has had these phases, in this order."""
        await self.until(lambda: self._had(expected))

    async def _had(self, expected: Sequence[str]) -> bool:
        had = iter(await self.phases())
        return all(phase in had for phase in expected)

    async def pods(self, phase: str = "") -> dict[str, str]:
        """Return the uids of the pods by name; those that are being deleted do not count."""
        found = (await self.client.list(PODS, namespace=self.namespace)).items
        present = [pod for pod in found if not pod.metadata.deletion_timestamp and phase in ("", pod.status.phase)]
        return {pod.metadata.name: pod.metadata.uid for pod in present}

    async def until_running(self, *names: str) -> dict[str, str]:
        async def reached() -> dict[str, str]:
            pods = await self.pods("Running")
            return pods if sorted(pods) == sorted(names) else {}

        found: dict[str, str] = await self.until(reached)
        return found

    async def evict(self, name: str) -> None:
        await self.client.delete(PODS, name, namespace=self.namespace)

    async def change(self, **spec: Any) -> None:
        await self.client.patch(VOLCANO_JOBS, "train", {"spec": spec}, namespace=self.namespace)

    async def type(self, command: str) -> None:
        code, printed = await self.world.type(command.replace("$(namespace)", self.namespace))
        assert not code, printed

    async def until(self, reached: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(SECONDS):
                while not (answer := await reached()):
                    await asyncio.sleep(_POLL)
                return answer
        except TimeoutError:
            state = (await self.found()).status
            raise AssertionError(f"{state}; pods {await self.pods()}\n{self.world.logs}") from None


class Situation(NamedTuple):
    """A Job, and what happens to it."""

    spec: dict[str, Any]
    happens: Callable[[RunningJob], Awaitable[None]]


def policy(event: str, action: str, **more: Any) -> list[dict[str, Any]]:
    return [{"event": event, "action": action, **more}]


def phases(*expected: str, evicts: str = "") -> Callable[[RunningJob], Awaitable[None]]:
    """Return a situation in which the Job has these phases, after a pod was evicted."""

    async def happens(job: RunningJob) -> None:
        if evicts:
            await job.until_phases("Pending", "Running")
            await job.evict(evicts)
        await job.until_phases(*expected)

    return happens


def failing(code: int = 1, **more: Any) -> list[dict[str, Any]]:
    return [task("long", 2), task("fail", 2, f"sleep 5 && exit {code}", **more)]


RESTARTED = ("Pending", "Running", "Restarting", "Pending", "Running")


async def restarts_one_pod(job: RunningJob) -> None:
    names = ("train-long-0", "train-long-1", "train-long-2")
    await job.until_phases("Running")
    before = await job.until_running(*names)
    (group,) = (await job.client.list(POD_GROUPS, namespace=job.namespace)).items
    await job.evict("train-long-1")
    await job.until_phases(*RESTARTED)
    after = await job.until_running(*names)
    assert {name for name in names if before[name] != after[name]} == {"train-long-1"}
    (same,) = (await job.client.list(POD_GROUPS, namespace=job.namespace)).items
    assert same.metadata.uid == group.metadata.uid


async def scales_to_zero_and_up(job: RunningJob) -> None:
    await job.until_running("train-long-0", "train-long-1")
    await job.change(minAvailable=0, tasks=[task("long", 0, minAvailable=0)])
    await job.until(lambda: _has_pods(job, 0))
    await job.change(minAvailable=3, tasks=[task("long", 3)])
    await job.until_running(*(f"train-long-{index}" for index in range(3)))


async def _has_pods(job: RunningJob, number: int) -> bool:
    return len(await job.pods()) == number


async def is_suspended_and_resumed(job: RunningJob) -> None:
    await job.until_running("train-long-0", "train-long-1")
    await job.type("stromboli suspend $(namespace)/train")
    await job.until_phases("Running", "Aborting", "Aborted")
    await job.until(lambda: _has_pods(job, 0))
    await job.type("stromboli resume $(namespace)/train")
    await job.until_phases("Aborted", *RESTARTED[2:])
    await job.until_running("train-long-0", "train-long-1")


async def completes_and_is_deleted(job: RunningJob) -> None:
    async def is_gone() -> bool:
        jobs = await job.client.list(VOLCANO_JOBS, namespace=job.namespace)
        return not jobs.items and not await job.pods()

    await job.until(is_gone)


async def has_a_claim(job: RunningJob) -> None:
    """No volume is provisioned: the pods wait for their nodes."""
    await job.until(lambda: _has_pods(job, 2))
    (claim,) = (await job.client.list(CLAIMS, namespace=job.namespace)).items
    assert (await job.found()).spec["volumes"][0]["volumeClaimName"] == claim.metadata.name


async def runs_tasks_one_after_the_other(job: RunningJob) -> None:
    await job.until_phases("Pending", "Running", "Completed")
    pods = (await job.client.list(PODS, namespace=job.namespace)).items
    first, last = (next(pod for pod in pods if pod.metadata.name == name) for name in ("train-a-0", "train-b-0"))
    assert (first.status.start_time or "") <= (last.metadata.creation_timestamp or "")


async def keeps_the_failed_pod_of_the_last_retry(job: RunningJob) -> None:
    await job.until_phases("Restarting", "Running", "Failed")
    assert (await job.found()).status.retry_count == 2
    await job.until(lambda: _has_only(job, "train-fail-0"))


async def _has_only(job: RunningJob, name: str) -> bool:
    return list(await job.pods()) == [name]


_LONG = [task("long", 2)]
_EVICTED = "train-long-0"
SITUATIONS = {
    "PodFailed restarts": Situation(
        {"tasks": failing(), "policies": policy("PodFailed", "RestartJob")}, phases(*RESTARTED)
    ),
    "PodFailed terminates": Situation(
        {"tasks": failing(), "policies": policy("PodFailed", "TerminateJob")},
        phases("Pending", "Running", "Terminating", "Terminated"),
    ),
    "PodFailed aborts": Situation(
        {"tasks": failing(), "policies": policy("PodFailed", "AbortJob")},
        phases("Pending", "Running", "Aborting", "Aborted"),
    ),
    "PodEvicted restarts": Situation(
        {"tasks": _LONG, "policies": policy("PodEvicted", "RestartJob")}, phases(*RESTARTED, evicts=_EVICTED)
    ),
    "PodEvicted terminates": Situation(
        {"tasks": _LONG, "policies": policy("PodEvicted", "TerminateJob")},
        phases("Terminating", "Terminated", evicts=_EVICTED),
    ),
    "PodEvicted aborts": Situation(
        {"tasks": _LONG, "policies": policy("PodEvicted", "AbortJob")}, phases("Aborting", "Aborted", evicts=_EVICTED)
    ),
    "any event restarts": Situation(
        {"tasks": _LONG, "policies": policy("*", "RestartJob")}, phases(*RESTARTED, evicts=_EVICTED)
    ),
    "one of several events terminates": Situation(
        {"tasks": _LONG, "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "TerminateJob"}]},
        phases("Terminating", "Terminated", evicts=_EVICTED),
    ),
    "PodEvicted restarts the pod": Situation(
        {"tasks": [task("long", 3, policies=policy("PodEvicted", "RestartPod"))]}, restarts_one_pod
    ),
    "PodPending with timeout aborts": Situation(
        {"minAvailable": 1, "tasks": [task("long", 1), task("huge", 1, cpu="1000", minAvailable=0)],
         "policies": policy("PodPending", "AbortJob", timeout="2s")},
        phases("Aborting", "Aborted"),
    ),
    "exit code restarts": Situation(
        {"tasks": failing(3), "policies": [{"exitCode": 3, "action": "RestartJob"}]}, phases(*RESTARTED)
    ),
    "TaskCompleted completes": Situation(
        {"tasks": [task("short", 2, "sleep 5"), *_LONG], "policies": policy("TaskCompleted", "CompleteJob")},
        phases("Pending", "Completing", "Completed"),
    ),
    "TaskFailed terminates": Situation(
        {"tasks": [*_LONG, task("flaky", 1, "sleep 1 && exit 1", restart="OnFailure", maxRetry=1)],
         "policies": policy("TaskFailed", "TerminateJob")},
        phases("Terminating", "Terminated"),
    ),
    "policy of the task comes first": Situation(
        {"tasks": failing(policies=policy("PodFailed", "RestartJob")), "policies": policy("PodFailed", "AbortJob")},
        phases(*RESTARTED),
    ),
    "last retry keeps the failed pod": Situation(
        {"tasks": [task("long", 1), task("fail", 1, "sleep 3 && exit 1")], "maxRetry": 2,
         "policies": policy("PodFailed", "RestartJob")},
        keeps_the_failed_pod_of_the_last_retry,
    ),
    "minSuccess completes": Situation(
        {"minSuccess": 2, "tasks": [task("short", 2, "sleep 3"), *_LONG]}, phases("Running", "Completed")
    ),
    "tasks depend on each other": Situation(
        {"minAvailable": 1, "tasks": [task("a", 1, "sleep 20", minAvailable=1),
                                      task("b", 1, "sleep 1", dependsOn={"name": ["a"]}, minAvailable=0)]},
        runs_tasks_one_after_the_other,
    ),
    "scales to zero and up": Situation({"tasks": _LONG}, scales_to_zero_and_up),
    "is suspended and resumed": Situation({"tasks": _LONG}, is_suspended_and_resumed),
    "is deleted after its end": Situation(
        {"tasks": [task("short", 2, "sleep 1")], "ttlSecondsAfterFinished": 1}, completes_and_is_deleted
    ),
    "has a claim": Situation(
        {"tasks": _LONG, "volumes": [{"mountPath": "/data", "volumeClaim": _CLAIM}]}, has_a_claim
    ),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    with fresh_plane() as plane:
        async with running_world(plane, tmp_path_factory.mktemp("jobs")) as running:
            nodes = node_documents(NodePool(2, resources={"cpu": "8", "memory": "16Gi", "pods": "110"}))
            await create_nodes(running.client, nodes)
            for node in nodes:
                await _until_ready(running, node["metadata"]["name"])
            await running.use("default")
            yield running


async def _until_ready(world: World, name: str) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            node = await world.client.get(NODES, name)
            if reports_conditions(node) and all(taint.key != NOT_READY for taint in node.spec.taints or ()):
                return
            await asyncio.sleep(_POLL)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", SITUATIONS)
async def test_job(world: World, name: str) -> None:
    namespace = f"job-{next(_NUMBERS)}"
    await world.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    job = {"metadata": {"name": "train"}, "spec": SITUATIONS[name].spec}
    await world.client.create(VOLCANO_JOBS, job, namespace=namespace)
    try:
        await SITUATIONS[name].happens(RunningJob(world, namespace))
    finally:
        await world.client.request("DELETE", VOLCANO_JOBS.path(namespace=namespace))
