"""Plans with the history of a scheduler predict what the scheduler does with its own usage."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.kube.objects.catalogue import PODS
from tests.testing.cases.case import configuration, plugin
from tests.testing.manifests.builders import gang, queue
from tests.testing.world import cpus, policy_of, running_cluster

#: What was used counts in full, so that a queue which has used everything deserves nothing beside another one.
FAIR = configuration(
    "gang", plugin("fairshare", {"halfLife": "0s", "k": 20}), "proportion", "predicates", actions="enqueue, allocate"
)


@pytest.mark.parametrize("first", ["red", "blue"])
async def test_plan_equals_the_decision_of_the_scheduler(tmp_path: Path, first: str) -> None:
    """The usage is that of a pod which is gone: without it, both queues deserve the same."""
    history, policy = tmp_path / "history.db", tmp_path / "policy.yaml"
    policy.write_text(FAIR)
    async with running_cluster(cpus(1), policy=policy_of(FAIR), history=str(history)) as world:
        await world.until_true(lambda: world.scheduler.past_usage.is_loaded, "the empty history is loaded")
        await world.create(queue("red"), queue("blue"), gang(1, 4, name="used", queue=first))
        await world.until_bound("used", 1)
        await world.stop()
        await world.delete(PODS, "used-task-0")
        await world.create(*[gang(1, 4, name=f"job-{name}", queue=name) for name in ("red", "blue")])
        command = ["plan", "--conf", str(policy), "--kubeconfig", str(world.stage.kubeconfig(tmp_path)), "-o", "json"]

        async def plan(*options: str) -> dict[str, Any]:
            result = await asyncio.to_thread(CliRunner().invoke, main, [*command, *options])
            report: dict[str, Any] = json.loads(result.stdout)
            return report

        with_usage = await plan("--history", str(history))
        assert (await plan())["binds"] == {}
        await world.start()
        [bound] = await world.until_bound("job-", 1)
        assert [*with_usage["binds"]] == [bound.key]
        assert bound.metadata.name == ("job-blue-task-0" if first == "red" else "job-red-task-0")
