"""A Job from its creation to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stromboli.controllers.jobs.pods import TASK_PODS
from stromboli.kube.objects.catalogue import CLAIMS, POD_GROUPS, VOLCANO_JOBS
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually

PODS = ("train-worker-0", "train-worker-1")
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
Case = Callable[[JobWorld], Awaitable[Any]]


async def completes(world: JobWorld) -> None:
    world.runs = False
    await world.job(tasks=[task("worker", 2), task("driver")])
    await world.until_phase("Pending")
    await world.until_pods("train-worker-0", "train-worker-1", "train-driver-0")
    await world.all_pods("Running")
    await world.until_phase("Running")
    await world.all_pods("Succeeded")
    await world.until_phase("Completed")
    status = (await world.settled()).status
    assert (status.succeeded, status.running, status.min_available) == (3, 0, 3)
    assert {name: count.phase for name, count in (status.task_status_count or {}).items()} == {
        "driver": {"Succeeded": 1}, "worker": {"Succeeded": 2},
    }  # fmt: skip
    assert [each.status for each in status.conditions or ()] == ["Pending", "Running", "Completed"]
    assert status.running_duration
    assert len(await world.pods()) == 3
    assert not await world.groups()


async def waits_for_admission(world: JobWorld) -> None:
    world.admits = False
    await world.job()
    await world.until_phase("Pending")
    await asyncio.sleep(5)
    assert not await world.pods()
    (group,) = await world.groups()
    await world.group_phase(group.metadata.name, "Inqueue")
    await world.until_pods(*PODS)


async def runs_from_min_available_on(world: JobWorld) -> None:
    world.runs = False
    await world.job(minAvailable=1)
    await world.until_pods(*PODS)
    await world.phase("train-worker-1", "Running")
    await world.until_phase("Running")


async def fails_without_enough_successes(world: JobWorld) -> None:
    await world.job()
    await world.until_phase("Running")
    await world.phase("train-worker-0", "Succeeded")
    await world.phase("train-worker-1", "Failed", exit_code=1)
    await world.until_phase("Failed")
    await world.until_pods("train-worker-0=Succeeded", "train-worker-1=Failed")


async def completes_although_pods_beyond_the_minimum_failed(world: JobWorld) -> None:
    await world.job(minAvailable=1, tasks=[task("worker", 2, minAvailable=1)])
    await world.until_phase("Running")
    await world.phase("train-worker-0", "Succeeded")
    await world.phase("train-worker-1", "Failed", exit_code=1)
    await world.until_phase("Completed")


async def fails_when_a_task_has_too_few_successes(world: JobWorld) -> None:
    tasks = [task("worker", 2, minAvailable=1), task("driver", 1, minAvailable=1)]
    await world.job(minAvailable=2, tasks=tasks)
    await world.until_phase("Running")
    for name in PODS:
        await world.phase(name, "Succeeded")
    await world.phase("train-driver-0", "Failed", exit_code=1)
    await world.until_phase("Failed")


async def completes_at_min_success(world: JobWorld) -> None:
    await world.job(minSuccess=1)
    await world.until_phase("Running")
    await world.phase("train-worker-1", "Succeeded")
    await world.until_phase("Completed")
    await world.until_pods("train-worker-1=Succeeded")


async def is_deleted_with_its_objects(world: JobWorld) -> None:
    await world.job()
    await world.until_pods(*PODS)
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await world.until_pods()
    assert not await world.groups()


async def is_deleted_some_time_after_its_end(world: JobWorld) -> None:
    await world.job(ttlSecondsAfterFinished=30)
    await world.until_phase("Running")
    await world.all_pods("Succeeded")
    await world.until_phase("Completed")
    await asyncio.sleep(25)
    assert len(await world.pods()) == 2
    await asyncio.sleep(10)
    assert not (await world.client.list(VOLCANO_JOBS)).items
    await world.until_pods()


async def takes_names_again_after_pods_have_ended(world: JobWorld) -> None:
    world.end_seconds = None
    await world.job()
    await world.until_phase("Running")
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await asyncio.sleep(2)
    await world.job()
    await asyncio.sleep(5)
    assert all(pod.metadata.deletion_timestamp for pod in await world.pods())
    await world.end_pods()
    await world.until_phase("Running")
    assert {name: len(uids) for name, uids in world.generations.items()} == dict.fromkeys(PODS, 2)


async def creates_no_pods_after_its_deletion(world: JobWorld) -> None:
    """The watch of Jobs stands still, and that of pods reports them gone."""
    await world.job()
    await world.until_phase("Running")
    with world.frozen_watch("jobs"):
        await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
        await asyncio.sleep(20)
        assert not await world.pods()
    assert {name: len(uids) for name, uids in world.generations.items()} == dict.fromkeys(PODS, 1)


async def replaces_deleted_pods(world: JobWorld) -> None:
    await world.job()
    await world.until_phase("Running")
    await world.evict("train-worker-1")
    await asyncio.sleep(2)
    await world.until_pods("train-worker-0=Running", "train-worker-1=Running")
    assert (await world.found()).status.state.phase == "Running"


async def leaves_pods_of_others_alone(world: JobWorld) -> None:
    await world.plain_pod("train-worker-0", labels={"volcano.sh/job-name": "train"})
    await world.job(minAvailable=1)
    await world.until_pods(*PODS)
    await asyncio.sleep(5)
    assert len(world.generations["train-worker-0"]) == 1
    await world.client.delete(VOLCANO_JOBS, "train", namespace="default")
    await world.until_pods("train-worker-0")


async def keeps_failed_pods_of_the_last_retry(world: JobWorld) -> None:
    await world.job(maxRetry=2, policies=[{"event": "PodFailed", "action": "RestartJob"}])
    for restarts in range(2):
        await world.until_restarts(restarts)
        await world.phase("train-worker-0", "Failed", exit_code=1)
    job = await world.until_phase("Failed")
    assert job.status.retry_count == 2
    await world.until_pods("train-worker-0=Failed")
    assert len(world.generations["train-worker-0"]) == 2


async def eviction_is_over_when_its_replacement_runs(world: JobWorld) -> None:
    await world.job(policies=[{"event": "PodEvicted", "action": "AbortJob", "timeout": "10s"}])
    await world.until_phase("Running")
    await world.evict("train-worker-0")
    await asyncio.sleep(20)
    assert (await world.found()).status.state.phase == "Running"


async def evicted_pod_that_is_gone_counts_once(world: JobWorld) -> None:
    """The controller learns that the pod is gone before it restarts it."""
    await world.job(policies=[{"event": "PodEvicted", "action": "RestartPod"}])
    await world.until_phase("Running")
    await world.client.delete(TASK_PODS, "train-worker-0", namespace="default", grace_period=0)
    await world.until_restarts(1)
    job = await world.settled()
    assert (job.status.state.phase, job.status.retry_count) == ("Running", 1)
    assert {name: len(uids) for name, uids in world.generations.items()} == {"train-worker-0": 2, "train-worker-1": 1}


async def pod_that_starts_in_time_is_not_pending(world: JobWorld) -> None:
    world.runs = False
    await world.job(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "10s"}])
    await world.until_pods(*PODS)
    await asyncio.sleep(5)
    await world.all_pods("Running")
    await asyncio.sleep(20)
    assert (await world.found()).status.state.phase == "Running"


async def policy_of_the_task_comes_first(world: JobWorld) -> None:
    workers = task("worker", 2, policies=[{"event": "PodFailed", "action": "TerminateJob"}])
    await world.job(tasks=[workers], policies=[{"event": "*", "action": "RestartJob"}])
    await world.until_phase("Running")
    await world.phase("train-worker-0", "Failed", exit_code=1)
    await world.until_phase("Terminated")


async def other_exit_code_has_no_effect(world: JobWorld) -> None:
    await world.job(policies=[{"exitCode": 3, "action": "AbortJob"}])
    await world.until_phase("Running")
    await world.phase("train-worker-0", "Failed", exit_code=4)
    job = await world.settled()
    assert (job.status.state.phase, job.status.failed) == ("Running", 1)


async def writes_nothing_when_nothing_changes(world: JobWorld) -> None:
    await world.job()
    await world.until_restarts(0)
    await world.settled()
    world.injected.writes.clear()
    await asyncio.sleep(120)
    assert world.injected.writes == []


async def late_pod_of_an_earlier_generation_is_deleted(world: JobWorld) -> None:
    """A former leader sent it before it ended."""
    await world.job(policies=[{"event": "*", "action": "RestartJob"}])
    await world.until_restarts(0)
    late = await world.copy_of("train-worker-0")
    world.admits, world.end_seconds = False, 3.0
    await world.command("RestartJob")
    await world.until_phase("Restarting")
    await world.until_phase("Pending")
    await world.client.create(TASK_PODS, late, namespace="default")
    group = await world.until(world.new_group)
    await asyncio.sleep(1)  # the watch of pods has seen it
    await world.group_phase(group.metadata.name, "Inqueue")
    job = await world.until_restarts(1, version=1)
    assert not world.mixed
    assert {name: len(uids) for name, uids in world.generations.items()} == {"train-worker-0": 3, "train-worker-1": 2}
    assert job.status.retry_count == 1


# -- tasks that depend on others --------------------------------------------------------------------------------------


async def waits_for_all_tasks_that_it_depends_on(world: JobWorld) -> None:
    world.runs = False
    after = task("last", 1, dependsOn={"name": ["first", "second"]})
    await world.job(minAvailable=1, tasks=[task("first"), task("second"), after])
    await world.until_pods("train-first-0", "train-second-0")
    await world.phase("train-first-0", "Running")
    await world.until_pods("train-first-0", "train-second-0")
    await world.phase("train-second-0", "Succeeded")
    await world.until_pods("train-first-0", "train-second-0", "train-last-0")


async def waits_for_any_task_that_it_depends_on(world: JobWorld) -> None:
    world.runs = False
    after = task("last", 1, dependsOn={"name": ["first", "second"], "iteration": "any"})
    await world.job(minAvailable=1, tasks=[task("first"), task("second"), after])
    await world.until_pods("train-first-0", "train-second-0")
    await world.phase("train-second-0", "Running")
    await world.until_pods("train-first-0", "train-second-0", "train-last-0")


# -- elastic changes --------------------------------------------------------------------------------------------------


async def follows_replicas_and_minimum(world: JobWorld) -> None:
    await world.job()
    await world.until_phase("Running")
    await world.change(tasks=[task("worker", 3)], minAvailable=3)
    await world.until_pods(*(f"train-worker-{index}=Running" for index in range(3)))
    assert await _minimum(world) == 3
    await world.change(tasks=[task("worker", 1)], minAvailable=1)
    await world.until_pods("train-worker-0=Running")
    assert await _minimum(world) == 1
    assert (await world.found()).status.min_available == 1
    assert len(world.generations["train-worker-0"]) == 1


async def follows_replicas_to_zero_and_back(world: JobWorld) -> None:
    await world.job()
    await world.until_phase("Running")
    await world.change(tasks=[task("worker", 0, minAvailable=0)], minAvailable=0)
    await world.until_pods()
    assert (await world.found()).status.state.phase == "Running"
    await world.change(tasks=[task("worker", 2)], minAvailable=2)
    await world.until_pods("train-worker-0=Running", "train-worker-1=Running")


async def pods_beyond_fewer_replicas_decide_nothing(world: JobWorld) -> None:
    await world.job(minAvailable=1, tasks=[task("worker", 4, minAvailable=1)])
    await world.until_restarts(0)
    for index in (2, 3):
        await world.phase(f"train-worker-{index}", "Succeeded")
    await world.change(tasks=[task("worker", 2, minAvailable=1)])
    await world.until_pods("train-worker-0=Running", "train-worker-1=Running")
    status = (await world.found()).status
    assert (status.state.phase, status.running, status.succeeded) == ("Running", 2, 0)


async def group_follows_fewer_replicas_before_pods_are_deleted(world: JobWorld) -> None:
    await world.job()
    await world.until_restarts(0)
    world.injected.writes.clear()
    await world.change(tasks=[task("worker", 1)], minAvailable=1)
    await world.until_pods("train-worker-0=Running")
    writes = [name for name, _ in world.injected.writes if name in ("patch podgroups", "delete pods")]
    assert writes == ["patch podgroups", "delete pods"]


async def _minimum(world: JobWorld) -> int | None:
    (group,) = (await world.client.list(POD_GROUPS)).items
    return group.spec.min_member


# -- volumes ----------------------------------------------------------------------------------------------------------


async def creates_claims(world: JobWorld) -> None:
    await world.job(volumes=[{"mountPath": "/data", "volumeClaim": CLAIM}])
    await world.until_phase("Running")
    job = await world.found()
    name = job.spec["volumes"][0]["volumeClaimName"]
    (claim,) = (await world.client.list(CLAIMS)).items
    assert claim.metadata.name == name
    assert job.status.controlled_resources == {f"volume-pvc-{name}": name}
    assert name.startswith("train-pvc-")


async def waits_for_named_claims(world: JobWorld) -> None:
    await world.job(volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])
    await asyncio.sleep(5)
    job = await world.found()
    assert (job.status.state.phase, job.status.state.reason) == ("Pending", "PVCError")
    assert "PersistentVolumeClaim data does not exist" in (await world.events("PVCError"))[0]
    assert not await world.groups()
    await world.client.create(CLAIMS, {"metadata": {"name": "data"}, "spec": CLAIM}, namespace="default")
    job = await world.until_phase("Running")
    assert job.status.state.reason is None


CASES: list[Case] = [
    writes_nothing_when_nothing_changes, late_pod_of_an_earlier_generation_is_deleted,
    completes, waits_for_admission, runs_from_min_available_on, fails_without_enough_successes,
    completes_although_pods_beyond_the_minimum_failed, fails_when_a_task_has_too_few_successes,
    completes_at_min_success, is_deleted_with_its_objects, is_deleted_some_time_after_its_end,
    takes_names_again_after_pods_have_ended, creates_no_pods_after_its_deletion, replaces_deleted_pods,
    leaves_pods_of_others_alone, keeps_failed_pods_of_the_last_retry, eviction_is_over_when_its_replacement_runs,
    evicted_pod_that_is_gone_counts_once, pod_that_starts_in_time_is_not_pending, policy_of_the_task_comes_first,
    other_exit_code_has_no_effect, waits_for_all_tasks_that_it_depends_on, waits_for_any_task_that_it_depends_on,
    pods_beyond_fewer_replicas_decide_nothing, group_follows_fewer_replicas_before_pods_are_deleted,
    follows_replicas_and_minimum, follows_replicas_to_zero_and_back, creates_claims, waits_for_named_claims,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_job(case: Case) -> None:
    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await case(world)

    run_virtually(run())
