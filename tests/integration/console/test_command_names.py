"""The commands and the API have the same fields with the same values."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.console.server.server import ConsoleServer
from stromboli.core.model.queues.queue import ROOT as ROOT_QUEUE
from stromboli.local.api_server.server import ApiServer
from tests.integration.console.conftest import ROOT, ConsoleClient

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")


@pytest.mark.parametrize(
    ("command", "name", "path", "further"),
    [
        (["jobs", "-A"], "jobs", "/api/jobs", {"owner", "kind"}),
        (["queues"], "queues", "/api/queues", {"depth", "amounts"}),
    ],
    ids=["jobs", "queues"],
)
def test_command_and_api_answer_the_same(
    cluster: ApiServer,
    console: ConsoleServer,
    tmp_path: Path,
    command: list[str],
    name: str,
    path: str,
    further: set[str],
) -> None:
    """The API may have further fields. Commands assume the queue `root`, which a scheduler creates."""
    cluster.write_kubeconfig(tmp_path / "kubeconfig")
    arguments = [*command, "-o", "json", "--kubeconfig", str(tmp_path / "kubeconfig")]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    printed = [row for row in json.loads(result.stdout)[name] if row["queue"] != ROOT_QUEUE]
    served: list[dict[str, Any]] = asyncio.run(ConsoleClient(console, ROOT).get(path))[name]
    assert len(printed) == len(served) > 0
    for one, other in zip(_sorted(printed), _sorted(served), strict=True):
        assert other.keys() - one.keys() == further
        assert one == {key: other[key] for key in one}


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("namespace", ""), row.get("podGroup", ""), row["queue"]))
