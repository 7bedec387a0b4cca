"""The situations of Volcano's tutorials, with their manifests and without Volcano.

Spark by its operator is in `tests/e2e/operators/spark-operator`: the operator creates the PodGroup itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stromboli.kube.objects.catalogue import POD_GROUPS, QUEUES, VOLCANO_COMMANDS
from stromboli.kube.objects.timestamps import seconds_of
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from tests.e2e.volcano_jobs.tutorial_cluster import NAMESPACE, TutorialCluster, tutorial_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TutorialCluster]:
    async with tutorial_cluster(tmp_path_factory.mktemp("tutorials")) as running:
        yield running


async def test_quick_start(cluster: TutorialCluster) -> None:
    await cluster.apply("quick-start")
    job = await cluster.until_phase("job-1", "Running")
    name = f"job-1-{job.metadata.uid}"

    async def counted() -> bool:
        return (await cluster.client.get(QUEUES, "test")).status.running == 1

    await cluster.until(counted, "the running job in the status of the queue")
    group = await cluster.client.get(POD_GROUPS, name, namespace=NAMESPACE)
    assert (group.spec.queue, group.spec.min_member, group.status.phase) == ("test", 1, "Running")
    assert (await cluster.kubectl("get", "vcjob", "job-1")).splitlines()[0].split()[:4] == [
        "NAME", "STATUS", "MINAVAILABLE", "RUNNINGS",
    ]  # fmt: skip
    await cluster.kubectl("delete", "vcjob", "job-1", "--wait=true")

    async def gone() -> bool:
        return not await cluster.pods_of("job-1")

    await cluster.until(gone, "the deletion of the pods")


async def test_second_job_waits_for_the_capability_of_the_queue(cluster: TutorialCluster) -> None:
    await cluster.apply("queue")

    async def one_runs() -> list[str]:
        return [name for name in ("first", "second") if (await cluster.job(name)).status.state.phase == "Running"]

    (running,) = await cluster.until(one_runs, "the first job")
    (waiting,) = {"first", "second"} - {running}
    await asyncio.sleep(1)
    assert await one_runs() == [running]
    assert all(not pod.spec.node_name for pod in (await cluster.pods_of(waiting)).values())
    await cluster.kubectl("delete", "vcjob", running)
    await cluster.until_phase(waiting, "Running")
    await cluster.kubectl("delete", "vcjob", waiting)


async def test_lifecycle_policies(cluster: TutorialCluster) -> None:
    await cluster.apply("policies")
    completed = await cluster.until_phase("completed", "Completed")
    assert completed.status.succeeded == 1
    assert await _phases(cluster, "completed") == {"client-0": "Succeeded"}
    await cluster.until_phase("aborted", "Aborted")
    failed = await cluster.until_phase("restarted", "Failed")
    assert failed.status.retry_count == 2


async def test_commands_of_vcctl_abort_resume_and_terminate(cluster: TutorialCluster) -> None:
    """The objects have the fields that `vcctl job suspend` and `resume` write."""
    await cluster.kubectl("apply", "-f", "-", stdin=_sleeping("operated"))
    await cluster.until_phase("operated", "Running")
    for action, phase in (("AbortJob", "Aborted"), ("ResumeJob", "Running"), ("TerminateJob", "Terminated")):
        await _create_command(cluster, await cluster.job("operated"), action)
        await cluster.until_phase("operated", phase)

    async def consumed() -> bool:
        return not (await cluster.client.list(VOLCANO_COMMANDS, namespace=NAMESPACE)).items

    await cluster.until(consumed, "the deletion of the Commands")
    assert await cluster.pods_of("operated") == {}


async def test_suspend_resume_and_cancel(cluster: TutorialCluster) -> None:
    await cluster.kubectl("apply", "-f", "-", stdin=_sleeping("changed"))
    await cluster.until_phase("changed", "Running")
    assert await cluster.stromboli("suspend", "changed") == "job.batch.volcano.sh/changed suspended\n"
    await cluster.until_phase("changed", "Aborted")
    assert await cluster.stromboli("resume", "changed") == "job.batch.volcano.sh/changed resumed\n"
    await cluster.until_phase("changed", "Running")
    assert await cluster.stromboli("cancel", "changed") == "job.batch.volcano.sh/changed terminated\n"
    await cluster.until_phase("changed", "Terminated")
    assert await cluster.stromboli("cancel", "changed") == "job.batch.volcano.sh/changed deleted\n"


async def test_job_flow(cluster: TutorialCluster) -> None:
    await cluster.apply("job-flow")

    async def succeeded() -> bool:
        return (await cluster.flow("diamond")).status.state.phase == "Succeed"

    await cluster.until(succeeded, "the end of the flow")
    created = {job.metadata.name: job for job in await cluster.jobs_of("JobFlow", "diamond")}
    assert sorted(created) == ["diamond-a", "diamond-b", "diamond-c", "diamond-d"]
    assert _began(created["diamond-b"]) >= _ended(created["diamond-a"])
    assert _began(created["diamond-d"]) >= max(_ended(created["diamond-b"]), _ended(created["diamond-c"]))
    assert (await cluster.flow("diamond")).status.completed_jobs == sorted(created)
    (_, line) = (await cluster.kubectl("get", "jobflow", "diamond")).splitlines()
    assert line.split()[:2] == ["diamond", "Succeed"]
    template = json.loads(await cluster.kubectl("get", "jobtemplate", "a", "-o", "json"))
    assert template["status"]["jobDependsOnList"] == ["diamond-a"]


async def test_cron_job(cluster: TutorialCluster) -> None:
    await cluster.apply("cron-job")
    names: set[str] = set()

    async def three_ran() -> bool:
        names.update(job.metadata.name for job in await cluster.jobs_of("CronJob", "report"))
        return len(names) >= 3 and bool((await cluster.cron_job("report")).status.last_successful_time)

    await cluster.until(three_ran, "three runs")
    await cluster.kubectl("patch", "cronvcjob", "report", "--type=merge", "-p", '{"spec":{"suspend":true}}')

    async def at_rest() -> bool:
        jobs = await cluster.jobs_of("CronJob", "report")
        return [job.status.state.phase for job in jobs] == ["Completed", "Completed"]

    await cluster.until(at_rest, "the end of the last run")
    await asyncio.sleep(3)
    assert await at_rest()
    assert not (await cluster.cron_job("report")).status.active
    assert (await cluster.kubectl("get", "cronvcjob", "report")).splitlines()[0].split() == [
        "NAME", "SCHEDULE", "SUSPEND", "LAST", "SCHEDULE", "AGE",
    ]  # fmt: skip


@pytest.mark.only("real", because="in the local cluster the controllers are no process of their own")
async def test_killed_controllers_create_each_job_once(cluster: TutorialCluster) -> None:
    await cluster.apply("job-flow", diamond="killed")
    await cluster.apply("cron-job", report="beat")
    created: dict[str, set[str]] = {}

    async def observe() -> bool:
        for job in (*await cluster.jobs_of("JobFlow", "killed"), *await cluster.jobs_of("CronJob", "beat")):
            created.setdefault(job.metadata.name, set()).add(job.metadata.uid)
        return (await cluster.flow("killed")).status.state.phase == "Succeed"

    for seconds in (0.9, 1.5, 2.1, 1.2, 1.8):
        await asyncio.sleep(seconds)
        await observe()
        cluster.kill_controllers()
    await cluster.until(observe, "the end of the flow")
    await cluster.kubectl("delete", "cronvcjob", "beat")
    assert {name for name in created if name.startswith("killed")} == {f"killed-{name}" for name in "abcd"}
    assert len(created) > 5
    assert {name: len(uids) for name, uids in created.items()} == dict.fromkeys(created, 1)


# -- objects ------------------------------------------------------------------------------------------------------


def _sleeping(name: str) -> str:
    container = {"name": "main", "image": "example/main", "command": ["sleep", "1000"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return json.dumps(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"schedulerName": "volcano", "tasks": [{"name": "worker", "replicas": 2, "template": template}]},
        }
    )


async def _create_command(cluster: TutorialCluster, job: VolcanoJob, action: str) -> None:
    target: dict[str, Any] = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    name = f"{job.metadata.name}-{action.lower()}-"
    metadata = {"generateName": name, "namespace": NAMESPACE, "ownerReferences": [target]}
    await cluster.client.create(VOLCANO_COMMANDS, {"metadata": metadata, "target": target, "action": action})


async def _phases(cluster: TutorialCluster, job: str) -> dict[str, str | None]:
    return {name: pod.status.phase for name, pod in (await cluster.pods_of(job)).items()}


def _began(job: VolcanoJob) -> float:
    return seconds_of(job.metadata.creation_timestamp) or 0.0


def _ended(job: VolcanoJob) -> float:
    return seconds_of(job.status.state.last_transition_time) or 0.0
