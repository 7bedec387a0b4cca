"""The commands of the pages for a cluster, run in their order on a local cluster: they print what the pages show."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.changes import submission
from stromboli.local.fakes.kubelet.simulated_nodes import NodePool
from stromboli.local.up.local_cluster import local_cluster
from stromboli.registry import built_in_registry
from stromboli.scheduler.policy import ActivePolicy
from tests.e2e.docs.walkthrough import Typed, missing_line, steps_of

DOCS = Path(__file__).parents[3] / "docs"
POOL = NodePool(4, resources={"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"})
PAGES = ("submit.md", "queues-and-nodes.md")


def steps(page: str) -> list[Typed]:
    """Return the commands that need a cluster."""
    typed = [step for step in steps_of((DOCS / page).read_text(encoding="utf-8")) if isinstance(step, Typed)]
    return [step for step in typed if " -f " not in step.command]


@pytest.mark.parametrize("page", PAGES)
async def test_commands_print_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "_POLL_SECONDS", 0.1)
    policy = ActivePolicy(built_in_registry(), "")
    async with local_cluster(policy, pools=[POOL]) as running:
        running.server.write_kubeconfig(tmp_path / "kubeconfig")
        for step in steps(page):
            output = await typed(step.command, tmp_path / "kubeconfig")
            assert not (line := missing_line(step.quoted, output)), f"{step.command}: {line!r} is not in:\n{output}"
    policy.close()


async def typed(command: str, kubeconfig: Path) -> str:
    """Run a command, and return both of its outputs as a terminal shows them."""
    arguments = shlex.split(command)
    assert arguments[0] == "stromboli"
    environment = {"KUBECONFIG": str(kubeconfig), "COLUMNS": "200"}
    result = await asyncio.to_thread(CliRunner().invoke, main, arguments[1:], env=environment)
    assert result.exit_code in (0, 3), result.output
    return str(result.output)


def test_pages_have_commands_for_a_cluster() -> None:
    assert all(len(steps(page)) >= 8 for page in PAGES)
