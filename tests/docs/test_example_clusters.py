"""Examples with their own nodes: a local cluster binds the pods that the plan binds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stromboli.core.config.bind_options import DIRECT, REQUEST
from stromboli.kube.client.apply import Applier
from stromboli.kube.manifests.sources import load_sources
from stromboli.kube.objects.catalogue import PODS
from stromboli.local.up.local_cluster import local_cluster
from stromboli.planner.plan import make_plan
from stromboli.registry import built_in_registry
from stromboli.scheduler.policy import ActivePolicy
from stromboli.workloads.reading import read_with_workloads
from tests.testing.stage import ServerHandle
from tests.testing.world import QUICK, World

EXAMPLES = Path(__file__).parents[2] / "examples"
#: The scheduled pods, by example; all others wait.
PLACED = {
    "topology": {"ring-0", "ring-1", "ring-2", "ring-3", "wide-0", "wide-1", "wide-2"},
    "shared-gpus": {"notebook", "tuning", "inference", "pair"},
    "claims": {"pair-0", "pair-1", "train-0", "train-1"},
}


def policy_of(example: str) -> ActivePolicy:
    conf = EXAMPLES / example / "scheduler.conf"
    return ActivePolicy(built_in_registry(), str(conf) if conf.exists() else "")


@pytest.mark.parametrize("example", PLACED)
def test_plan_of_example(example: str) -> None:
    objects = read_with_workloads([str(EXAMPLES / example)], scheduler_names=["stromboli"]).objects
    plan = make_plan(objects, policy_of(example).program, scheduler_names=["stromboli"])
    assert {key.removeprefix("default/") for key in plan.binds} == PLACED[example]


@pytest.mark.parametrize("mode", [DIRECT, REQUEST])
@pytest.mark.parametrize("example", PLACED)
async def test_example_in_local_cluster(example: str, mode: str) -> None:
    policy, options = policy_of(example), replace(QUICK, bind_mode=mode)
    sources = load_sources([str(EXAMPLES / example)], None)
    documents: list[Any] = [document for _, found in sources for document in found]
    async with local_cluster(policy, options=options) as running:
        world = World(ServerHandle(running.server.connection, running.server), running.client, policy, options)
        await Applier(running.client).apply(documents)
        wanted = PLACED[example]

        async def runs() -> bool:
            return {pod.metadata.name for pod in await world.pods() if pod.status.phase == "Running"} >= wanted

        await world.until(runs, f"{', '.join(sorted(wanted))} run")
        placed = [pod for pod in await world.pods() if pod.spec.node_name and pod.metadata.namespace == "default"]
        assert {pod.metadata.name for pod in placed} == wanted


async def test_gangs_of_the_cluster_example_run_in_a_local_cluster() -> None:
    """Its namespaces, images and limits are complete, so that an API server accepts it. Whether train or sweep comes
    first depends on when the scheduler receives them.
    """
    policy, first = policy_of("cluster"), {"monitoring": 1, "billing": 2}
    documents: list[Any] = [
        document for _, found in load_sources([str(EXAMPLES / "cluster")], None) for document in found
    ]
    async with local_cluster(policy, options=QUICK) as running:
        world = World(ServerHandle(running.server.connection, running.server), running.client, policy, QUICK)
        await Applier(running.client).apply(documents)

        async def run() -> bool:
            pods = (await running.client.list(PODS)).items
            started = Counter(pod.metadata.name.partition("-")[0] for pod in pods if pod.status.phase == "Running")
            return started in ({**first, "train": 4, "sweep": 3}, {**first, "sweep": 6})

        await world.until(run, "as many pods run as fit, with the gang train whole or not at all")
