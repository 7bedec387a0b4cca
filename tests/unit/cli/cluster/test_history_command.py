"""`stromboli history`: rows and pages of a recorded morning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.commands.cluster import history as command
from tests.testing.histories import example_records, write_records
from tests.unit.cli.all_commands.output_formats import FORMATS, assert_formats_agree

NOW = "2026-03-02T12:00:00Z"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("history") / "history.db"
    write_records(str(path), *example_records())
    return str(path)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)


def run(address: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["history", "--history", address, "--now", NOW, *arguments])


SELECTED = [
    pytest.param((), {"finetune", "broken", "urgent", "evaluate", "sweep"}, id="everything"),
    pytest.param(("-n", "team-b"), {"urgent"}, id="one namespace"),
    pytest.param(("--queue", "production"), {"urgent"}, id="one queue"),
    pytest.param(("--state", "Failed", "--state", "Pending"), {"broken", "sweep"}, id="two states"),
    pytest.param(("--since", "1h"), {"finetune", "evaluate", "sweep"}, id="since a duration"),
    pytest.param(("--since", "2026-03-02T09:00:00Z"), {"finetune", "urgent", "evaluate", "sweep"}, id="since a time"),
    pytest.param(("--since", "0", "--limit", "1"), {"sweep"}, id="the latest one"),
    pytest.param(
        ("--since", "0", "--limit", "0"), {"finetune", "broken", "urgent", "evaluate", "sweep"}, id="no limit"
    ),
    pytest.param(("broken",), {"broken"}, id="one job"),
    pytest.param(("team-a/broken",), {"broken"}, id="one job with its namespace"),
]


@pytest.mark.parametrize(("arguments", "names"), SELECTED)
def test_options_select_jobs(arguments: tuple[str, ...], names: set[str], address: str) -> None:
    result = run(address, *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    assert {job["name"] for job in json.loads(result.stdout)["jobs"]} == names


@pytest.mark.parametrize("job", [(), ("finetune",)], ids=["list", "job"])
def test_formats_agree(job: tuple[str, ...], address: str) -> None:
    assert_formats_agree({name: run(address, *job, "-o", name) for name in FORMATS})


def test_job_that_is_unknown_is_an_error_with_its_namespace(address: str) -> None:
    result = run(address, "finetun", "-n", "team-a")
    assert result.exit_code == 1
    assert "the history has no job finetun in namespace team-a" in result.stderr


PROBLEMS = [
    pytest.param(("--history", "absent.db"), 1, "absent.db: no such file", id="missing file"),
    pytest.param(("--history", "mysql://host/name"), 2, "mysql:// is no database", id="another database"),
    pytest.param(("-n", "team-a", "-A"), 2, "-n and -A exclude each other", id="contradiction"),
    pytest.param(("--since", "yesterday"), 2, "is not a duration such as 30d, a time", id="bad time"),
    pytest.param(("--history", ""), 1, "the kubeconfig names no history, as that of stromboli up", id="no address"),
    pytest.param(("--history", "", "--context", "x"), 1, 'absent" does not exist', id="unknown kubeconfig"),
]


@pytest.mark.parametrize(("arguments", "code", "problem"), PROBLEMS)
def test_bad_input_ends_with_a_message(arguments: tuple[str, ...], code: int, problem: str, address: str) -> None:
    result = run(address, *arguments)
    assert (result.exit_code, problem in result.stderr) == (code, True), result.stderr


def kubeconfig(path: Path, history: str) -> Path:
    """Write the kubeconfig of a local cluster that records to this address."""
    noted = [{"name": "stromboli.dev", "extension": {"history": history}}]
    document = {
        "clusters": [{"name": "local", "cluster": {"server": "https://127.0.0.1:1", "extensions": noted}}],
        "contexts": [{"name": "local", "context": {"cluster": "local"}}],
        "current-context": "local",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


PLACES = {"of the option": ("config", ("--kubeconfig", "config")), "of up": (".local/state/stromboli/kubeconfig", ())}


@pytest.mark.parametrize("case", PLACES)
def test_history_of_a_local_cluster_is_found_by_its_kubeconfig(
    case: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, arguments = PLACES[case]
    kubeconfig(tmp_path / place, address)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["history", "-A", "--now", NOW, *arguments, "-o", "name"])
    assert result.stdout.splitlines()[-1] == "podgroup.scheduling.volcano.sh/team-a/sweep"


def test_table_on_a_terminal_has_the_latest_jobs_and_the_number_of_others(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "on_terminal", lambda: True)
    monkeypatch.setattr(command, "_MAX_ON_TERMINAL", 2)
    result = run(address)
    assert [line.split()[1] for line in result.stdout.splitlines()[1:]] == ["evaluate", "sweep"]
    assert result.stderr == "earlier jobs that are not shown: 3; --limit 0 shows all\n"
    assert json.loads(run(address, "-o", "json").stdout)["earlier"] == 0
    assert json.loads(run(address, "-o", "json", "--limit", "4").stdout)["earlier"] == 1
