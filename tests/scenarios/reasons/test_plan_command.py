"""Some of the cases through the command: files as input, text and exit codes as output."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli.commands.ask.plan import plan
from tests.testing.cases.case import PLAIN, STANDARD, Case, configuration
from tests.testing.manifests.builders import foreign, gang, nodes, priority_class, queue, running

Run = Callable[..., Result]

CASES = [
    Case("every pod fits", nodes(4, 2), gang(3, cpu=2), binds="aab"),
    Case("one short: no pod is bound", nodes(4, 1), gang(3, cpu=2), binds="---"),
    Case("a pod is pipelined", nodes(2, 1), running("a", cpu=2, releasing=True), gang(1, cpu=2), binds="A"),
    Case(
        "shares",
        nodes(4, 1), queue("left", 3), queue("right"), gang(4, minimum=0, name="first", queue="left"),
        gang(4, minimum=0, name="second", queue="right"), conf=STANDARD, binds="aaa- a---",
    ),
    Case(
        "priorities",
        nodes(2, 1), priority_class("high", 9), gang(2, name="first"), gang(2, name="second", priority="high"),
        conf=configuration("gang", "priority"), binds="-- aa",
    ),
    Case(
        "something is wrong",
        nodes(2, 2), queue("odd", weight=0), gang(2), binds="aa",
        warnings=["Queue odd: spec.weight: must be at least 1, got 0; the queue takes no jobs"],
    ),
    Case("two cycles", nodes(2, 1), foreign("a"), gang(1), cycles=2, binds="a"),
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in a folder that holds the case, one file for the cluster and one for its configuration."""
    monkeypatch.chdir(tmp_path)

    def run_command(case: Case, *options: str) -> Result:
        Path("cluster.yaml").write_text(yaml.safe_dump_all(case.manifests), encoding="utf-8")
        Path("scheduler.conf").write_text(case.conf, encoding="utf-8")
        given = ["-f", "cluster.yaml", "--conf", "scheduler.conf", "--cycles", str(case.cycles)]
        return CliRunner().invoke(plan, [*given, *options])

    return run_command


def report_of(result: Result) -> dict[str, Any]:
    """Return the report without file and line of warnings, which the library does not have."""
    report: dict[str, Any] = json.loads(result.stdout)
    located = re.compile(r"cluster\.yaml:\d+: ")
    assert all(located.match(warning) for warning in report["warnings"])
    return {**report, "warnings": [located.sub("", warning) for warning in report["warnings"]]}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_command_decides_as_library(case: Case, run: Run) -> None:
    made, result = case.plan(), run(case, "-o", "json")
    report = report_of(result)
    case.check()
    assert report["binds"] == made.binds
    assert report["pipelined"] == made.pipelined
    assert report["evictions"] == made.evictions
    assert report["warnings"] == list(made.warnings)
    assert {key: group["phase"] for key, group in report["podGroups"].items()} == {
        key: group.phase for key, group in made.groups.items()
    }
    assert len(report["cycles"]) == case.cycles


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exit_code_reports_waiting_pods(case: Case, run: Run) -> None:
    all_are_bound = case.expected["binds"].islower() and "-" not in case.expected["binds"]
    assert run(case).exit_code == (0 if all_are_bound else 3)


def test_table_has_reasons(run: Run) -> None:
    case = Case("", nodes(6, 1), foreign("a", cpu=2), gang(3, cpu=2), conf=PLAIN, binds="---")
    shown = run(case).stdout
    assert "2 of 3 pods fit; the next needs 2 cpu, most free is 0\n" in shown
    assert "0/1 nodes are available: 1 Insufficient cpu." in run(case, "-o", "wide").stdout
    assert shown.endswith("0 pods bound in 1 cycle; 1 job waits.\n")


def test_plan_does_not_depend_on_order_of_objects(run: Run) -> None:
    for case in CASES:
        forwards = report_of(run(case, "-o", "json"))
        backwards = report_of(run(case.backwards(), "-o", "json"))
        assert backwards == forwards


def test_invalid_configuration_is_rejected(run: Run) -> None:
    result = run(Case("", nodes(4, 1), gang(1), conf=configuration("gnag"), binds="-"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "unknown plugin 'gnag'; did you mean 'gang'?" in result.stderr
