"""`stromboli suspend`, `resume`, `cancel` and `queue` against an API server without controllers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.changes.workloads import CONTROLLERS, JobWorkload
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import CRDS, JOBS, NODES, POD_GROUPS, PODS, QUEUES, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.meta import OwnerReference
from stromboli.local.api_server.server import ApiServer
from tests.testing.manifests.builders import pod

JOB = {
    "metadata": {"name": "train"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}},
}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        job = await client.create(JOBS, JOB)
        await client.create(
            POD_GROUPS, _group("podgroup-" + job.metadata.uid, "batch/v1", "Job", "train", job.metadata.uid)
        )
        await client.create(POD_GROUPS, _group("web", "apps/v1", "ReplicaSet", "web-1", "u-web"))
        await client.create(POD_GROUPS, _group("vc-u-vc", "batch.volcano.sh/v1alpha1", "Job", "vc", "u-vc"))
        await client.create(POD_GROUPS, {"metadata": {"name": "plain"}, "spec": {"minMember": 1}})
        member = pod(1, name="plain-0", annotations={"scheduling.k8s.io/group-name": "plain"})
        member["metadata"].pop("uid")
        await client.create(PODS, member)
        yield server


def _group(name: str, version: str, kind: str, owner: str, uid: str) -> dict[str, Any]:
    reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": uid, "controller": True}
    return {"metadata": {"name": name, "ownerReferences": [reference]}, "spec": {"minMember": 1}}


async def run(server: ApiServer, folder: Path, *arguments: str) -> Result:
    server.write_kubeconfig(folder / "kubeconfig")
    command = [*arguments, "--kubeconfig", str(folder / "kubeconfig")]
    return await asyncio.to_thread(CliRunner().invoke, main, command)


async def test_batch_job_is_suspended_and_resumed(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        for verb, suspended in (("suspend", True), ("resume", False)):
            result = await run(server, tmp_path, verb, "default/train")
            assert result.stdout == f"job.batch/train {verb.removesuffix('e')}ed\n"
            assert (await client.get(JOBS, "train")).spec.suspend is suspended


async def test_volcano_job_is_suspended_and_resumed_by_commands(server: ApiServer, tmp_path: Path) -> None:
    for verb in ("suspend", "resume"):
        result = await run(server, tmp_path, verb, "vc")
        assert result.stdout == f"job.batch.volcano.sh/vc {verb.removesuffix('e')}ed\n"
    async with Client(server.connection) as client:
        commands = (await client.list(VOLCANO_COMMANDS)).items
    assert sorted(command.action for command in commands if command.action) == ["AbortJob", "ResumeJob"]
    assert {command.target.name for command in commands if command.target} == {"vc"}


async def test_suspended_job_has_a_reason_in_the_list_and_on_its_page(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        await client.create(NODES, {"metadata": {"name": "a"}})
        await run(server, tmp_path, "suspend", "train")
    listed = json.loads((await run(server, tmp_path, "jobs", "-o", "json")).stdout)["jobs"]
    reasons = {job["job"]: job["reason"] for job in listed}
    assert reasons["train"] == "suspended; stromboli resume continues it"
    assert "suspended" not in reasons["web"] + reasons["plain"]
    page = await run(server, tmp_path, "job", "train")
    assert "  Reason    suspended; stromboli resume continues it\n" in page.stdout


ERRORS = {
    "unknown": ("suspend nowhere", "error: no job is called nowhere in namespace default\n"),
    "kind without the state": (
        "suspend web",
        "error: replicaset.apps/web-1 cannot be suspended: its ReplicaSet has no field for that; "
        "`stromboli cancel` ends it\n",
    ),
    "plain pods": (
        "resume plain",
        "error: podgroup.scheduling.volcano.sh/plain cannot be resumed: no workload owns its pods; "
        "`stromboli cancel` ends it\n",
    ),
    "Volcano Job without Volcano": (
        "suspend vc",
        "error: the cluster has no Commands (bus.volcano.sh); install the CRDs with `stromboli manifests --only crds`, "
        "and `stromboli controller`\n",
    ),
    "deletion of another kind": (
        "cancel web",
        "error: replicaset.apps/web-1 is not a kind that this command deletes; use kubectl delete\n",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
async def test_impossible_changes_are_errors(server: ApiServer, tmp_path: Path, case: str) -> None:
    if case == "Volcano Job without Volcano":
        async with Client(server.connection) as client:
            await client.delete(CRDS, VOLCANO_COMMANDS.name)
    command, message = ERRORS[case]
    result = await run(server, tmp_path, *command.split())
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


async def test_cancel_deletes_the_workload_and_its_group(server: ApiServer, tmp_path: Path) -> None:
    result = await run(server, tmp_path, "cancel", "train")
    lines = result.stdout.splitlines()
    assert lines[0] == "job.batch/train deleted"
    assert lines[1].startswith("podgroup.scheduling.volcano.sh/podgroup-")


async def create_volcano_job(client: Client, phase: str) -> str:
    job = await client.create(VOLCANO_JOBS, {"metadata": {"name": "mpi"}, "spec": {}})
    status = {"status": {"state": {"phase": phase}}}
    await client.patch(VOLCANO_JOBS, "mpi", status, subresource="status")
    return job.metadata.uid


@pytest.mark.parametrize(
    ("verb", "phase", "action", "outcome"),
    [
        ("suspend", "Running", "AbortJob", "suspended"),
        ("resume", "Aborted", "ResumeJob", "resumed"),
        ("cancel", "Running", "TerminateJob", "terminated"),
        ("cancel", "Aborted", "TerminateJob", "terminated"),
    ],
)
async def test_volcano_job_without_a_group_gets_a_command(
    server: ApiServer, tmp_path: Path, verb: str, phase: str, action: str, outcome: str
) -> None:
    async with Client(server.connection) as client:
        uid = await create_volcano_job(client, phase)
        result = await run(server, tmp_path, verb, "mpi")
        (command,) = (await client.list(VOLCANO_COMMANDS)).items
    assert (result.stdout, result.exit_code) == (f"job.batch.volcano.sh/mpi {outcome}\n", 0)
    assert command.metadata.name.startswith(f"mpi-{action.lower()}-")
    assert command.action == action
    target = OwnerReference("batch.volcano.sh/v1alpha1", "Job", "mpi", uid, controller=True)
    assert (command.target, command.metadata.owner_references) == (target, [target])


async def test_suspended_volcano_job_without_a_group_is_listed(server: ApiServer, tmp_path: Path) -> None:
    reason = "suspended; stromboli resume continues it"
    async with Client(server.connection) as client:
        uid = await create_volcano_job(client, "Aborted")
        await client.create(NODES, {"metadata": {"name": "a"}})
        listed = json.loads((await run(server, tmp_path, "jobs", "-o", "json")).stdout)["jobs"]
        (mpi,) = (job for job in listed if job["job"] == "mpi")
        assert (mpi["phase"], mpi["reason"], mpi["position"]) == ("Aborted", reason, None)
        for name in ("mpi", "default/mpi"):
            page = await run(server, tmp_path, "job", name, "-o", "json")
            document = json.loads(page.stdout)
            assert page.exit_code == 3
            assert (document["podGroup"], document["reason"], document["members"]) == (f"mpi-{uid}", reason, [])
        assert f"  Reason    {reason}\n" in (await run(server, tmp_path, "job", "mpi")).stdout
        await client.patch(VOLCANO_JOBS, "mpi", {"status": {"state": {"phase": "Completed"}}}, subresource="status")
        assert "mpi" not in (await run(server, tmp_path, "jobs")).stdout
        assert "no job is called mpi" in (await run(server, tmp_path, "job", "mpi")).stderr


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
async def test_cancel_deletes_a_volcano_job_that_has_ended(server: ApiServer, tmp_path: Path, phase: str) -> None:
    async with Client(server.connection) as client:
        await create_volcano_job(client, phase)
        result = await run(server, tmp_path, "cancel", "mpi")
        assert result.stdout == "job.batch.volcano.sh/mpi deleted\n"
        assert not (await client.list(VOLCANO_JOBS)).items


@pytest.mark.parametrize("verb", ["suspend", "resume"])
async def test_job_that_has_ended_cannot_be_suspended_or_resumed(server: ApiServer, tmp_path: Path, verb: str) -> None:
    async with Client(server.connection) as client:
        await create_volcano_job(client, "Completed")
        ended = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
        await client.patch(JOBS, "train", ended, subresource="status")
        for name, label in (("mpi", "job.batch.volcano.sh/mpi"), ("train", "job.batch/train")):
            result = await run(server, tmp_path, verb, name)
            assert (result.exit_code, result.stdout) == (1, "")
            assert result.stderr == f"error: {label} has ended and cannot be {verb.removesuffix('e')}ed\n"
        assert not (await client.list(VOLCANO_COMMANDS)).items
        assert (await client.get(JOBS, "train")).spec.suspend is not True


async def test_cancel_deletes_the_pods_of_a_plain_group(server: ApiServer, tmp_path: Path) -> None:
    result = await run(server, tmp_path, "cancel", "plain")
    assert result.stdout == "pod/plain-0 deleted\npodgroup.scheduling.volcano.sh/plain deleted\n"


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_every_kind_has_a_path(kind: tuple[str, str]) -> None:
    owner = OwnerReference(api_version=f"{kind[0]}/v1", kind=kind[1], name="a", uid="u")
    path = JobWorkload("team", None, owner).path
    assert path.startswith(f"/apis/{kind[0]}/v1/namespaces/team/")
    assert path.endswith("s/a")


QUEUE = "queue.scheduling.volcano.sh/a"


async def spec_of(client: Client, name: str) -> dict[str, Any]:
    return dict(msgspec.to_builtins((await client.get(QUEUES, name)).spec))


async def test_queue_is_created_changed_and_deleted(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        new = ("--weight", "3", "--capability", "cpu=4,memory=1Gi")
        assert (await run(server, tmp_path, "queue", "create", "a", *new)).stdout == f"{QUEUE} created\n"
        changes = ("--capability", "cpu=8", "--guarantee", "cpu=1", "--not-reclaimable")
        assert (await run(server, tmp_path, "queue", "set", "a", *changes)).stdout == f"{QUEUE} configured\n"
        assert await spec_of(client, "a") == {
            "weight": 3, "capability": {"cpu": "8"}, "guarantee": {"resource": {"cpu": "1"}}, "reclaimable": False,
        }  # fmt: skip
        await run(server, tmp_path, "queue", "set", "a", "--capability", "", "--guarantee", "")
        assert not (await spec_of(client, "a")).get("capability")
        assert (await run(server, tmp_path, "queue", "delete", "a")).stdout == f"{QUEUE} deleted\n"


async def test_queue_is_closed_and_opened_by_its_state(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        await run(server, tmp_path, "queue", "create", "a")
        outcomes = [(await run(server, tmp_path, "queue", verb, "a")).stdout.split(maxsplit=1)[1] for verb in
                    ("close", "close", "open", "open")]  # fmt: skip
        assert outcomes == ["closed\n", "is closed already\n", "opened\n", "is open already\n"]
        assert (await client.get(QUEUES, "a")).status.state == "Open"


QUEUE_ERRORS = {
    "unknown": ("open nowhere", "error: queue nowhere does not exist; there are child, jobs, parent\n"),
    "standard queue": ("delete default", "error: queue default cannot be deleted: every installation has it\n"),
    "closing the root": ("close root", "error: queue root cannot be closed: every installation has it\n"),
    "children": ("delete parent", "error: queue parent has children: child; delete them first\n"),
    "jobs": ("delete jobs", "error: queue jobs has jobs: default/one; close it, and wait for their end\n"),
    "unknown parent": (
        "create x --parent nowhere",
        "error: queue nowhere does not exist; the parent of a queue must exist\n",
    ),
}


@pytest.mark.parametrize("case", QUEUE_ERRORS)
async def test_impossible_changes_of_queues_are_errors(server: ApiServer, tmp_path: Path, case: str) -> None:
    command, message = QUEUE_ERRORS[case]
    async with Client(server.connection) as client:
        for name, parent in (("parent", None), ("child", "parent"), ("jobs", None)):
            await client.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, "parent": parent or ""}})
        await client.create(POD_GROUPS, {"metadata": {"name": "one"}, "spec": {"queue": "jobs"}})
    result = await run(server, tmp_path, "queue", *command.split())
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


WRONG = {
    "no setting": ("set a", "Name at least one setting, such as --weight."),
    "no amount": ("create a --capability many", "'many' is not of the form NAME=VALUE"),
    "invalid amount": ("create a --capability cpu=many", 'cpu: "many" is not a quantity'),
    "no resource of nodes": ("create a --deserved count/pods=1", "names something that is no resource of nodes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_of_queue_commands_is_reported(case: str) -> None:
    command, message = WRONG[case]
    result = CliRunner().invoke(main, ["queue", *command.split()])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())
