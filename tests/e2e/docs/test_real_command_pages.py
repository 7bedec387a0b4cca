"""The commands of the pages on a real API server: they print what the pages show."""

from __future__ import annotations

import pytest

from stromboli.cli.changes import submission
from testbed.plane import ControlPlane
from tests.e2e.docs.walkthrough import missing_line
from tests.e2e.environment.cluster import running_cluster
from tests.integration.scheduler.test_command_pages import PAGES, POOL, steps, typed
from tests.testing.planes import fresh_plane

pytestmark = pytest.mark.only("real", because="tests/integration runs them on the embedded server")


@pytest.mark.parametrize("page", PAGES)
async def test_commands_print_what_the_page_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "_POLL_SECONDS", 0.1)
    with fresh_plane() as plane:
        async with running_cluster(plane, pool=POOL):
            for step in steps(page):
                output = await typed(step.command, plane.kubeconfig)
                assert not (line := missing_line(step.quoted, output)), f"{step.command}: {line!r} is not in:\n{output}"


async def test_further_commands_answer_on_a_real_server() -> None:
    """Commands whose output depends on times and places have no page to compare with."""
    with fresh_plane() as plane:
        async with running_cluster(plane, pool=POOL) as cluster:
            await further(plane)
            assert cluster.plane is plane


async def further(plane: ControlPlane) -> None:
    await typed("stromboli submit --image x --name train --gang 4 --gpu 8 --wait", plane.kubeconfig)
    await typed("stromboli submit --image x --name large --gang 9 --cpu 8 --wait --timeout 5s", plane.kubeconfig)
    expected = {
        "stromboli jobs --plan": ("large", "train"),
        "stromboli job train": ("default/train: Running", "node-0"),
        "stromboli job large": ("needs 72 cpu, cluster has 64",),
        "stromboli nodes": ("node-0", "FREE GPUS"),
        "stromboli queues": ("default", "WAITING"),
        "stromboli priority large": ("default/large",),
        "stromboli score large": ("node-",),
        "stromboli plan": ("default/large", "waits"),
        "stromboli explain large": ("ExceedsCluster",),
        "stromboli forecast": ("large",),
        "stromboli topology": ("node",),
        "stromboli suspend train": ("job.batch/train suspended",),
        "stromboli resume train": ("job.batch/train resumed",),
        "stromboli cancel large": ("job.batch/large deleted",),
    }
    for command, texts in expected.items():
        output = await typed(command, plane.kubeconfig)
        assert all(text in output for text in texts), f"{command}:\n{output}"
