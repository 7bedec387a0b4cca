"""Plans with past usage: that of a history, or a warning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.core.model.usage.budgets import BUDGETS
from tests.testing.cases.case import configuration
from tests.testing.histories import example_records, write_records
from tests.testing.manifests.builders import gang, node, queue

NOW = "2026-03-02T12:00:00Z"
#: Queue research has used 103.7 processor hours in this month.
BUDGET = json.dumps([{"resource": "cpu", "hours": 100}])
UNKNOWN = "the policy reads past usage, which is not known here"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_records("history.db", *example_records())
    world = [node("a", 4), queue("research", annotations={BUDGETS: BUDGET}), *gang(1, 1, name="next", queue="research")]
    Path("cluster.yaml").write_text(yaml.safe_dump_all(world))
    Path("policy.yaml").write_text(configuration("budget", "gang", "predicates"))
    Path("without.yaml").write_text(configuration("gang", "predicates"))
    return tmp_path


def run(command: str, *arguments: str, policy: str = "policy.yaml") -> Result:
    job = ["default/next"] if command == "explain" else []
    options = ["-f", "cluster.yaml", "--conf", policy, "--now", NOW, *arguments]
    return CliRunner().invoke(main, [command, *options, *job])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["plan", "explain"])
def test_budget_that_the_history_has_used_up_blocks_a_job(command: str) -> None:
    result = run(command, "--history", "history.db")
    assert (result.exit_code, UNKNOWN in result.stderr) == (3, False), result.output
    assert "103.7 of 100.0 hours" in run("explain", "--history", "history.db").stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["plan", "explain"])
def test_without_a_history_nothing_counts_as_used_which_is_a_warning(command: str) -> None:
    result = run(command)
    assert (result.exit_code, UNKNOWN in result.stderr) == (0, True), result.output


@pytest.mark.usefixtures("folder")
def test_policy_that_reads_no_usage_needs_no_history() -> None:
    for arguments in ((), ("--history", "missing.db")):
        result = run("plan", *arguments, policy="without.yaml")
        assert (result.exit_code, result.stderr) == (0, ""), result.output
