"""The controller of Jobs dies before and after each of its writes, and is started again: no pod is lost, none is
created twice, and none runs beside pods of an earlier generation.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import pytest

from stromboli.kube.objects.catalogue import CLAIMS, VOLCANO_COMMANDS, VOLCANO_JOBS
from tests.testing.in_memory_client import InjectedFaults
from tests.testing.job_world import JobWorld, task
from tests.testing.random_clusters.effort import EFFORT
from tests.testing.virtual_time import run_virtually

#: Every write of the controller, before and after which it dies.
WRITES = (
    "create persistentvolumeclaims", "create podgroups", "create pods", "delete commands", "delete jobs",
    "delete podgroups", "delete pods", "patch jobs", "patch jobs/status", "patch podgroups",
)  # fmt: skip
#: With less effort, only some of the times that a point is passed, if they are many.
FEW = 6
SEEDS = max(5, round(40 * EFFORT))
STEP = max(1, round(1 / EFFORT))
POINTS = [f"{moment} {write}" for write in WRITES for moment in ("before", "after")]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


class Life(NamedTuple):
    """What there was of a Job: how many pods by name, its last status, and the names of its objects."""

    pods: dict[str, int]
    version: int
    retries: int
    claims: int
    passed: tuple[str, ...] = ()


async def whole_life(world: JobWorld) -> Life:
    """Restart a pod, a task and the Job; abort, resume, restart, scale and complete it, until it is deleted."""
    workers = task("worker", 2, policies=[{"event": "PodEvicted", "action": "RestartPod"}])
    driver = task("driver", policies=[{"event": "PodFailed", "action": "RestartTask"}])
    policies = [{"exitCode": 3, "action": "RestartJob"}]
    spec: dict[str, Any] = {"policies": policies, "maxRetry": 5, "ttlSecondsAfterFinished": 60}
    await world.job(tasks=[workers, driver], volumes=[{"mountPath": "/data", "volumeClaim": CLAIM}], **spec)
    await world.until_restarts(0)
    await world.evict("train-worker-0")
    await world.until_restarts(1)
    await world.phase("train-driver-0", "Failed", exit_code=1)
    await world.until_restarts(2)
    await world.phase("train-worker-1", "Failed", exit_code=3)
    await world.until_restarts(3)
    await world.command("AbortJob")
    await world.until_phase("Aborted")
    await world.command("ResumeJob")
    await world.until_restarts(3, version=2)
    await world.command("RestartJob")
    await world.until_restarts(4, version=3)
    await world.change(tasks=[{**workers, "replicas": 3}, driver], minAvailable=4)
    await world.until_restarts(4)
    await world.all_pods("Succeeded")
    job = await world.until_phase("Completed")
    claims = len((await world.client.list(CLAIMS)).items)
    await world.until(lambda: _is_gone(world), seconds=120)
    pods = {name: len(uids) for name, uids in world.generations.items()}
    return Life(pods, job.status.version or 0, job.status.retry_count or 0, claims, tuple(world.passed))


async def _is_gone(world: JobWorld) -> bool:
    left = [await world.client.list(kind) for kind in (VOLCANO_JOBS, VOLCANO_COMMANDS)]
    return not any(each.items for each in left) and not await world.pods() and not await world.groups()


def live(die_at: str = "", faults: InjectedFaults | None = None) -> Life:
    async def run() -> Life:
        world = JobWorld(runs=True, end_seconds=3.0)
        world.injected = faults or world.injected
        async with world.running(die_at):
            life = await whole_life(world)
            assert not world.mixed, f"pods of generations at a time: {world.mixed}"
            assert not die_at or world.deaths == 1
            return life

    return run_virtually(run())


@cache
def undisturbed() -> Life:
    return live()


def test_points_are_all_writes() -> None:
    writes = {name.partition(" ")[2] for name in undisturbed().passed}
    assert sorted(writes - {"create events", "patch events"}) == sorted(WRITES)


@pytest.mark.parametrize("point", POINTS)
def test_controller_may_die(point: str) -> None:
    expected = undisturbed()
    times = Counter(expected.passed)[point]
    for number in range(1, times + 1, STEP if times > FEW else 1):
        found = live(f"{point}#{number}")
        assert found._replace(passed=()) == expected._replace(passed=()), f"{point}#{number}"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_requests_may_fail(seed: int) -> None:
    """Requests are refused, delayed and rejected as conflicts, and answers are lost."""
    faults = InjectedFaults(random.Random(seed), refused=0.1, lost=0.1, conflicts=0.1, slow=0.05)  # noqa: S311
    assert live(faults=faults)._replace(passed=()) == undisturbed()._replace(passed=())
