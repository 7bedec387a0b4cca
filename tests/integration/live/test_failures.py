"""What can be wrong with a cluster, for every command that reads or changes one: a sentence with the remedy.

The list of 10,000 jobs is measured by `python -m benchmarks job-list`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.local.api_server.faults import Answer, Match
from tests.integration.live.conftest import LiveServer
from tests.testing.manifests.builders import gang, nodes

READING = (
    "plan", "explain train", "simulate", "forecast", "topology", "jobs", "jobs --plan", "job train", "queues", "nodes",
    "priority train", "score train", "top",
)  # fmt: skip
CHANGING = (
    "submit --image x --name new", "suspend train", "resume train", "cancel train", "queue create a",
    "queue set a --weight 2",
    "queue open a", "queue close a", "queue delete a",
)  # fmt: skip
BOTH = (*READING, *CHANGING)


def only_error(result: Result) -> str:
    """Return the error of a command that prints one, and nothing else but notes."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    [error] = [line for line in result.stderr.splitlines() if not line.startswith(("note: ", "warning: "))]
    assert error.startswith("error: ")
    return error


KUBECONFIGS = {
    "missing": (None, '"absent" does not exist'),
    "no YAML": ("{", "the JSON text is truncated"),
    "empty": ("", "current-context is missing"),
    "unknown context": ("apiVersion: v1\nkind: Config\ncurrent-context: gone\n", "gone"),
}


@pytest.mark.parametrize("command", BOTH)
@pytest.mark.parametrize("case", KUBECONFIGS)
def test_bad_kubeconfig_is_named(case: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, message = KUBECONFIGS[case]
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("absent").write_text(text)
    error = only_error(CliRunner().invoke(main, [*command.split(), "--kubeconfig", "absent"]))
    assert "absent" in error
    assert message in error


@pytest.mark.parametrize("command", BOTH)
async def test_missing_rights_are_named_with_the_role_that_helps(live: LiveServer, command: str) -> None:
    live.server.faults.add(Match(), Answer(403, "Forbidden", 'User "ana" cannot do that'), times=None)
    error = only_error(await live.run(*command.split()))
    if command in CHANGING or command == "jobs":
        assert "403 Forbidden" in error or "you may not" in error
    else:
        assert "you may not list " in error
        assert "stromboli-viewer" in error


@pytest.mark.parametrize("command", BOTH)
async def test_rejected_credentials_are_named(live: LiveServer, command: str) -> None:
    live.server.faults.add(Match(), Answer(401, "Unauthorized", "Unauthorized"), times=None)
    error = only_error(await live.run(*command.split()))
    assert "the API server rejects the credentials (Unauthorized); log in again" in error


@pytest.mark.parametrize("command", BOTH)
async def test_missing_crds_are_named_with_the_command_that_installs_them(bare: LiveServer, command: str) -> None:
    result = await bare.run(*command.split())
    if command.startswith("submit"):  # without a queue, the batch Job is created and deleted again
        assert result.exit_code == 1
    error = only_error(result)
    assert "install the CRDs first: stromboli manifests --only crds | kubectl apply --server-side -f -" in error


@pytest.mark.parametrize("command", [each for each in READING if each not in ("jobs", "topology", "top")])
async def test_absent_scheduler_is_a_warning_with_the_assumption(live: LiveServer, command: str) -> None:
    await live.apply(*nodes(4, 1), *gang(1, 2, name="train"))
    result = await live.run(*command.split())
    assert result.exit_code in (0, 3), result.output
    assert "no scheduler is installed as stromboli-system/stromboli; the default configuration applies" in result.stderr


@pytest.mark.parametrize("command", BOTH)
async def test_unreachable_server_is_named(bare: LiveServer, command: str) -> None:
    await bare.server.stop()
    assert "is unreachable: cannot connect to 127.0.0.1" in only_error(await bare.run(*command.split()))
    await bare.server.start()
