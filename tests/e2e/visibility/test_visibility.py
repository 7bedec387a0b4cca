"""People with the role `edit` in one namespace ask the scheduler through a real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import POD_GROUPS
from stromboli.visibility.questions import ROOT
from testbed.controller_manager import controller_manager
from testbed.plane import ControlPlane
from tests.e2e.visibility.tenant import OTHER, STRANGER, TENANT, AskingTenant, asking_tenant
from tests.testing.manifests.builders import gang
from tests.testing.planes import fresh_plane

pytestmark = pytest.mark.only("real", because="the embedded server has no RBAC and no aggregation")

#: Two nodes of four cpus: the job of the other tenant leaves one of them for the tenant.
OTHERS = gang(1, 3, name="secret-training", namespace=OTHER)
MINE = gang(2, 3, name="mine", namespace=TENANT)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A server of its own: nodes that other tests left behind would take the job that waits."""
    with fresh_plane() as own:
        yield own


@pytest.fixture
async def tenant(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[AskingTenant]:
    """The role `edit` contains the rights by aggregation, for which kube-controller-manager runs."""
    with controller_manager(plane, tmp_path, own_accounts=False):
        async with asking_tenant(plane, tmp_path, *OTHERS) as found:
            await found.until_bound("secret-training-task-0", OTHER)
            await found.apply(*MINE)
            await _until_reported(found)
            yield found


async def _until_reported(tenant: AskingTenant) -> None:
    async with asyncio.timeout(40):
        while True:
            group = await tenant.administrator.get(POD_GROUPS, "mine", namespace=TENANT)
            rights = await tenant.run("jobs", "-o", "json")
            if group.status.conditions and '"position": 1' in rights.output:
                return
            await asyncio.sleep(0.3)


def shows_no_other(text: str) -> bool:
    return OTHER not in text and "secret" not in text


async def test_tenant_plans_explains_and_lists_without_names_of_others(tenant: AskingTenant) -> None:
    submitted = gang(1, 3, name="next", namespace=TENANT)
    for command in ("plan", "plan --explain -o wide", "plan -o name"):
        result = await tenant.run(*command.split(), files=submitted)
        assert result.exit_code == 0, (command, result.output)
        assert shows_no_other(result.output), (command, result.output)
        assert "next" in result.output
    for command in ("plan", "explain mine", "jobs", "job mine", "queues", "explain mine -o json", "jobs -o yaml"):
        result = await tenant.run(*command.split())
        assert result.exit_code in (0, 3), (command, result.output)
        assert shows_no_other(result.output), (command, result.output)
        assert command == "queues" or "mine" in result.output


async def test_answers_are_those_of_the_scheduler(tenant: AskingTenant) -> None:
    plan = await tenant.run("plan", files=gang(1, 3, name="next", namespace=TENANT))
    assert plan.exit_code == 0
    assert "note: the scheduler answers: you may not list " in plan.stderr
    assert f"{TENANT}/next starts now on " in plan.stdout
    explained = await tenant.report("explain", "mine")
    assert explained["waiting"] is True
    assert {reason["code"] for reason in explained["reasons"]} >= {"InsufficientResource"}
    [job] = (await tenant.report("jobs"))["jobs"]
    assert (job["job"], job["position"]) == ("mine", 1)
    unknown = (await tenant.run("job", "secret-training")).stderr
    assert unknown.startswith(f"error: no job is called secret-training in namespace {TENANT};")


async def test_plan_of_other_namespaces_is_refused(tenant: AskingTenant) -> None:
    result = await tenant.run("plan", "-n", OTHER)
    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        f"The scheduler was asked instead: you may not ask the scheduler about namespace {OTHER}; ask for the role "
        f"stromboli-user, view or edit in namespace {OTHER}"
    ) in result.stderr
    submitted = await tenant.run("plan", files=gang(1, 1, name="next", namespace=OTHER))
    assert submitted.exit_code == 1
    assert f"is not in namespace {TENANT}, that of the question" in submitted.stderr


async def test_person_without_rights_gets_a_sentence_with_the_remedy(tenant: AskingTenant) -> None:
    for command in (("plan",), ("explain", "mine"), ("job", "mine"), ("queues",)):
        result = await tenant.run(*command, account=STRANGER)
        assert (result.exit_code, result.stdout) == (1, ""), command
        assert "error: you may not list " in result.stderr
        assert f"you may not ask the scheduler about namespace {STRANGER}" in result.stderr


async def test_kubectl_reads_the_same_with_get_raw(tenant: AskingTenant) -> None:
    async with Client(load_kubeconfig(str(tenant.kubeconfigs[TENANT]))) as client:
        found = json.loads(await client.request("GET", f"{ROOT}/namespaces/{TENANT}/jobs/mine/explanation"))
        text = json.loads(
            await client.request("GET", f"{ROOT}/namespaces/{TENANT}/jobs/mine/explanation", params={"output": "table"})
        )
        with pytest.raises(ApiError, match="403 Forbidden"):
            await client.request("GET", f"{ROOT}/namespaces/{OTHER}/jobs")
    assert (found["kind"], found["exitCode"], found["result"]["job"]) == ("Answer", 3, f"{TENANT}/mine")
    assert text["text"].startswith(f"{TENANT}/mine waits: ")
