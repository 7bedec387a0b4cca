"""What a client sees that watches a Job and waits for its phases in their order, each with the counts of its pods.

The pods start and end at once: a phase without a status that has its counts would be missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import VolcanoJob, VolcanoJobStatus
from stromboli.kube.watch.informer import Informer
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually

REPLICAS = 3
Case = Callable[[JobWorld], Awaitable[None]]


def _ends_pods(status: VolcanoJobStatus) -> bool:
    return bool(status.terminating)


def _has_no_active_pods(status: VolcanoJobStatus) -> bool:
    return not (status.pending or status.running or status.terminating)


EXPECTED: Mapping[str, Callable[[VolcanoJobStatus], bool]] = {
    "Pending": lambda status: (status.pending or 0) > 0,
    "Running": lambda status: (status.running or 0) >= REPLICAS,
    **dict.fromkeys(("Restarting", "Aborting", "Completing", "Terminating"), _ends_pods),
    **dict.fromkeys(("Aborted", "Completed", "Terminated"), _has_no_active_pods),
}


async def completes(world: JobWorld) -> None:
    """Pending Running Completed"""
    await world.all_pods("Succeeded")


async def restarts(world: JobWorld) -> None:
    """Pending Running Restarting Pending Running"""
    await world.phase("train-worker-0", "Failed", exit_code=1)


async def is_aborted(world: JobWorld) -> None:
    """Pending Running Aborting Aborted"""
    await world.command("AbortJob")


async def is_resumed(world: JobWorld) -> None:
    """Pending Running Aborting Aborted Pending Running"""
    await world.command("AbortJob")
    await world.until_phase("Aborted")
    await world.command("ResumeJob")


async def is_terminated(world: JobWorld) -> None:
    """Pending Running Terminating Terminated"""
    await world.command("TerminateJob")


async def is_completed_before_its_end(world: JobWorld) -> None:
    """Pending Running Completing Completed"""
    await world.command("CompleteJob")


CASES: list[Case] = [completes, restarts, is_aborted, is_resumed, is_terminated, is_completed_before_its_end]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_phase_has_a_status_with_its_counts(case: Case) -> None:
    left = (case.__doc__ or "").split()
    seen: list[str] = []

    def changed(old: VolcanoJob | None, new: VolcanoJob | None) -> None:
        if new is not None:
            status = new.status
            seen.append(f"{status.state.phase}: {status.pending} {status.running} {status.terminating}")
            if left and left[0] == status.state.phase and EXPECTED[left[0]](status):
                del left[0]

    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            jobs = Informer(world.client, VOLCANO_JOBS)
            jobs.listen(changed)
            watch = asyncio.ensure_future(jobs.run())
            policies = [{"event": "PodFailed", "action": "RestartJob"}]
            await world.job(tasks=[task("worker", REPLICAS)], policies=policies)
            await world.until_restarts(0)
            await case(world)
            await asyncio.sleep(10)
            watch.cancel()

    run_virtually(run())
    assert not left, seen
