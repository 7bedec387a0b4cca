"""What every lifecycle policy does: each combination of event, action and level is a Job in one cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.watch.informer import Informer
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually

WORKERS = ("worker-0", "worker-1", "worker-2", "worker-3")
PARTITION = ("worker-0", "worker-1")
ALL = (*WORKERS, "driver-0")
PENDING_SECONDS = 10


async def fail(world: JobWorld, job: str) -> None:
    await world.phase(f"{job}-worker-0", "Failed", exit_code=3)


async def evict(world: JobWorld, job: str) -> None:
    await world.evict(f"{job}-worker-0")


async def stay_pending(world: JobWorld, job: str) -> None:
    await asyncio.sleep(PENDING_SECONDS)


async def lose_the_group(world: JobWorld, job: str) -> None:
    group = world.group_of(job)
    assert group is not None
    await world.group_phase(group.metadata.name, "Unknown")


async def complete_the_task(world: JobWorld, job: str) -> None:
    for name in WORKERS:
        await world.phase(f"{job}-{name}", "Succeeded")


async def restart_containers(world: JobWorld, job: str) -> None:
    await world.phase(f"{job}-worker-0", "Running", restarts=4)


class Event(NamedTuple):
    """How an event happens, the fields of its policy, and what it is about: a pod, a task or the Job."""

    happens: Callable[[JobWorld, str], Awaitable[None]]
    policy: dict[str, Any]
    unit: str


EVENTS = {
    "PodFailed": Event(fail, {"event": "PodFailed"}, "pod"),
    "PodFailed among several": Event(fail, {"events": ["PodEvicted", "PodFailed"]}, "pod"),
    "exit code": Event(fail, {"exitCode": 3}, "pod"),
    "any event": Event(fail, {"event": "*"}, "pod"),
    "PodFailed with timeout": Event(fail, {"event": "PodFailed", "timeout": "2s"}, "pod"),
    "PodEvicted": Event(evict, {"event": "PodEvicted"}, "pod"),
    "PodEvicted with timeout": Event(evict, {"event": "PodEvicted", "timeout": "2s"}, "pod"),
    "PodPending": Event(stay_pending, {"event": "PodPending", "timeout": f"{PENDING_SECONDS}s"}, "pod"),
    "TaskCompleted": Event(complete_the_task, {"event": "TaskCompleted"}, "task"),
    "TaskFailed": Event(restart_containers, {"event": "TaskFailed"}, "task"),
    "Unknown": Event(lose_the_group, {"event": "Unknown"}, "job"),
}
#: The phase that an action leads to, and the pods that it replaces after an event about a pod, a task and the Job.
ACTIONS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "AbortJob": ("Aborted", {}),
    "TerminateJob": ("Terminated", {}),
    "CompleteJob": ("Completed", {}),
    "RestartJob": ("Running", {"pod": ALL, "task": ALL, "job": ALL}),
    "RestartTask": ("Running", {"pod": WORKERS, "task": WORKERS, "job": ALL}),
    "RestartPod": ("Running", {"pod": ("worker-0",), "task": WORKERS, "job": ALL}),
    "RestartPartition": ("Running", {"pod": PARTITION, "task": WORKERS, "job": ALL}),
}
LEVELS = ("job", "task")


class Result(NamedTuple):
    """A Job some time after the event."""

    phase: str
    version: int
    retries: int
    #: The tasks' pods of which there was a second one, and a third one.
    replaced: tuple[str, ...]
    replaced_twice: tuple[str, ...]
    #: The pods that have not finished.
    active: tuple[str, ...]
    has_same_group: bool


def cases() -> Iterator[tuple[str, str, str]]:
    for level in LEVELS:
        for event, facts in EVENTS.items():
            if level == "job" or facts.unit != "job":
                yield from ((event, action, level) for action in ACTIONS)


CASES = list(cases())


def name_of(case: tuple[str, str, str]) -> str:
    return f"job-{CASES.index(case)}"


async def observe(world: JobWorld, case: tuple[str, str, str]) -> Result:
    event, action, level = case
    name = name_of(case)
    policies = [{"action": action, **EVENTS[event].policy}]
    workers = task("worker", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})
    spec: dict[str, Any] = {"minAvailable": 4, "tasks": [workers, task("driver")]}
    (spec if level == "job" else workers)["policies"] = policies
    if event == "PodPending":
        world.stuck.add(f"{name}-worker-0")
    await world.job(name, **spec)
    await world.until_phase("Running", name)
    group = world.group_of(name)
    await EVENTS[event].happens(world, name)
    await asyncio.sleep(15)
    job = await world.found(name)
    generations = {pod: len(world.generations[f"{name}-{pod}"]) for pod in ALL}
    active = [pod for pod in await world.pods() if pod.status.phase in ("Pending", "Running")]
    return Result(
        job.status.state.phase or "",
        job.status.version or 0,
        job.status.retry_count or 0,
        tuple(pod for pod in ALL if generations[pod] > 1),
        tuple(pod for pod in ALL if generations[pod] > 2),
        tuple(pod for pod in ALL if f"{name}-{pod}" in {each.metadata.name for each in active}),
        _uid(world.group_of(name)) == _uid(group),
    )


def _uid(group: PodGroup | None) -> str:
    return group.metadata.uid if group else ""


@cache
def results() -> dict[tuple[str, str, str], Result]:
    async def run() -> list[Result]:
        async with JobWorld(runs=True, end_seconds=3.0).running() as world:
            return await asyncio.gather(*(observe(world, case) for case in CASES))

    return dict(zip(CASES, run_virtually(run()), strict=True))


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_policy(case: tuple[str, str, str]) -> None:
    event, action, _ = case
    phase, replaced_by_unit = ACTIONS[action]
    result = results()[case]
    assert result.phase == phase
    if not replaced_by_unit:
        assert result.active == ()
        assert (result.version, result.retries) == (0, 0)
        return
    replaced = replaced_by_unit[EVENTS[event].unit]
    assert (result.replaced, result.replaced_twice) == (replaced, ())
    assert result.active == ALL
    assert (result.version, result.retries) == (int(replaced == ALL), 1)
    assert result.has_same_group is (replaced != ALL)


STOPPING = {
    "AbortJob": ("Aborting", 2),
    "TerminateJob": ("Terminating", 2),
    "CompleteJob": ("Completing", 2),
    "RestartJob": ("Restarting", 3),
    "RestartTask": ("Restarting", 3),
    "RestartPod": ("Restarting", 1),
}


@pytest.mark.parametrize("action", STOPPING)
def test_first_status_of_a_phase_counts_the_pods_that_it_deletes(action: str) -> None:
    """Clients that wait for `terminating` may see no later status of the phase."""
    phase, terminating = STOPPING[action]
    counts: list[int | None] = []

    def changed(old: VolcanoJob | None, new: VolcanoJob | None) -> None:
        if new is not None and new.status.state.phase == phase:
            counts.append(new.status.terminating)

    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            jobs = Informer(world.client, VOLCANO_JOBS)
            jobs.listen(changed)
            watch = asyncio.ensure_future(jobs.run())
            await world.job(tasks=[task("worker", 3)], policies=[{"event": "PodFailed", "action": action}])
            await world.until_restarts(0)
            await fail(world, "train")
            await asyncio.sleep(5)
            watch.cancel()

    run_virtually(run())
    assert counts[0] == terminating
