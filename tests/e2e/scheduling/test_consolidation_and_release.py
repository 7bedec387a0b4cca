"""Pods that move so that others fit, and gangs that have lost members, on a server that keeps what is said of them."""

from __future__ import annotations

from stromboli.core.actions.stalegang import GRACE_ANNOTATION
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration
from tests.testing.world import policy_of

CONF = configuration(
    "priority", "gang", "conformance", "predicates", "nodeorder",
    actions="enqueue, stalegang, allocate, consolidate", arguments={"stalegang": {"gracePeriod": "10m"}},
)  # fmt: skip


async def until_condition(cluster: Cluster, group: str, kind: str, status: str, reason: str) -> None:
    async def said() -> bool:
        conditions = (await cluster.group(group)).status.conditions or ()
        return (kind, status, reason) in [(each.type, each.status, each.reason) for each in conditions]

    await cluster.until(said, f"condition of {group}: {kind}={status}, {reason}")


async def until_running(cluster: Cluster, *names: str) -> None:
    async def run() -> bool:
        pods = await cluster.pods()
        return all(name in pods and pods[name].status.phase == "Running" for name in names)

    await cluster.until(run, f"{names} run")


async def test_gang_that_lost_a_member_reports_it_and_is_released_in_time(plane: ControlPlane) -> None:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        await cluster.create_gang("torn", 2, "1")
        await until_running(cluster, "torn-0", "torn-1")
        await cluster.client.delete(PODS, "torn-1", namespace=cluster.namespace, grace_period=0)
        await until_condition(cluster, "torn", "Stale", "True", "BelowMinimum")
        assert "torn-0" in await cluster.pods(), "it has its time"

        soon = {"metadata": {"annotations": {GRACE_ANNOTATION: "0s"}}}
        await cluster.client.patch(POD_GROUPS, "torn", soon, namespace=cluster.namespace)

        async def released() -> bool:
            return "torn-0" not in await cluster.pods()

        await cluster.until(released, "the other member goes")
        await until_condition(cluster, "torn", "Evicted", "True", "stalegang")
        await until_condition(cluster, "torn", "Stale", "False", "NotStale")


async def test_a_gang_gets_its_lost_member_back(plane: ControlPlane) -> None:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        await cluster.create_gang("torn", 2, "1")
        await until_running(cluster, "torn-0", "torn-1")
        await cluster.client.delete(PODS, "torn-1", namespace=cluster.namespace, grace_period=0)
        await until_condition(cluster, "torn", "Stale", "True", "BelowMinimum")
        await cluster.create_pod("torn-1", "1", group="torn")
        await until_running(cluster, "torn-0", "torn-1")
        await until_condition(cluster, "torn", "Stale", "False", "NotStale")


async def test_a_pod_moves_so_that_a_large_one_fits(plane: ControlPlane) -> None:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        small = [f"small-{place}" for place in "abc"]
        for name in small:
            await cluster.create_gang(name, 1, "2")
        await until_running(cluster, *(f"{name}-0" for name in small))
        nodes = {(await cluster.nodes_of(name))[0] for name in small}
        assert len(nodes) == 3, "they are spread"
        await cluster.create_gang("large", 1, "4")
        moved: list[str] = []

        async def one_has_gone() -> bool:
            pods = await cluster.pods()
            moved[:] = [name for name in small if f"{name}-0" not in pods]
            return bool(moved)

        await cluster.until(one_has_gone, "one of them is evicted")
        assert len(moved) == 1
        await until_condition(cluster, moved[0], "Evicted", "True", "consolidate")
        await cluster.create_pod(f"{moved[0]}-0", "2", group=moved[0])
        await until_running(cluster, "large-0", *(f"{name}-0" for name in small))
        await until_condition(cluster, "large", "Claimed", "True", "consolidate")
