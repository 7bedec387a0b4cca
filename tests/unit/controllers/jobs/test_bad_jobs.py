"""A Job that cannot run gets the reason in its status and an event; other Jobs run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually

#: The spec, and the reason and a part of the message.
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "two tasks of a name": (
        {"tasks": [task("a"), task("a")]},
        "InvalidJob",
        "spec.tasks[1].name: duplicated task name a",
    ),
    "minimum above the replicas": (
        {"minAvailable": 3},
        "InvalidJob",
        "spec.minAvailable: job 'minAvailable' should not be greater than total replicas: 3 is above 2",
    ),
    "minimum of a task above its replicas": (
        {"tasks": [task("a", 1, minAvailable=2)]},
        "InvalidJob",
        "spec.tasks[0].minAvailable: 'minAvailable' is greater than 'replicas' in task: 2 is above 1",
    ),
    "names of two milliards of hosts": (
        {"tasks": [task("a", 2_000_000_000)], "minAvailable": 1, "plugins": {"svc": []}},
        "InvalidJob",
        "spec.tasks: the replicas of all tasks are 2000000000, above 150000",
    ),
    "list of hosts that no container can have": (
        {"tasks": [task("worker", 100_000)], "minAvailable": 1, "plugins": {"svc": [], "tensorflow": []}},
        "InvalidJob",
        "spec.plugins.tensorflow: the hosts in TF_CONFIG have",
    ),
    "hosts of MPI that no container can have": (
        {
            "tasks": [task("master"), task("worker", 100_000)],
            "minAvailable": 1,
            "plugins": {"ssh": [], "svc": [], "mpi": []},
        },
        "InvalidJob",
        "spec.plugins.mpi: the hosts in MPI_HOST have",
    ),
    "unknown dependency": (
        {"tasks": [task("a", dependsOn={"name": ["b"]})]},
        "InvalidJob",
        "spec.tasks[0].dependsOn.name[0]: job has dependencies between tasks",
    ),
    "dependencies in a circle": (
        {"tasks": [task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]}), task("c")]},
        "InvalidJob",
        "a depends on b depends on a",
    ),
    "unknown plugin": ({"plugins": {"teleport": []}}, "InvalidJob", "spec.plugins.teleport: unable to find job plugin"),
    "wrong timeout": (
        {"policies": [{"event": "PodFailed", "action": "AbortJob", "timeout": "soon"}]},
        "InvalidJob",
        "spec.policies[0].timeout",
    ),
    "pod that the server rejects": (
        {"tasks": [task("a", pod={"priorityClassName": "missing"})]},
        "FailedCreate",
        "creating pod bad-a-0 failed",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_job(case: str) -> None:
    spec, reason, message = BAD[case]

    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await world.job("bad", **spec)
            await world.job("good")
            await world.until_phase("Running", "good")
            state = (await world.until_phase("Pending", "bad")).status.state
            assert state.reason == reason
            assert message in (state.message or "")
            assert [each for each in await world.events(reason) if message in each]

    run_virtually(run())


def test_job_runs_when_its_spec_was_corrected() -> None:
    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await world.job(minAvailable=3)
            await world.until_phase("Pending")
            await world.change(minAvailable=2)
            job = await world.until_restarts(0)
            assert (job.status.state.reason, job.status.state.message) == (None, None)

    run_virtually(run())


def test_running_job_that_becomes_invalid_keeps_its_pods() -> None:
    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await world.job()
            await world.until_restarts(0)
            await world.change(minAvailable=3)
            state = (await world.settled()).status.state
            assert (state.phase, state.reason) == ("Running", "InvalidJob")
            await world.until_pods("train-worker-0=Running", "train-worker-1=Running")

    run_virtually(run())
