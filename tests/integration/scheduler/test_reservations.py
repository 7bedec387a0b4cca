"""Reservations: the first job in order is not overtaken, and starts when its reserved capacity is free."""

from __future__ import annotations

from stromboli.kube.objects.catalogue import PODS
from tests.testing.cases.case import configuration
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.world import World, cpus, policy_of, running_cluster

RUN_TIME = "scheduling.stromboli.dev/run-time"
EASY = configuration(
    "gang", "predicates", actions="allocate, backfill", arguments={"backfill": {"strategy": "easy"}}
)  # fmt: skip


async def test_small_jobs_fill_the_hole_before_a_large_one_and_do_not_keep_it_waiting() -> None:
    async with running_cluster(cpus(1), bare=True, policy=policy_of(EASY)) as world:
        await world.create(gang(1, 3, name="old", annotations={RUN_TIME: "1h"}))
        await world.until_bound("old", 1)
        await world.create(gang(1, 4, name="large", annotations={RUN_TIME: "1h"}))
        await world.until_true(lambda: "default/large" in world.scheduler.cluster.assumptions.reservations)
        await world.until(lambda: has_reservation(world, "4"), "capacity is reserved for the large job")
        await world.create(gang(1, 1, name="silent"), gang(1, 1, name="quick", annotations={RUN_TIME: "30m"}))
        await world.until_bound("quick", 1)
        await world.until_condition("silent", "Insufficient cpu")
        assert await world.bound("silent") == []
        await world.delete(PODS, "quick-task-0", grace_period=0)
        await world.until_condition("silent", "had capacity nominated for other pods")
        await world.delete(PODS, "old-task-0", grace_period=0)
        await world.until_bound("large", 1)
        await world.until(lambda: has_reservation(world, "1"), "capacity is reserved for the next job")
        assert await world.bound("silent") == []
        await check(world)


async def has_reservation(world: World, cpu: str) -> bool:
    """Report whether the status of the queue has the reservation of a pod."""
    default = await world.queue("default")
    expected = {"nodes": ["node-00"], "resource": {"cpu": cpu, "pods": "1"}}
    return default is not None and default.status.reservation == expected
