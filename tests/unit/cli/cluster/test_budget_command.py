"""`stromboli budget` against an API server and a history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.core.model.usage.budgets import BUDGETS
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import QUEUES
from stromboli.local.api_server.server import ApiServer
from tests.testing.histories import example_records, write_records

PAGE = (Path(__file__).parents[4] / "docs/plugins/budgets.md").read_text()
NOW = "2026-03-02T12:00:00Z"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    write_records(str(tmp_path / "history.db"), *example_records())
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        for name, parent in (("root", ""), ("science", "root"), ("research", "science"), ("production", "root")):
            await client.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, "parent": parent}})
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield server


async def run(folder: Path, *arguments: str) -> Result:
    command = ["budget", *arguments, "--kubeconfig", str(folder / "kubeconfig")]
    return await asyncio.to_thread(CliRunner().invoke, main, command)


async def shown(folder: Path, *arguments: str) -> Result:
    return await run(folder, "show", *arguments, "--history", str(folder / "history.db"), "--now", NOW)


async def test_budgets_are_set_replaced_shown_and_removed(server: ApiServer, tmp_path: Path) -> None:
    result = await run(tmp_path, "set", "science", "--hours", "10", "--carry-over", "5", "--over", "preemptible")
    assert result.stdout == "queue.scheduling.volcano.sh/science: budget for nvidia.com/gpu set\n"
    await run(tmp_path, "set", "science", "--hours", "20", "--period", "week", "--grace", "2")
    await run(tmp_path, "set", "research", "--hours", "12", "--user", "*", "--period", "day", "--warn-at", "50")
    await run(tmp_path, "set", "root", "--resource", "cpu", "--hours", "135.5", "--namespace", "team-a", "--grace", "5")
    result = await shown(tmp_path)
    assert f"$ stromboli budget show\n{result.stdout}```" in PAGE
    result = await shown(tmp_path, "science", "-o", "json")
    [found] = json.loads(result.stdout)["budgets"]
    week = {"hours": 20.0, "period": "week", "carryOver": 0.0, "grace": 2.0, "over": "block", "warnAt": [80, 100]}
    assert found["budget"] == {"resource": "nvidia.com/gpu", "user": "", "namespace": "", **week}
    assert found["usedHours"] == pytest.approx(46_666 / 3600)
    result = await run(tmp_path, "unset", "science")
    assert result.stdout == "queue.scheduling.volcano.sh/science: budget for nvidia.com/gpu removed\n"
    result = await run(tmp_path, "unset", "science")
    assert (result.exit_code, result.stderr) == (1, "error: queue science has no budget for nvidia.com/gpu\n")
    async with Client(server.connection) as client:
        assert BUDGETS not in ((await client.get(QUEUES, "science")).metadata.annotations or {})


async def test_jobs_without_a_user_are_shown_apart(server: ApiServer, tmp_path: Path) -> None:
    await run(tmp_path, "set", "production", "--hours", "4", "--user", "*")
    result = await shown(tmp_path, "production")
    assert "production  no user  GPUs" in result.stdout


async def test_invalid_annotation_and_unknown_queue_are_reported(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        await client.patch(QUEUES, "research", {"metadata": {"annotations": {BUDGETS: "[1]"}}})
    result = await shown(tmp_path)
    assert result.exit_code == 0
    assert "queue research: annotation stromboli.dev/budgets: Expected `object`, got `int`" in result.stderr
    result = await run(tmp_path, "set", "missing", "--hours", "1")
    assert (result.exit_code, "queue missing does not exist" in result.stderr) == (1, True)
    result = await shown(tmp_path, "missing")
    assert "no queue missing; there are production, research, root, science" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--hours", "nan"), "'nan' is not a number of hours"),
        (("--hours", "inf"), "is not in the range"),
        (("--hours", "5", "--grace", "nan"), "'nan' is not a number of hours"),
        (("--hours", "5", "--resource", ""), "'' is not the name of a resource such as nvidia.com/gpu"),
        (("--hours", "5", "--resource", "a b"), "'a b' is not the name of a resource"),
    ],
)
async def test_invalid_budget_is_not_written(
    arguments: tuple[str, ...], message: str, server: ApiServer, tmp_path: Path
) -> None:
    """It would end the effect of all other budgets of the queue."""
    result = await run(tmp_path, "set", "science", *arguments)
    assert (result.exit_code, message in result.stderr.replace("\n", " ")) == (2, True), result.stderr
    async with Client(server.connection) as client:
        assert BUDGETS not in ((await client.get(QUEUES, "science")).metadata.annotations or {})


async def test_invalid_annotation_is_named_with_a_remedy_and_hides_no_other_queue(
    server: ApiServer, tmp_path: Path
) -> None:
    await run(tmp_path, "set", "science", "--hours", "10")
    async with Client(server.connection) as client:
        await client.patch(QUEUES, "production", {"metadata": {"annotations": {BUDGETS: "[{}]"}}})
    result = await shown(tmp_path, "-o", "json")
    assert [each["queue"] for each in json.loads(result.stdout)["budgets"]] == ["science"]
    remedy = f"kubectl annotate queue production {BUDGETS}-"
    assert remedy in json.loads(result.stdout)["warnings"][0]
    result = await run(tmp_path, "set", "production", "--hours", "1")
    assert (result.exit_code, remedy in result.stderr) == (1, True)
