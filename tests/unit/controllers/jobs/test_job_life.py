"""A Job from its creation to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually


async def completes(world: JobWorld) -> None:
    await world.job(tasks=[task("worker", 2), task("driver")])
    await world.until_phase("Pending")
    await world.until_pods("train-worker-0", "train-worker-1", "train-driver-0")
    await world.all_pods("Running")
    await world.until_phase("Running")
    await world.all_pods("Succeeded")
    await world.until_phase("Completed")
    status = (await world.settled()).status
    assert (status.succeeded, status.running, status.min_available) == (3, 0, 3)
    assert [each.status for each in status.conditions or ()] == ["Pending", "Running", "Completed"]
    assert len(await world.pods()) == 3


async def waits_for_admission(world: JobWorld) -> None:
    world.admits = False
    await world.job()
    await world.until_phase("Pending")
    await asyncio.sleep(5)
    (group,) = await world.groups()
    assert not await world.pods()
    await world.group_phase(group.metadata.name, "Inqueue")
    await world.until_pods("train-worker-0", "train-worker-1")


async def is_deleted_with_its_objects(world: JobWorld) -> None:
    await world.job()
    await world.until_pods("train-worker-0", "train-worker-1")
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await world.until_pods()
    assert not await world.groups()


async def takes_names_again_after_pods_have_ended(world: JobWorld) -> None:
    world.is_slow_to_end = world.runs = True
    await world.job(tasks=[task("worker", 2, pod={"nodeName": "node"})])
    await world.until_phase("Running")
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await asyncio.sleep(2)
    await world.job()
    await asyncio.sleep(5)
    assert all(pod.metadata.deletion_timestamp for pod in await world.pods())
    await world.end_pods()
    await world.until_phase("Running")
    assert {name: len(uids) for name, uids in world.generations.items()} == {"train-worker-0": 2, "train-worker-1": 2}


@pytest.mark.parametrize(
    "case",
    [completes, waits_for_admission, is_deleted_with_its_objects, takes_names_again_after_pods_have_ended],
    ids=lambda case: case.__name__,
)
def test_job(case: Callable[[JobWorld], Awaitable[Any]]) -> None:
    async def run() -> None:
        async with JobWorld().running() as world:
            await case(world)

    run_virtually(run())
