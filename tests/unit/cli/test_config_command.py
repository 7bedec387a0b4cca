"""`stromboli config check` and `stromboli config recommend`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli.commands.tools.config import config
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.config.registry import Registry, load_named
from stromboli.install.recommended import RECOMMENDED
from tests.unit.core.config.sample_configuration import COMPLETE, REGISTRY, config_map

Check = Callable[..., Result]

GOOD = """\
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
    enablePreemptable: false
    enableJobOrder: true
- plugins:
  - name: drf
    enableHierarchy: true
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.cpu: 1
      binpack.resources.nvidia.com/gpu: 2
configurations:
- name: preempt
  arguments: {minCandidateNodesPercentage: 20}
"""

SUMMARY = """\
scheduler.conf is valid.

Actions: enqueue, allocate
  preempt: minCandidateNodesPercentage=20

TIER  PLUGIN   SWITCHES               ARGUMENTS
1     gang     enablePreemptable off  -
2     drf      enableHierarchy on     -
2     binpack  -                      binpack.weight=10, binpack.resources.nvidia.com/gpu=2

Warnings:
  scheduler.conf:16: action 'preempt' is configured but not among the actions
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Run the command on a file with this text."""

    def registry(extra: tuple[str, ...]) -> Registry:
        known = Registry(REGISTRY.plugins.values(), REGISTRY.actions.values())
        for reference in extra:
            load_named(known, reference)
        return known

    def run(text: str | bytes, *arguments: str, file: str = "scheduler.conf") -> Result:
        content = text.encode() if isinstance(text, str) else text
        Path("scheduler.conf").write_bytes(content)
        return CliRunner().invoke(config, ["check", file, *arguments], input=content)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stromboli.registry.built_in_registry", registry)
    return run


def test_valid_file_is_summarised(check: Check) -> None:
    result = check(GOOD)
    assert (result.exit_code, result.stdout, result.stderr) == (0, SUMMARY, "")


def test_wide_summary_has_all_arguments(check: Check) -> None:
    (line,) = (line for line in check(GOOD, "-o", "wide").stdout.splitlines() if "binpack" in line)
    assert "binpack.weight=10, binpack.cpu=1, binpack.resources=, " in line


def test_the_standard_input(check: Check) -> None:
    assert check(DEFAULT_TEXT, file="-").stdout.startswith("standard input is valid.\n")
    assert check("actions:", file="-").stderr.startswith("standard input:1: ")


def test_a_config_map(check: Check) -> None:
    result = check(config_map({"volcano-scheduler.conf": DEFAULT_TEXT}))
    assert result.stdout.startswith("scheduler.conf[volcano-scheduler.conf] is valid.\n")


def test_valid_file_as_json(check: Check) -> None:
    summary = json.loads(check(GOOD, "-o", "json").stdout)
    assert summary["valid"] is True
    assert summary["actions"] == ["enqueue", "allocate"]
    assert summary["tiers"][1]["plugins"][0] == {
        "name": "drf",
        "switches": {"enableHierarchy": True},
        "arguments": {},
    }
    assert summary["actionArguments"] == {"preempt": {"minCandidateNodesPercentage": 20}}
    assert len(summary["warnings"]) == 1
    assert json.loads(check(COMPLETE, "-o", "json").stdout)["metrics"]["type"] == "prometheus"


BAD = "actions: alocate\ntiers:\n- plugins:\n  - name: gnag\n"
PROBLEMS = """\
scheduler.conf:1: unknown action 'alocate'; did you mean 'allocate'?
scheduler.conf:4: unknown plugin 'gnag'; did you mean 'gang'?
"""


def test_invalid_file_reports_all_errors_on_standard_error(check: Check) -> None:
    result = check(BAD)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", PROBLEMS)


def test_invalid_file_as_json(check: Check) -> None:
    result = check(BAD, "-o", "json")
    assert (result.exit_code, result.stderr) == (1, PROBLEMS)
    assert json.loads(result.stdout)["problems"][1] == {
        "source": "scheduler.conf",
        "line": 4,
        "message": "unknown plugin 'gnag'; did you mean 'gang'?",
    }


FAILURES = [
    ("missing file", DEFAULT_TEXT, "nowhere.conf", (), 1, 'the path "nowhere.conf" does not exist'),
    ("a folder", DEFAULT_TEXT, ".", (), 1, 'the path "." cannot be accessed: is a directory'),
    ("not UTF-8", b"actions: x\n\xff", "scheduler.conf", (), 1, "scheduler.conf:2: not readable as text"),
    ("too large", b"#" * 10**6, "scheduler.conf", (), 1, "scheduler.conf:1: the text is larger than 64 KiB"),
    ("no such module", "", "scheduler.conf", ("--plugin", "xyzzy:Fair"), 1, "cannot import 'xyzzy'"),
    ("unknown output format", "", "scheduler.conf", ("-o", "xml"), 2, "Invalid value for '-o'"),
    ("no such option", "", "scheduler.conf", ("--strict",), 2, "No such option"),
]


@pytest.mark.parametrize(
    ("name", "text", "file", "arguments", "code", "message"), FAILURES, ids=[case[0] for case in FAILURES]
)
def test_failure_has_message_and_exit_code(
    name: str, text: str | bytes, file: str, arguments: tuple[str, ...], code: int, message: str, check: Check
) -> None:
    result = check(text, *arguments, file=file)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_custom_plugin_is_accepted(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = 'from stromboli.core.config.plugin import Plugin\n\nclass Fair(Plugin):\n    name = "fair"\n'
    (tmp_path / "fair_policy_of_mine.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    text = "actions: allocate\ntiers: [plugins: [name: fair]]"
    assert check(text).exit_code == 1
    assert check(text, "--plugin", "fair_policy_of_mine:Fair").exit_code == 0


def test_recommended_configuration_is_printed_as_a_file() -> None:
    assert CliRunner().invoke(config, ["recommend"]).output == RECOMMENDED
