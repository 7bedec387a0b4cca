"""What changes between a decision and its writing: the gang is whole afterwards, or has no node at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from stromboli.binding.direct.workers import BindWorkers
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from stromboli.local.api_server.faults import Answer, Match
from tests.testing.held_requests import HeldRequests, seen
from tests.testing.invariants import check
from tests.testing.manifests.builders import foreign, gang, priority_class, queue
from tests.testing.world import SOON, World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="bindings are held up by the server")


async def lose_node(world: World, name: str) -> None:
    await world.delete(NODES, name)
    await seen(world, NODES, name)


async def cordon(world: World, name: str) -> None:
    await world.patch(NODES, name, {"spec": {"unschedulable": True}})
    await seen(world, NODES, name)


async def lose_health(world: World, name: str) -> None:
    body = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await world.patch(NODES, name, body, subresource="status", kind=PatchKind.STRATEGIC)
    await seen(world, NODES, name)


async def taint(world: World, name: str) -> None:
    await world.patch(NODES, name, {"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}})
    await seen(world, NODES, name)


async def stranger(world: World, name: str) -> None:
    """Another scheduler takes the capacity."""
    pod = foreign(name, 2)
    await world.create(pod)
    await seen(world, PODS, pod["metadata"]["name"])


CHANGES = {
    "deleted": lose_node,
    "cordoned": cordon,
    "not ready": lose_health,
    "tainted": taint,
    "taken by a stranger": stranger,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_gang_that_loses_a_node_before_its_first_bind_stays_pending(
    change: Callable[[World, str], Awaitable[None]],
) -> None:
    """The only worker is busy with another pod while the node changes; the gang needs every node."""
    async with running_cluster(cpus(2, 2), bare=True, starts=False, bind_workers=1) as world:
        await world.add_nodes(cpus(1, 1, prefix="small"))
        bind = HeldRequests(world)
        here = {"kubernetes.io/hostname": "small-00"}
        await world.create(gang(1, 1, name="aaa", nodeSelector=here), gang(2, 2, name="gang"))
        await world.start()
        await bind.begins()
        await change(world, "node-01")
        bind.ends()
        await world.until_bound("aaa", 1)
        await world.until_true(lambda: not world.scheduler.executor.waiting)
        await world.cycles()
        assert await world.bound("gang") == []
        assert world.binds.total() == 1

        async def is_reported() -> bool:
            events = [*await world.events("gang-task-0"), *await world.events("gang-task-1")]
            return any("another member of the gang cannot be bound" in (event.message or "") for event in events)

        await world.until(is_reported, "an event reports why a member was not bound")
        await check(world)


async def test_a_node_that_is_lost_in_the_middle_of_a_gang_leaves_no_half_of_it() -> None:
    """One of three is bound; the node of another is deleted; no other node fits: the bound pod is unwound."""
    async with running_cluster(cpus(3, 2), starts=False, bind_workers=1, heal=SOON) as world:
        bind = HeldRequests(world, after=1)
        await world.create(gang(3, 2, name="gang"))
        await world.start()
        first = (await world.until_bound("gang", 1))[0].spec.node_name
        await bind.begins()
        others = [name for name in ("node-00", "node-01", "node-02") if name != first]
        for name in others:
            await lose_node(world, name)
        bind.ends()
        await world.until_event("gang", "pods were bound", "HalfBound")
        await world.until_bound("gang", 0)
        await check(world)


async def test_a_gang_that_lost_a_node_in_the_middle_is_completed_elsewhere() -> None:
    async with running_cluster(cpus(4, 2), starts=False, bind_workers=1) as world:
        bind = HeldRequests(world, after=1)
        await world.create(gang(3, 2, name="gang"))
        await world.start()
        first = (await world.until_bound("gang", 1))[0].spec.node_name
        await bind.begins()
        lost = next(each.node for each in queued_placements(world) if each.node != first)
        await lose_node(world, lost)
        bind.ends()
        await world.until_bound("gang", 3)
        await check(world)


def queued_placements(world: World) -> list[Placement]:
    executor = world.scheduler.executor
    assert isinstance(executor, BindWorkers)
    return [placement for _, placements in executor._queue for placement in placements]


async def test_a_pod_that_is_deleted_while_it_is_bound_is_not_missed_by_the_others() -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1) as world:
        bind = HeldRequests(world)
        await world.create(gang(3, 1, name="gang", minimum=2))
        await world.start()
        await bind.begins()
        await world.delete(PODS, "gang-task-0", grace_period=0)
        await seen(world, PODS, "gang-task-0")
        bind.ends()
        await world.until_bound("gang", 2)
        await check(world)


async def test_a_pod_of_the_same_name_is_another_pod() -> None:
    """While the first one is being bound it is replaced; the second is scheduled as what it is: new."""
    async with running_cluster(cpus(1), starts=False, bind_workers=1) as world:
        bind = HeldRequests(world)
        head, member = gang(1, 1, name="gang")
        await world.create(head, member)
        await world.start()
        await bind.begins()
        before = await world.pod("gang-task-0")
        await world.delete(PODS, "gang-task-0", grace_period=0)
        await world.create(member)
        await seen(world, PODS, "gang-task-0")
        bind.ends()
        after = (await world.until_bound("gang", 1))[0]
        assert before is not None
        assert after.metadata.uid != before.metadata.uid
        assert list(world.binds) == [after.metadata.uid]
        await check(world)


async def test_a_group_that_is_deleted_while_it_is_bound_leaves_nothing_open() -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1) as world:
        bind = HeldRequests(world, after=1)
        await world.create(gang(2, 1, name="gang"))
        await world.start()
        await bind.begins()
        await world.delete(POD_GROUPS, "gang")
        await seen(world, POD_GROUPS, "gang")
        bind.ends()
        await world.until_bound("gang", 2)
        await check(world)


@pytest.mark.parametrize(("minimum", "bound"), [(4, 3), (1, 3)], ids=["raised", "lowered"])
async def test_a_commit_is_judged_by_the_minimum_it_was_made_for(minimum: int, bound: int) -> None:
    async with running_cluster(cpus(1, 3), starts=False, bind_workers=1, heal=SOON) as world:
        bind = HeldRequests(world, after=1)
        await world.create(gang(4, 1, name="gang", minimum=3))
        await world.start()
        await bind.begins()
        await world.patch(POD_GROUPS, "gang", {"spec": {"minMember": minimum}})
        await seen(world, POD_GROUPS, "gang")
        bind.ends()
        await world.until_bound("gang", bound)
        await world.cycles()
        assert len(await world.bound("gang")) == bound
        await check(world, torn=["gang"])


@pytest.mark.parametrize("change", ["deleted", "closed"])
async def test_a_queue_that_goes_while_its_job_is_bound_does_not_tear_it(change: str) -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1) as world:
        await world.create(queue("research"))
        bind = HeldRequests(world, after=1)
        await world.create(gang(2, 1, name="gang", queue="research"))
        await world.start()
        await bind.begins()
        if change == "deleted":
            await world.delete(QUEUES, "research")
        else:
            await world.patch(QUEUES, "research", {"status": {"state": "Closed"}}, subresource="status")
        await seen(world, QUEUES, "research")
        bind.ends()
        await world.until_bound("gang", 2)
        await check(world)


async def test_a_priority_class_that_is_deleted_changes_nothing_that_was_decided() -> None:
    async with running_cluster(cpus(1), starts=False, bind_workers=1) as world:
        await world.create(priority_class("urgent", 1000))
        bind = HeldRequests(world, after=1)
        await world.create(gang(2, 1, name="gang", priority="urgent"))
        await world.start()
        await bind.begins()
        await world.delete(PRIORITY_CLASSES, "urgent")
        await seen(world, PRIORITY_CLASSES, "urgent")
        bind.ends()
        await world.until_bound("gang", 2)
        await world.create(gang(1, 1, name="after", priority="urgent"))
        await world.until_bound("after", 1)
        await check(world)


async def test_a_gang_whose_member_is_refused_for_good_is_unwound() -> None:
    """The server always rejects one member; the others are bound, wait for it, and are evicted."""
    async with running_cluster(cpus(1), starts=False, heal=SOON) as world:
        refused = Match(verb="create", plural="pods", subresource="binding", name="gang-task-2")
        fault = world.faults.add(refused, Answer(422, "Invalid", "no such thing"), times=None)
        await world.create(gang(3, 1, name="gang"))
        await world.start()
        await world.until_event("gang", "2 of 3 pods were bound", "HalfBound")
        await world.until_bound("gang", 0)
        await world.until(lambda: gone(world, "gang-task-0"))
        assert fault.fired < 40, "it is not tried without a pause"
        world.faults.clear()
        await check(world)


async def gone(world: World, name: str) -> bool:
    return await world.pod(name) is None
