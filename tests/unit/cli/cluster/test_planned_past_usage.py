"""Plans with past usage: that of a history, or a warning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.core.model.usage.budgets import BUDGETS
from tests.testing.cases.case import configuration, plugin
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


#: Queue research has used three times what production has used: by this policy the only place is that of production.
FAIR = configuration(
    "gang", plugin("fairshare", {"halfLife": "0s", "k": 20}), "proportion", "predicates", actions="enqueue, allocate"
)


@pytest.fixture
def fair_folder(folder: Path) -> Path:
    run_time = {"scheduling.stromboli.dev/run-time": "1h"}
    world = [
        node("a", 1), queue("research"), queue("production"),
        *gang(1, 1, name="first", queue="research", annotations=run_time, notes=run_time),
        *gang(1, 1, name="second", queue="production", annotations=run_time, notes=run_time),
    ]  # fmt: skip
    Path("cluster.yaml").write_text(yaml.safe_dump_all(world))
    Path("fair.yaml").write_text(FAIR)
    return folder


Found = Any
COMMANDS = [
    pytest.param("plan", "", lambda found: list(found["binds"]) == ["default/second-task-0"], id="plan"),
    pytest.param("jobs", "--plan", lambda found: [each["ready"] for each in found["jobs"]] == [0, 1], id="jobs"),
    pytest.param("job", "second", lambda found: found["nextNodes"] == {"a": 1}, id="job"),
    pytest.param("explain", "second", lambda found: not found["waiting"], id="explain"),
    pytest.param("priority", "second",
                 lambda found: [each["keys"]["fairshare"][1] for each in found["queues"]] == [0.219224, 0.713809],
                 id="priority"),
    pytest.param("queues", "",
                 lambda found: [each["deserved"].get("cpu") for each in found["queues"]][1:3] == ["1", None],
                 id="queues"),
    pytest.param("forecast", "", lambda found: found["jobs"]["default/second"]["latest"] == NOW, id="forecast"),
]  # fmt: skip


@pytest.mark.usefixtures("fair_folder")
@pytest.mark.parametrize(("command", "argument", "counts"), COMMANDS)
def test_commands_count_the_usage_of_the_history(command: str, argument: str, counts: Callable[[Found], bool]) -> None:
    options = ["-f", "cluster.yaml", "--conf", "fair.yaml", "--now", NOW, "-o", "json", *filter(None, [argument])]
    result = CliRunner().invoke(main, [command, *options, "--history", "history.db"])
    assert counts(json.loads(result.stdout)), result.output
    assert UNKNOWN not in result.output
    unknown = CliRunner().invoke(main, [command, *options])
    assert not counts(json.loads(unknown.stdout)), unknown.output
    assert UNKNOWN in unknown.output
