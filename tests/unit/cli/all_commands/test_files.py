"""Files of options and arguments: missing ones, folders, and the standard input, in every command."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.registry import built_in_registry
from stromboli.scheduler.policy import ActivePolicy
from tests.docs.test_pages import commands
from tests.unit.cli.test_replay_command import a_dump

NOWHERE = "http://127.0.0.1:1"
CERTIFICATES = "--tls-cert-file present --tls-private-key-file present"
ANY = "--allow-any-client"
ALONE = "--leader-elect=false"

#: Arguments that name a file, by command and option or argument. `present` exists, `nowhere` does not.
READ = {
    "plan -f": "plan -f nowhere",
    "plan --conf": "plan -f cluster --conf nowhere",
    "plan --kinds": "plan -f cluster --kinds nowhere",
    "explain -f": "explain -f nowhere train",
    "explain --conf": "explain -f cluster --conf nowhere train",
    "explain --kinds": "explain -f cluster --kinds nowhere train",
    "simulate -f": "simulate -f nowhere",
    "simulate --conf": "simulate -f cluster --conf nowhere",
    "simulate --kinds": "simulate -f cluster --kinds nowhere",
    "simulate --trace": "simulate --trace nowhere",
    "simulate --trace-nodes": "simulate --trace dump.json.gz --trace-nodes nowhere",
    "trace info --trace-nodes": "trace info dump.json.gz --trace-nodes nowhere",
    "trace convert --trace-nodes": "trace convert dump.json.gz --trace-nodes nowhere",
    "forecast -f": "forecast -f nowhere",
    "forecast --conf": "forecast -f cluster --conf nowhere",
    "forecast --kinds": "forecast -f cluster --kinds nowhere",
    "topology -f": "topology -f nowhere",
    "top --kubeconfig": "top --kubeconfig nowhere",
    "top -f": "top -f nowhere",
    "top --conf": "top -f cluster --conf nowhere",
    "jobs -f": "jobs -f nowhere",
    "jobs --conf": "jobs -f cluster --conf nowhere",
    "jobs --kubeconfig": "jobs --kubeconfig nowhere",
    "job --kubeconfig": "job --kubeconfig nowhere train",
    "queues --kubeconfig": "queues --kubeconfig nowhere",
    "nodes --kubeconfig": "nodes --kubeconfig nowhere",
    "priority --kubeconfig": "priority --kubeconfig nowhere train",
    "score --kubeconfig": "score --kubeconfig nowhere train",
    "suspend --kubeconfig": "suspend --kubeconfig nowhere train",
    "resume --kubeconfig": "resume --kubeconfig nowhere train",
    "cancel --kubeconfig": "cancel --kubeconfig nowhere train",
    "submit --kubeconfig": "submit --kubeconfig nowhere --image x",
    "queue create --kubeconfig": "queue create --kubeconfig nowhere a",
    "queue set --kubeconfig": "queue set --kubeconfig nowhere a --weight 2",
    "queue open --kubeconfig": "queue open --kubeconfig nowhere a",
    "queue close --kubeconfig": "queue close --kubeconfig nowhere a",
    "queue delete --kubeconfig": "queue delete --kubeconfig nowhere a",
    "history --kubeconfig": "history --kubeconfig nowhere",
    "usage --kubeconfig": "usage --kubeconfig nowhere",
    "budget show --kubeconfig": "budget show --kubeconfig nowhere",
    "budget set --kubeconfig": "budget set --kubeconfig nowhere a --hours 1",
    "budget unset --kubeconfig": "budget unset --kubeconfig nowhere a",
    "fairshare --kubeconfig": "fairshare --kubeconfig nowhere",
    "fairshare -f": "fairshare -f nowhere",
    "fairshare --conf": "fairshare -f cluster --conf nowhere",
    "usage --prices": "usage --prices nowhere",
    "job -f": "job -f nowhere train",
    "job --conf": "job -f cluster --conf nowhere train",
    "priority -f": "priority -f nowhere train",
    "priority --conf": "priority -f cluster --conf nowhere train",
    "score -f": "score -f nowhere train",
    "score --conf": "score -f cluster --conf nowhere train",
    "queues -f": "queues -f nowhere",
    "queues --conf": "queues -f cluster --conf nowhere",
    "nodes -f": "nodes -f nowhere",
    "nodes --conf": "nodes -f cluster --conf nowhere",
    "plan --kubeconfig": "plan --kubeconfig nowhere",
    "explain --kubeconfig": "explain --kubeconfig nowhere train",
    "simulate --kubeconfig": "simulate --kubeconfig nowhere",
    "forecast --kubeconfig": "forecast --kubeconfig nowhere",
    "topology --kubeconfig": "topology --kubeconfig nowhere",
    "hypernodes discover -f": "hypernodes discover -f nowhere",
    "hypernodes discover --kubeconfig": "hypernodes discover --kubeconfig nowhere",
    "bindrequests --kubeconfig": "bindrequests --kubeconfig nowhere",
    "uninstall --kubeconfig": "uninstall --kubeconfig nowhere",
    "replay FILE": "replay nowhere",
    "replay --conf": "replay dump.json.gz --conf nowhere",
    "config check FILE": "config check nowhere",
    "config check --conf": "config check --conf nowhere",
    "manifests --conf": "manifests --conf nowhere",
    "scheduler --kubeconfig": "scheduler --kubeconfig nowhere",
    "scheduler --scheduler-conf": f"scheduler --master {NOWHERE} --conf nowhere",
    "controller --kubeconfig": "controller --kubeconfig nowhere",
    "binder --kubeconfig": "binder --kubeconfig nowhere",
    "scheduler --tls-cert-file": (
        f"scheduler --master {NOWHERE} {ALONE} --tls-cert-file nowhere --tls-private-key-file present"
    ),
    "scheduler --tls-private-key-file": (
        f"scheduler --master {NOWHERE} {ALONE} --tls-cert-file present --tls-private-key-file nowhere"
    ),
    "console --kubeconfig": "console --kubeconfig nowhere",
    "console --conf": f"console --master {NOWHERE} --conf nowhere",
    "console --tls-cert-file": f"console --master {NOWHERE} --tls-cert-file nowhere --tls-private-key-file present",
    "console --tls-private-key-file": (
        f"console --master {NOWHERE} --tls-cert-file present --tls-private-key-file nowhere"
    ),
    "binder --tls-cert-file": (
        f"binder --master {NOWHERE} {ALONE} --tls-cert-file nowhere --tls-private-key-file present"
    ),
    "binder --tls-private-key-file": (
        f"binder --master {NOWHERE} {ALONE} --tls-cert-file present --tls-private-key-file nowhere"
    ),
    "controller --tls-cert-file": (
        f"controller --master {NOWHERE} {ALONE} --tls-cert-file nowhere --tls-private-key-file present"
    ),
    "controller --tls-private-key-file": (
        f"controller --master {NOWHERE} {ALONE} --tls-cert-file present --tls-private-key-file nowhere"
    ),
    "admission --kubeconfig": f"admission --kubeconfig nowhere {CERTIFICATES} {ANY}",
    "admission --tls-cert-file": (
        f"admission --master {NOWHERE} --tls-cert-file nowhere --tls-private-key-file present {ANY}"
    ),
    "admission --tls-private-key-file": (
        f"admission --master {NOWHERE} --tls-cert-file present --tls-private-key-file nowhere {ANY}"
    ),
    "admission --path-secret-file": f"admission --master {NOWHERE} {CERTIFICATES} --path-secret-file nowhere",
    "admission configuration --path-secret-file": "admission configuration --path-secret-file nowhere",
    "admission --client-ca-file": f"admission --master {NOWHERE} {CERTIFICATES} --client-ca-file nowhere",
    "admission configuration --ca-file": "admission configuration --ca-file nowhere",
    "plan --scheduler-ca": "plan --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "explain --scheduler-ca": "explain train --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "jobs --scheduler-ca": "jobs --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "job --scheduler-ca": "job train --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "queues --scheduler-ca": "queues --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "history --scheduler-ca": "history --scheduler-address https://127.0.0.1:1 --scheduler-ca nowhere",
    "up -f": "up -f nowhere",
    "up --conf": "up --conf nowhere",
}
#: Files and folders that are written.
WRITTEN = {
    "up --kubeconfig",
    "demo --kubeconfig",
    "scheduler --cache-dump-dir",
    "admission certificates --folder",
    "reserve-gpu --to",
    "simulate --results",
    "simulate --parquet",
    "simulate --pictures",
    "simulate --report",
    "simulate --figures",
    "simulate --perfetto",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with manifests, a dump and a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    a_dump(tmp_path)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    (tmp_path / "present").write_text("")


def file_parameters() -> Iterator[str]:
    for name, command in commands(main, ""):
        for parameter in command.params:
            takes_file = isinstance(parameter.type, click.Path) or parameter.metavar in ("FILE", "FOLDER", "PATH")
            if isinstance(parameter, click.Option) and takes_file:
                yield f"{name} {parameter.opts[0]}".strip()


def test_every_option_for_a_file_is_in_a_table() -> None:
    assert not set(file_parameters()) - {*READ, *WRITTEN}


@pytest.mark.parametrize("case", READ)
def test_missing_file_is_reported_as_by_kubectl(case: str) -> None:
    result = CliRunner().invoke(main, READ[case].split())
    assert (result.exit_code, result.stdout) == (1, "")
    [error] = result.stderr.splitlines()
    assert error.startswith('error: the path "nowhere" does not exist')


@pytest.mark.parametrize("case", [case for case in READ if not case.endswith(" -f")])
def test_folder_instead_of_a_file_is_reported(case: str) -> None:
    result = CliRunner().invoke(main, READ[case].replace("nowhere", "cluster").split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1] == 'error: the path "cluster" cannot be accessed: is a directory'


POLICY_FROM_INPUT = {
    "plan": "plan -f cluster --conf -",
    "simulate": "simulate -f cluster --conf -",
    "replay": "replay dump.json.gz --conf -",
    "manifests": "manifests --conf -",
    "config check": "config check -",
    "config check with the option": "config check --conf -",
}


@pytest.mark.parametrize("case", POLICY_FROM_INPUT)
def test_policy_is_read_from_the_standard_input(case: str) -> None:
    arguments = POLICY_FROM_INPUT[case].split()
    assert CliRunner().invoke(main, arguments, input=DEFAULT_TEXT).exit_code == 0
    wrong = CliRunner().invoke(main, arguments, input="actions: alocate")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "standard input:1: unknown action 'alocate'; did you mean 'allocate'?" in wrong.stderr


def test_scheduler_reads_the_standard_input_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DEFAULT_TEXT.encode())))
    policy = ActivePolicy(built_in_registry(), "-")
    assert policy.text == DEFAULT_TEXT
    policy.force_reload()
    assert (policy.reload(), policy.problem) == (False, "")


@pytest.mark.parametrize("arguments", ["config check", "config check present --conf present"])
def test_config_check_needs_one_file(arguments: str) -> None:
    result = CliRunner().invoke(main, arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Name one file, as FILE or with --conf." in result.stderr
