"""`stromboli submit`: the objects of a job, and what happens if one of them cannot be created."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.changes.submission import failure_of
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import JOBS, POD_GROUPS, QUEUES, VOLCANO_JOBS
from stromboli.kube.objects.volcano_jobs import VolcanoJob
from stromboli.kube.objects.workloads import BatchJob
from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.api_server.server import ApiServer


def dry_run(*arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    command = [
        "submit",
        "--image",
        "example/train:2",
        "--name",
        "train",
        "-n",
        "team",
        "--dry-run",
        "-o",
        "yaml",
        *arguments,
    ]
    group, job = yaml.safe_load_all(CliRunner().invoke(main, command).stdout)
    return group, job


def test_gang_is_an_indexed_job_with_a_pod_group() -> None:
    size = ("--gang", "3", "--gpu", "2", "--cpu", "500m", "--memory", "1Gi")
    rank = ("--queue", "research", "--priority-class", "urgent", "--time", "1h")
    group, job = dry_run(*size, *rank, "--env", "A=b=c", "--", "run", "--fast")
    assert group["spec"] == {
        "minMember": 3, "queue": "research", "priorityClassName": "urgent",
        "minResources": {"cpu": "1500m", "memory": "3Gi", "nvidia.com/gpu": "6"},
    }  # fmt: skip
    spec = job["spec"]
    assert {key: spec[key] for key in ("parallelism", "completions", "completionMode", "backoffLimit")} == {
        "parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimit": 0,
    }  # fmt: skip
    pod, container = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]
    assert spec["template"]["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "train"}
    assert (pod["schedulerName"], pod["priorityClassName"], pod["activeDeadlineSeconds"]) == (
        "stromboli",
        "urgent",
        3600,
    )
    assert (container["command"], container["env"]) == (["run", "--fast"], [{"name": "A", "value": "b=c"}])
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "2"}


VOLCANO = {
    "minAvailable": 2, "schedulerName": "stromboli", "queue": "research",
    "policies": [{"event": "PodFailed", "action": "TerminateJob"}],
}  # fmt: skip


def test_volcano_job_has_the_gang_as_its_only_task() -> None:
    command = ["submit", "--kind", "vcjob", "--image", "x", "--name", "train", "-n", "team", "--dry-run", "-o", "yaml"]
    result = CliRunner().invoke(main, [*command, "--gang", "2", "--pods", "3", "--queue", "research", "--", "run"])
    [job] = yaml.safe_load_all(result.stdout)
    [task] = job["spec"].pop("tasks")
    assert (job["apiVersion"], job["kind"], job["spec"]) == ("batch.volcano.sh/v1alpha1", "Job", VOLCANO)
    assert (task["replicas"], task["minAvailable"]) == (3, 2)
    assert task["template"]["spec"]["containers"][0]["command"] == ["run"]


def test_retries_restart_a_volcano_job() -> None:
    command = ["submit", "--kind", "vcjob", "--image", "x", "-n", "team", "--dry-run", "-o", "json", "--retries", "2"]
    [job] = json.loads(CliRunner().invoke(main, command).stdout)["items"]
    assert job["spec"]["maxRetry"] == 2
    assert job["spec"]["policies"] == [{"event": "PodFailed", "action": "RestartJob"}]


def test_pods_above_the_gang_do_not_count_for_its_minimum() -> None:
    group, job = dry_run("--gang", "2", "--pods", "5")
    assert (group["spec"]["minMember"], group["spec"]["minResources"], job["spec"]["parallelism"]) == (
        2,
        {"cpu": "2"},
        5,
    )


def test_name_is_made_from_the_image() -> None:
    result = CliRunner().invoke(main, ["submit", "--image", "r.io/a/My_Train:v1", "-n", "x", "--dry-run", "-o", "name"])
    [group, job] = result.stdout.split()
    assert group.startswith("podgroup.scheduling.volcano.sh/my-train-")
    assert job == f"job.batch/{group.partition('/')[2]}"


WRONG = {
    "amount": (("--cpu", "many"), 'cpu: "many" is not a quantity'),
    "fewer pods than the gang": (("--gang", "3", "--pods", "2"), "--pods 2 is less than --gang 3"),
    "pair": (("--env", "A"), "'A' is not of the form NAME=VALUE"),
    "pair twice": (("--env", "A=1", "--env", "A=2"), "A is set twice"),
    "no image": ((), "Missing option '--image'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_reported(case: str) -> None:
    arguments, message = WRONG[case]
    image = () if case == "no image" else ("--image", "x")
    result = CliRunner().invoke(main, ["submit", *image, "-n", "x", "--dry-run", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        yield server


async def submit(server: ApiServer, folder: Path, *arguments: str) -> Result:
    server.write_kubeconfig(folder / "kubeconfig")
    command = ["submit", "--kubeconfig", str(folder / "kubeconfig"), "--image", "x", "--name", "train", *arguments]
    return await asyncio.to_thread(CliRunner().invoke, main, command)


async def test_job_owns_its_pod_group(server: ApiServer, tmp_path: Path) -> None:
    result = await submit(server, tmp_path, "--gang", "2")
    assert result.stdout == "podgroup.scheduling.volcano.sh/train created\njob.batch/train created\n"
    async with Client(server.connection) as client:
        job, group = await client.get(JOBS, "train"), await client.get(POD_GROUPS, "train")
    [owner] = group.metadata.owner_references or []
    assert (owner.kind, owner.uid, group.spec.min_member) == ("Job", job.metadata.uid, 2)


async def test_volcano_job_is_created_and_waited_for_by_its_group(server: ApiServer, tmp_path: Path) -> None:
    async def group_of(client: Client) -> None:
        """Make and start the group, as controller and scheduler do."""
        while not (jobs := (await client.list(VOLCANO_JOBS)).items):
            await asyncio.sleep(0.01)
        owner = {"apiVersion": VOLCANO_JOBS.api_version, "kind": "Job", "name": "train", "uid": jobs[0].metadata.uid}
        metadata = {"name": f"train-{jobs[0].metadata.uid}", "ownerReferences": [owner]}
        await client.create(
            POD_GROUPS, {"metadata": metadata, "spec": {"minMember": 1}, "status": {"phase": "Running"}}
        )

    async with Client(server.connection) as client:
        making = asyncio.ensure_future(group_of(client))
        result = await submit(server, tmp_path, "--kind", "vcjob", "--wait", "--timeout", "20s")
        await making
    assert (result.exit_code, result.stdout) == (0, "job.batch.volcano.sh/train created\n")
    assert result.stderr == "started\n"


FAILURES = {
    "volcano": ({"state": {"phase": "Failed", "reason": "pod failed"}}, VolcanoJob, "pod failed"),
    "volcano, ended by a policy": ({"state": {"phase": "Terminated"}}, VolcanoJob, "Terminated"),
    "volcano, running": ({"state": {"phase": "Running", "message": "all well"}}, VolcanoJob, ""),
    "batch": ({"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}, BatchJob, "m"),
    "batch, complete": ({"conditions": [{"type": "Complete", "status": "True", "message": "m"}]}, BatchJob, ""),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failure_of_a_job_is_found_in_its_status(case: str) -> None:
    status, kind, expected = FAILURES[case]
    assert failure_of(msgspec.convert({"status": status}, kind)) == expected


async def test_job_is_deleted_if_its_pod_group_cannot_be_created(server: ApiServer, tmp_path: Path) -> None:
    server.faults.add(Match(method="POST", plural="podgroups"), Answer(403, "Forbidden", "no"))
    result = await submit(server, tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    async with Client(server.connection) as client:
        assert [job for job in (await client.list(JOBS)).items if not job.metadata.deletion_timestamp] == []


async def test_unknown_queue_is_an_error_with_the_existing_ones(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        await client.create(QUEUES, {"metadata": {"name": "research"}, "spec": {"weight": 1}})
    result = await submit(server, tmp_path, "--queue", "reserch")
    assert (result.exit_code, result.stderr) == (1, "error: queue reserch does not exist; there are research\n")


async def test_existing_name_is_an_error(server: ApiServer, tmp_path: Path) -> None:
    await submit(server, tmp_path)
    result = await submit(server, tmp_path)
    assert result.exit_code == 1
    assert "409 AlreadyExists" in result.stderr
