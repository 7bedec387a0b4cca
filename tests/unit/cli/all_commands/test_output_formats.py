"""Every command that prints objects or results has the same output formats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.text import tables
from tests.docs.test_pages import commands
from tests.unit.cli.all_commands.output_formats import FORMATS, assert_formats_agree
from tests.unit.cli.test_replay_command import a_dump

ROOT = Path(__file__).parents[4]

#: Arguments of every command with `--output`, and a name that it prints; `DUMP` is the path of a dump.
CASES = {
    "plan": ("plan -f examples/cluster --explain", "podgroup.scheduling.volcano.sh/research/finetune"),
    "plan with evictions": (
        "plan -f examples/contention --conf examples/contention/scheduler.conf",
        "podgroup.scheduling.volcano.sh/default/urgent",
    ),
    "explain": ("explain -f examples/topology wide", "podgroup.scheduling.volcano.sh/default/wide"),
    "simulate": ("simulate -f examples/day", "podgroup.scheduling.volcano.sh/default/large"),
    "forecast": (
        "forecast -f examples/forecast --now 2026-03-02T09:30:00Z",
        "podgroup.scheduling.volcano.sh/research/sweep",
    ),
    "trace info": ("trace info DUMP", "queue/default"),
    "topology": ("topology -f examples/topology", "hypernode.topology.volcano.sh/rack-00"),
    "replay": ("replay DUMP", "podgroup.scheduling.volcano.sh/team/large"),
    "jobs": ("jobs -f examples/cluster", "podgroup.scheduling.volcano.sh/research/finetune"),
    "job": ("job -f examples/cluster finetune", "podgroup.scheduling.volcano.sh/research/finetune"),
    "queues": ("queues -f examples/cluster", "queue.scheduling.volcano.sh/research"),
    "priority": (
        "priority -f examples/cluster research/finetune",
        "podgroup.scheduling.volcano.sh/research/finetune",
    ),
    "score": ("score -f examples/cluster train", "node/node-b"),
    "nodes": ("nodes -f examples/cluster", "node/gpu-a"),
    "hypernodes discover": (
        "hypernodes discover -f examples/topology --keys host",
        "hypernode.topology.volcano.sh/host.node-000",
    ),
    "manifests": ("manifests", "deployment.apps/stromboli-scheduler"),
    "admission configuration": (
        "admission configuration",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/stromboli",
    ),
    "config check": ("config check examples/contention/scheduler.conf", "plugin/gang"),
    "reasons": ("reasons", "QueueNotOpen"),
    "examples": ("examples", "example/demo"),
}
#: They need a cluster or a history; their own tests check the formats.
ELSEWHERE = {"submit", "bindrequests", "history", "usage", "fairshare", "budget show", "uninstall"}


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = a_dump(tmp_path)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    return str(path)


def run(arguments: str, dump: str, output: str) -> Result:
    result = CliRunner().invoke(main, [*arguments.replace("DUMP", dump).split(), "-o", output])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def with_output() -> Iterator[str]:
    for name, command in commands(main, ""):
        if any(isinstance(each, click.Option) and "--output" in each.opts for each in command.params):
            yield name.strip()


def test_every_command_with_output_is_in_the_table() -> None:
    assert {name.removesuffix(" with evictions") for name in CASES} | ELSEWHERE == set(with_output())


@pytest.mark.parametrize("name", CASES)
def test_formats_agree(name: str, dump: str) -> None:
    arguments, expected = CASES[name]
    results = {output: run(arguments, dump, output) for output in FORMATS}
    assert_formats_agree(results)
    assert expected in results["name"].stdout.splitlines()


@pytest.mark.parametrize("name", CASES)
def test_table_fits_a_terminal_of_80_columns(name: str, dump: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(CASES[name][0], dump, "table").stdout.splitlines()
    assert not [line for line in lines if len(line.rstrip()) > 80]


@pytest.mark.parametrize("name", CASES)
def test_unknown_format_lists_the_formats(name: str, dump: str) -> None:
    result = run(CASES[name][0], dump, "xml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'table', 'wide', 'json', 'yaml', 'name'" in result.stderr
