"""Commands that read or write a cluster: an unreachable one, missing CRDs, and what was done with objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import NODES
from stromboli.local.api_server.server import ApiServer
from tests.testing.manifests.builders import node

COMMANDS = ("bindrequests", "bindrequests --watch", "hypernodes discover", "hypernodes discover --apply")
RACK = "stromboli.dev/rack"


@pytest.mark.parametrize("command", [*COMMANDS, "uninstall --dry-run", "uninstall --yes"])
def test_unreachable_cluster_is_one_line_with_address_and_remedy(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    result = CliRunner().invoke(main, [*command.split(), "--master", "http://127.0.0.1:1"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: the API server http://127.0.0.1:1 is unreachable: cannot connect to 127.0.0.1:1: Connection refused; "
        "start the cluster, or choose another one with --kubeconfig, --context or --master\n"
    )


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


async def run(server: ApiServer, folder: Path, command: str) -> Result:
    path = folder / "kubeconfig"
    server.write_kubeconfig(path)
    return await asyncio.to_thread(CliRunner().invoke, main, [*command.split(), "--kubeconfig", str(path)])


async def test_missing_crds_are_reported_with_the_command_that_installs_them(server: ApiServer, tmp_path: Path) -> None:
    for command in COMMANDS:
        result = await run(server, tmp_path, command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.endswith("; install the CRDs first: stromboli manifests --only crds | kubectl apply "
                                      "--server-side -f -\n")  # fmt: skip


APPLY = "hypernodes discover --keys rack --apply"
NAME = "hypernode.topology.volcano.sh/rack"


async def test_applied_hypernodes_are_reported_in_the_words_of_kubectl(server: ApiServer, tmp_path: Path) -> None:
    async with Client(server.connection) as client:
        await install_crds(client)
        for number, name in enumerate("ab"):
            await client.create(NODES, node(name, labels={RACK: f"r{number}"}))
        assert (await run(server, tmp_path, APPLY)).stdout == f"{NAME}.r0 created\n{NAME}.r1 created\n"
        assert (await run(server, tmp_path, APPLY)).stdout == f"{NAME}.r0 unchanged\n{NAME}.r1 unchanged\n"
        await client.patch(NODES, "b", {"metadata": {"labels": {RACK: "r2"}}})
        changed = await run(server, tmp_path, APPLY)
        assert changed.stdout == f"{NAME}.r2 created\n{NAME}.r0 unchanged\n{NAME}.r1 deleted\n"
        assert (await run(server, tmp_path, f"{APPLY} -o name")).stdout == f"{NAME}.r0\n{NAME}.r2\n"
