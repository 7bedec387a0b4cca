"""Another scheduler on the same nodes: over-committed nodes are reported and, by policy, relieved.

No kubelet runs, which would reject the pod that comes last.
"""

from __future__ import annotations

from stromboli.kube.objects.catalogue import EVENTS
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import foreign, gang
from tests.testing.world import SIMPLE, World, cpus, policy_of, running_cluster

RELIEVING = configuration(
    "priority", "gang", "predicates", "nodeorder",
    actions="enqueue, relieve, allocate", arguments={"relieve": {"gracePeriod": "100ms"}},
)  # fmt: skip


async def reported(world: World) -> bool:
    events = (await world.client.list(EVENTS)).items
    return any(each.reason == "NodeOvercommitted" and each.involved_object.name == "node-00" for each in events)


def overcommitted_nodes(world: World) -> float:
    text = world.scheduler.metrics.render()[0].decode()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("stromboli_overcommitted"))


async def test_overcommitted_node_is_reported_and_left_alone_by_default() -> None:
    async with running_cluster(cpus(1, 2), policy=policy_of(SIMPLE), bare=True) as world:
        await world.create(gang(2, name="ours"))
        await world.until_bound("ours", 2)
        assert overcommitted_nodes(world) == 0
        await world.create(foreign("node-00", 1))
        await world.until(lambda: reported(world), "an event on the node")
        assert overcommitted_nodes(world) == 1
        assert len(await world.bound("ours")) == 2


async def test_overcommitted_node_is_relieved_of_our_last_pod_by_policy() -> None:
    async with running_cluster(cpus(1, 2), policy=policy_of(RELIEVING), bare=True) as world:
        await world.create(gang(1, name="ours", terminationGracePeriodSeconds=0))
        await world.until_bound("ours", 1)
        await world.create(foreign("node-00", 2))

        async def gone() -> bool:
            return await world.pods("ours") == []

        await world.until(gone, "our pod is evicted")
        assert len(await world.pods("stranger")) == 1
        assert await reported(world)
