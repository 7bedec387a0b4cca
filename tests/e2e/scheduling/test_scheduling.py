"""What is promised, on the embedded server and on a real one."""

from __future__ import annotations

import asyncio

from stromboli.kube.objects.catalogue import EVENTS, NODES, PODS, QUEUES
from tests.e2e.environment.cluster import Cluster


async def test_a_gang_starts_whole_and_another_waits_whole(cluster: Cluster) -> None:
    await cluster.create_gang("first", 3, "3")
    await cluster.until_phase("first", "Running")
    assert all(await cluster.nodes_of("first"))
    await cluster.create_gang("second", 2, "3")
    await cluster.until_message("second", "Insufficient cpu")
    assert await cluster.nodes_of("second") == ["", ""]


async def test_pending_group_and_its_pods_report_the_reason(cluster: Cluster) -> None:
    await cluster.create_gang("giant", 2, "64")
    await cluster.until_message("giant", "0/3 nodes are available: 3 Insufficient cpu.")

    async def pod_reports_it() -> bool:
        conditions = (await cluster.pods())["giant-0"].status.conditions or ()
        return ("PodScheduled", "False", "Unschedulable") in [(c.type, c.status, c.reason) for c in conditions]

    await cluster.until(pod_reports_it, "a pod of the group reports it, too")

    async def is_announced() -> bool:
        events = (await cluster.client.list(EVENTS, namespace=cluster.namespace)).items
        return {("PodGroup", "Unschedulable"), ("Pod", "FailedScheduling")} <= {
            (event.involved_object.kind, event.reason) for event in events
        }

    await cluster.until(is_announced, "events on the group and on its pods")


async def test_pending_gang_starts_when_capacity_is_free(cluster: Cluster) -> None:
    await cluster.create_gang("early", 3, "3")
    await cluster.until_phase("early", "Running")
    await cluster.create_gang("late", 3, "3")
    await cluster.until_message("late", "Insufficient cpu")
    for name in list(await cluster.pods()):
        if name.startswith("early-"):
            await cluster.client.evict(cluster.namespace, name, (await cluster.pods())[name].metadata.uid)
    await cluster.until_phase("late", "Running")


async def test_completed_gang_stays_completed_when_its_pods_are_removed(cluster: Cluster) -> None:
    await cluster.create_gang("job", 2, "1")
    await cluster.until_phase("job", "Running")
    for name in await cluster.pods():
        ended = {"status": {"phase": "Succeeded"}}
        await cluster.client.patch(PODS, name, ended, namespace=cluster.namespace, subresource="status")
    await cluster.until_phase("job", "Completed")
    before = await cluster.group("job")
    for name in await cluster.pods():
        await cluster.client.delete(PODS, name, namespace=cluster.namespace, grace_period=0)
    await cluster.create_gang("later", 2, "1")
    await cluster.until_phase("later", "Running")
    after = await cluster.group("job")
    assert (after.status.phase, after.status.succeeded) == ("Completed", 2)
    assert after.status.conditions == before.status.conditions
    await cluster.create_pod("job-0", "1", group="job")
    await cluster.until_message("job", "valid: 1, min: 2")
    assert (await cluster.group("job")).status.phase in ("Pending", "Inqueue")


async def test_plain_pods_get_a_group(cluster: Cluster) -> None:
    await cluster.create_pod("plain", "1")

    async def is_bound() -> bool:
        return bool((await cluster.pods())["plain"].spec.node_name)

    await cluster.until(is_bound, "the pod is bound")
    pod = (await cluster.pods())["plain"]
    assert (await cluster.group(f"podgroup-{pod.metadata.uid}")).spec.min_member == 1


async def test_cordoned_node_gets_no_pods(cluster: Cluster) -> None:
    nodes = [node.metadata.name for node in (await cluster.client.list(NODES)).items]
    try:
        await asyncio.gather(*(cluster.client.patch(NODES, name, {"spec": {"unschedulable": True}}) for name in nodes))
        await cluster.create_gang("barred", 1, "1")
        await cluster.until_message("barred", "were unschedulable")
    finally:
        for name in nodes:
            await cluster.client.patch(NODES, name, {"spec": {"unschedulable": None}})
    await cluster.until_phase("barred", "Running")


async def test_queues_say_what_they_hold(cluster: Cluster) -> None:
    await cluster.create_gang("held", 2, "2")
    await cluster.until_phase("held", "Running")

    async def is_counted() -> bool:
        queue = await cluster.client.get(QUEUES, "default")
        return (queue.status.allocated or {}).get("cpu") == "4" and queue.status.running == 1

    await cluster.until(is_counted, "the queue status has its allocated amounts")
