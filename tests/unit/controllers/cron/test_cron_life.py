"""A CronJob of Volcano with the controller of Jobs, in virtual time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stromboli.controllers.names import CRON_JOB, JOB
from stromboli.controllers.owned_jobs import controller_of, has_ended
from stromboli.kube.objects.catalogue import VOLCANO_CRON_JOBS, VOLCANO_JOBS
from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.kube.objects.volcano_jobs import VolcanoCronJob, VolcanoJob
from tests.testing.job_world import NAMESPACE, JobWorld, crash_points, task
from tests.testing.virtual_time import run_virtually


async def create_cron(world: JobWorld, schedule: str = "* * * * *", **spec: Any) -> None:
    template = {"metadata": {"labels": {"app": "report"}}, "spec": {"tasks": [task("worker")]}}
    body = {"metadata": {"name": "report"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}
    await world.client.create(VOLCANO_CRON_JOBS, body, namespace=NAMESPACE)


async def found_cron(world: JobWorld) -> VolcanoCronJob:
    return await world.client.get(VOLCANO_CRON_JOBS, "report", namespace=NAMESPACE)


async def change_cron(world: JobWorld, **spec: Any) -> None:
    await world.client.patch(VOLCANO_CRON_JOBS, "report", {"spec": spec}, namespace=NAMESPACE)


async def ran_before(world: JobWorld, seconds: float) -> None:
    """Let the last run have been this long ago."""
    status = {"lastScheduleTime": stamp(time.time() - seconds)}
    await world.client.patch(VOLCANO_CRON_JOBS, "report", {"status": status}, namespace=NAMESPACE, subresource="status")


async def jobs(world: JobWorld) -> list[VolcanoJob]:
    found = (await world.client.list(VOLCANO_JOBS)).items
    return sorted(found, key=lambda job: (job.metadata.creation_timestamp or "", job.metadata.name))


async def until_jobs(world: JobWorld, count: int, seconds: float = 200.0) -> list[VolcanoJob]:
    async def reached() -> list[VolcanoJob] | None:
        found = await jobs(world)
        return found if len(found) >= count else None

    found: list[VolcanoJob] = await world.until(reached, seconds)
    return found


async def end(world: JobWorld, job: VolcanoJob, phase: str = "Succeeded") -> None:
    await world.until_phase("Running", job.metadata.name)
    await world.phase(f"{job.metadata.name}-worker-0", phase, 0 if phase == "Succeeded" else 1)
    await world.until_phase("Completed" if phase == "Succeeded" else "Failed", job.metadata.name)


def active(cron_job: VolcanoCronJob) -> list[str | None]:
    return [each.name for each in cron_job.status.active or ()]


# -- the cases ----------------------------------------------------------------------------------------------------


async def creates_a_job_at_each_time(world: JobWorld) -> None:
    await create_cron(world, timeZone="Asia/Shanghai")
    first, second = await until_jobs(world, 2)
    minutes = [int(job.metadata.name.removeprefix("report-")) for job in (first, second)]
    assert minutes[1] == minutes[0] + 1
    scheduled = (first.metadata.annotations or {})["volcano.sh/cronjob-scheduled-timestamp"]
    assert scheduled.endswith("+08:00")
    assert seconds_of(scheduled) == minutes[0] * 60
    created = seconds_of(first.metadata.creation_timestamp)
    assert created is not None
    assert 0 <= created - minutes[0] * 60 <= 2
    assert first.metadata.labels == {"app": "report"}
    owner = controller_of(first)
    assert owner is not None
    assert (owner.kind, owner.controller) == ("CronJob", True)
    await asyncio.sleep(1)
    status = (await found_cron(world)).status
    assert status.last_schedule_time == stamp(minutes[1] * 60)


async def reports_active_jobs_and_the_last_success(world: JobWorld) -> None:
    await create_cron(world)
    (job,) = await until_jobs(world, 1)
    await world.until_phase("Running", job.metadata.name)
    await asyncio.sleep(1)
    assert active(await found_cron(world)) == [job.metadata.name]
    await end(world, job)
    await asyncio.sleep(1)
    cron_job, job = await found_cron(world), await world.found(job.metadata.name)
    assert active(cron_job) == []
    assert cron_job.status.last_successful_time == job.status.state.last_transition_time


async def creates_none_while_suspended(world: JobWorld) -> None:
    await create_cron(world, suspend=True)
    await asyncio.sleep(300)
    assert await jobs(world) == []
    await change_cron(world, suspend=False)
    await until_jobs(world, 1)


async def waits_for_the_running_job(world: JobWorld) -> None:
    await create_cron(world, concurrencyPolicy="Forbid")
    (first,) = await until_jobs(world, 1)
    await asyncio.sleep(150)
    assert [job.metadata.name for job in await jobs(world)] == [first.metadata.name]
    assert any(f"Job {first.metadata.name} has not ended" in note for note in await world.events("ForbidConcurrent"))
    await end(world, first)
    second = (await until_jobs(world, 2, seconds=5))[1]
    assert int(second.metadata.name[7:]) >= int(first.metadata.name[7:]) + 2


async def replaces_the_running_job(world: JobWorld) -> None:
    await create_cron(world, concurrencyPolicy="Replace")
    (first,) = await until_jobs(world, 1)
    await world.until_phase("Running", first.metadata.name)
    await asyncio.sleep(70)
    (second,) = await jobs(world)
    assert second.metadata.name != first.metadata.name
    assert active(await found_cron(world)) == [second.metadata.name]


async def runs_only_the_last_of_several_missed_times(world: JobWorld) -> None:
    await create_cron(world, "0 * * * *", suspend=True)
    await ran_before(world, 10 * 3600)
    await change_cron(world, suspend=False)
    (job,) = await until_jobs(world, 1)
    await asyncio.sleep(5)
    assert len(await jobs(world)) == 1
    assert int(job.metadata.name[7:]) * 60 == int(time.time() // 3600) * 3600


async def leaves_out_a_run_after_its_deadline(world: JobWorld) -> None:
    await create_cron(world, "@every 1h", startingDeadlineSeconds=20, suspend=True)
    await ran_before(world, 3600 + 60)
    await change_cron(world, suspend=False)
    await asyncio.sleep(5)
    assert await jobs(world) == []
    (note,) = await world.events("MissSchedule")
    assert "more than 20 s late" in note


async def keeps_ended_jobs_up_to_the_limits(world: JobWorld) -> None:
    await create_cron(world, "@every 20s", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    for phase in ("Succeeded", "Failed", "Succeeded", "Succeeded"):
        job = await until_active(world)
        await world.until_phase("Running", job.metadata.name)
        await world.phase(f"{job.metadata.name}-worker-0", phase, 0 if phase == "Succeeded" else 1)
        await asyncio.sleep(2)
    kept = [(each.metadata.name, each.status.state.phase) for each in await jobs(world)]
    assert kept == [(job.metadata.name, "Completed")]


async def until_active(world: JobWorld) -> VolcanoJob:
    async def found() -> VolcanoJob | None:
        return next((job for job in await jobs(world) if not has_ended(job)), None)

    job: VolcanoJob = await world.until(found, 70)
    return job


async def reports_an_invalid_schedule_and_affects_no_other(world: JobWorld) -> None:
    template = {"spec": {"tasks": [task("worker")]}}
    broken = {"metadata": {"name": "broken"}, "spec": {"schedule": "61 * * * *", "jobTemplate": template}}
    await world.client.create(VOLCANO_CRON_JOBS, broken, namespace=NAMESPACE)
    await create_cron(world)
    await until_jobs(world, 1)
    (note,) = await world.events("InvalidSchedule")
    assert note.startswith("CronJob default/broken: spec.schedule: minute: '61' is not from 0 to 59")


async def leaves_a_job_of_another_owner(world: JobWorld) -> None:
    names = [f"report-{int(time.time()) // 60 + minute}" for minute in (1, 2)]
    await world.job(names[0])
    await create_cron(world)
    found = await until_jobs(world, 2)
    assert sorted(job.metadata.name for job in found) == names
    note = f"Job {names[0]} exists and belongs to another object; delete one of them"
    assert note in await world.events("FailedCreate")


async def is_deleted_with_its_jobs(world: JobWorld) -> None:
    await create_cron(world)
    await until_jobs(world, 1)
    await world.client.delete(VOLCANO_CRON_JOBS, "report", namespace=NAMESPACE)
    await asyncio.sleep(130)
    assert (await jobs(world), await world.pods()) == ([], [])


CASES = [
    creates_a_job_at_each_time,
    reports_active_jobs_and_the_last_success,
    creates_none_while_suspended,
    waits_for_the_running_job,
    replaces_the_running_job,
    runs_only_the_last_of_several_missed_times,
    leaves_out_a_run_after_its_deadline,
    keeps_ended_jobs_up_to_the_limits,
    reports_an_invalid_schedule_and_affects_no_other,
    leaves_a_job_of_another_owner,
    is_deleted_with_its_jobs,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_cron_job(case: Callable[[JobWorld], Awaitable[Any]]) -> None:
    async def run() -> None:
        async with JobWorld(runs=True, controllers=(JOB, CRON_JOB)).running() as world:
            await case(world)

    run_virtually(run())


# -- crashes and faults -------------------------------------------------------------------------------------------


async def runs_three_times(world: JobWorld) -> dict[str, int]:
    """Let a CronJob run three times, and return the number of Jobs by name."""
    created: dict[str, set[str]] = {}
    await create_cron(world, "@every 10s", successfulJobsHistoryLimit=0)
    async with asyncio.timeout(300):
        while len(created) < 3 or await jobs(world):
            for job in await jobs(world):
                created.setdefault(job.metadata.name, set()).add(job.metadata.uid)
                if job.status.state.phase == "Running":
                    await world.phase(f"{job.metadata.name}-worker-0", "Succeeded", 0)
            await asyncio.sleep(0.3)
    return {name: len(uids) for name, uids in created.items()}


POINTS = crash_points({"create jobs": 3, "patch cronjobs/status": 6, "delete jobs": 2})


@pytest.mark.parametrize("point", POINTS)
def test_cron_job_killed_at_a_write_runs_once_at_each_time(point: str) -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, CRON_JOB))
        async with world.running(point):
            created = await runs_three_times(world)
            assert world.deaths == 1, f"{point} was not reached: {world.passed}"
            return created

    assert set(run_virtually(run()).values()) == {1}


def test_cron_job_of_two_controllers_at_a_time_runs_once_at_each_time() -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, CRON_JOB))
        async with world.running():
            world.start()
            return await runs_three_times(world)

    assert set(run_virtually(run()).values()) == {1}


@pytest.mark.parametrize("seed", range(4))
def test_cron_job_with_failing_requests_runs_once_at_each_time(seed: int) -> None:
    async def run() -> dict[str, int]:
        world = JobWorld(runs=True, controllers=(JOB, CRON_JOB))
        faults = world.injected
        faults.chance.seed(seed)
        faults.refused, faults.lost, faults.conflicts = 0.1, 0.1, 0.1
        async with world.running():
            return await runs_three_times(world)

    assert set(run_virtually(run()).values()) == {1}
