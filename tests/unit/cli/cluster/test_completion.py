"""Names of the cluster complete arguments and options, also as a plugin of kubectl."""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from stromboli.cli import completion, main
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NAMESPACES, NODES, POD_GROUPS, PRIORITY_CLASSES, QUEUES, VOLCANO_JOBS
from stromboli.local.api_server.server import ApiServer
from tests.testing.manifests.builders import node


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[Path]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        await client.create(NAMESPACES, {"metadata": {"name": "team"}})
        for name, namespace in (("train", "default"), ("tune", "default"), ("large", "team")):
            await client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": {}}, namespace=namespace)
        await client.create(VOLCANO_JOBS, {"metadata": {"name": "mpi"}, "spec": {}})
        aborted = {"status": {"state": {"phase": "Aborted"}}}
        await client.patch(VOLCANO_JOBS, "mpi", aborted, subresource="status")
        await client.create(PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 1000})
        await client.create(QUEUES, {"metadata": {"name": "research"}, "spec": {"weight": 1}})
        for name in ("node-a", "node-b"):
            made = node(name)
            made["metadata"].pop("uid", None)
            await client.create(NODES, made)
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield tmp_path / "kubeconfig"


def completed(*words: str) -> list[str]:
    found = ShellComplete(main, {}, "stromboli", "").get_completions(list(words[:-1]), words[-1])
    return [item.value for item in found]


CASES = {
    "jobs of the namespace": (("job", "t"), ["train", "tune"]),
    "suspended Volcano Job": (("resume", "m"), ["mpi"]),
    "jobs that wait": (("explain", "t"), ["train", "tune"]),
    "jobs of the history": (("history", "t"), ["train", "tune"]),
    "jobs of a forecast": (("forecast", "t"), ["train", "tune"]),
    "priority classes": (("submit", "--priority-class", "u"), ["urgent"]),
    "jobs of another one": (("cancel", "-n", "team", ""), ["large"]),
    "nodes": (("score", "train", "node-"), ["node-a", "node-b"]),
    "queues": (("queues", "r"), ["research"]),
    "queue of an option": (("submit", "--queue", "r"), ["research"]),
    "queue to change": (("queue", "close", "r"), ["research"]),
    "namespaces": (("jobs", "-n", "t"), ["team"]),
}


@pytest.mark.parametrize("case", CASES)
async def test_names_of_the_cluster_are_completed(case: str, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    words, names = CASES[case]
    assert await asyncio.to_thread(completed, *words) == names


def test_unreachable_cluster_completes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    assert completed("job", "t") == []


def test_kubectl_gets_a_name_per_line_and_a_directive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-stromboli", "queu"])
    completion.main()
    assert capsys.readouterr().out == "queues\nqueue\n:4\n"


def test_command_is_installed_as_a_plugin_of_kubectl() -> None:
    root = Path(__file__).parents[4]
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-stromboli"] == scripts["stromboli"]
    assert scripts["kubectl_complete-stromboli"] == "stromboli.cli.completion:main"


def test_help_of_the_plugin_has_the_words_that_are_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-stromboli", "jobs", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.startswith("Usage: kubectl stromboli jobs [OPTIONS]\n")
