"""Commands for Jobs: each is executed once, in order, and deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from stromboli.kube.objects.catalogue import VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.workloads.groups import SUSPENDED
from tests.testing.job_world import JobWorld
from tests.testing.virtual_time import run_virtually

PODS = ("train-worker-0", "train-worker-1")
RUNNING = tuple(f"{pod}=Running" for pod in PODS)


async def is_aborted_and_resumed(world: JobWorld) -> None:
    await world.command("AbortJob")
    await world.until_phase("Aborted")
    await world.until_pods()
    assert not await world.groups()
    await world.command("ResumeJob")
    await world.until_restarts(0, version=1)
    await world.until_pods(*RUNNING)


async def deleted_group_shows_whether_the_job_is_suspended(world: JobWorld) -> None:
    """The history reads the annotation, which the scheduler sees at the deletion."""
    for action, phase in (("AbortJob", "Aborted"), ("ResumeJob", "Running"), ("TerminateJob", "Terminated")):
        await world.command(action)
        await world.until_phase(phase)
    await world.settled()
    assert [SUSPENDED in (group.metadata.annotations or {}) for group in world.removed_groups] == [True, False]


async def is_aborted_and_terminated(world: JobWorld) -> None:
    await world.command("AbortJob")
    await world.until_phase("Aborted")
    await world.command("TerminateJob")
    await world.until_phase("Terminated")
    await world.until_pods()


async def is_restarted_once(world: JobWorld) -> None:
    await world.command("RestartJob")
    await world.until_restarts(1, version=1)
    job = await world.settled()
    assert (job.status.state.phase, job.status.retry_count) == ("Running", 1)
    assert {name: len(uids) for name, uids in world.generations.items()} == dict.fromkeys(PODS, 2)


async def is_terminated(world: JobWorld) -> None:
    await world.command("TerminateJob")
    await world.until_phase("Terminated")
    await world.until_pods()
    (started, *_) = await world.events("CommandIssued")
    assert started.startswith("Start to execute command TerminateJob")


async def commands_are_executed_in_their_order(world: JobWorld) -> None:
    for action in ("AbortJob", "ResumeJob", "TerminateJob"):
        await world.command(action)
    job = await world.until_phase("Terminated")
    phases = [each.status for each in job.status.conditions or ()]
    assert phases == ["Pending", "Running", "Aborting", "Restarting", "Terminating", "Terminated"]


async def command_without_effect_is_reported(world: JobWorld) -> None:
    await world.command("ResumeJob")
    job = await world.settled()
    assert job.status.state.phase == "Running"
    assert await world.events("CommandIssued") == ["ResumeJob has no effect on a Job in phase Running"]


async def unknown_command_is_reported(world: JobWorld) -> None:
    await world.command("Explode")
    await world.settled()
    assert await world.events("CommandIssued") == ["Explode has no effect on a Job in phase Running"]


async def command_for_an_earlier_job_is_deleted(world: JobWorld) -> None:
    assert world.process is not None
    world.process.kill()
    await world.command("TerminateJob")
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await world.until_pods()
    await world.job()
    world.start()
    await world.until_restarts(0)
    await world.settled()
    assert (await world.found()).status.state.phase == "Running"


@pytest.mark.parametrize(
    "case",
    [
        is_aborted_and_resumed, is_aborted_and_terminated, is_restarted_once, is_terminated,
        commands_are_executed_in_their_order, command_without_effect_is_reported, unknown_command_is_reported,
        command_for_an_earlier_job_is_deleted, deleted_group_shows_whether_the_job_is_suspended,
    ],
    ids=lambda case: case.__name__,
)  # fmt: skip
def test_command(case: Callable[[JobWorld], Awaitable[None]]) -> None:
    async def run() -> None:
        async with JobWorld(runs=True, end_seconds=1.0).running() as world:
            await world.job()
            await world.until_restarts(0)
            await case(world)
            assert not (await world.client.list(VOLCANO_COMMANDS)).items

    run_virtually(run())
