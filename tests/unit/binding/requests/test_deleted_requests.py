"""Requests that are deleted during execution, in whole or in part, and pods that other writers bind meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from stromboli import kube
from stromboli.binding.requests.cluster_view import BinderClusterView
from stromboli.binding.requests.decisions import DecisionIndex
from stromboli.binding.requests.placements import BOUND_BY
from stromboli.binding.requests.status import RequestStatuses, StatusConflict
from stromboli.kube.objects.catalogue import BIND_REQUESTS, CONFIG_MAPS, NODES
from tests.testing.binder.binder_world import Running, World
from tests.testing.binder.tickets_plugin import TICKET, Tickets
from tests.testing.virtual_time import run_virtually


async def world_of(*nodes: str) -> World:
    world = World(seed=1)
    for name in nodes:
        await world.node(name)
    return world


async def until_binding(world: World, running: Running, times: int = 1) -> None:
    """Wait until `times` bindings are in flight."""

    async def reached() -> bool:
        return running.passed.count("before create pods/binding") >= times

    await world.until(reached)


async def deleted(world: World, name: str) -> None:
    await world.client.delete(BIND_REQUESTS, name, namespace="default")


def test_binding_in_flight_keeps_its_capacity_when_the_request_is_deleted() -> None:
    async def scenario() -> None:
        world = await world_of("a")
        await world.gang("first", "a", cpu=4)
        world.injected.slow = 1.0
        running = world.start()
        await until_binding(world, running)
        world.injected.stop()
        await deleted(world, "first")
        await world.gang("gang", "a", cpu=4)
        await world.until_settled()
        assert (await world.places("first"), await world.places("gang")) == ("a", "-"), await world.described()
        assert "Insufficient cpu" in (await world.found("gang")).status.reason
        assert await world.faults() == []
        await world.close()

    run_virtually(scenario())


def test_capacity_is_released_when_the_request_is_deleted_before_binding() -> None:
    async def scenario() -> None:
        world = await world_of("a")
        await world.gang("first", "a", cpu=4)
        await world.remove_pod("first-0")
        await world.pod("first-0", 4, schedulingGates=[{"name": "example.com/wait"}])
        await world.request("second", {"first-0": "a"}, backoffLimit=100)
        running = world.start()
        await asyncio.sleep(1.0)
        await deleted(world, "second")
        await asyncio.sleep(1.0)
        assert len(running.binder.assumed) == 0
        await world.gang("gang", "a", cpu=4)
        await world.until_settled()
        assert await world.places("gang") == "a"
        await world.close()

    run_virtually(scenario())


def test_pod_bound_by_another_writer_to_the_same_node_is_not_evicted() -> None:
    async def scenario() -> None:
        world = await world_of("a", "b")
        await world.gang("gang", "ab")
        world.injected.slow = 1.0
        running = world.start()
        await until_binding(world, running, 2)
        await world.bind_elsewhere("gang-0", "a")
        await world.remove_pod("gang-1")
        world.injected.stop()
        await world.until_settled()
        assert (await world.found("gang")).status.phase == "Failed"
        assert await world.places("gang") == "a.", await world.described()
        assert await world.events("Scheduled") == []
        await world.close()

    run_virtually(scenario())


async def two_parts(world: World, phase: str) -> None:
    """Create a decision of two parts that has begun: the first is bound, the second cannot be bound now."""
    for number, node in ((1, "a"), (2, "b")):
        await world.pod(f"gang-{number}")
        name = f"part-{number}"
        await world.request(name, {f"gang-{number}": node}, decision="gang", part=number, parts=2, deadlineSeconds=60)
        await world.client.patch(
            BIND_REQUESTS, name, {"status": {"phase": phase}}, namespace="default", subresource="status"
        )
    await world.client.bind("default", "gang-1", world.uids["gang-1"], "a", annotations={BOUND_BY: "part-1"})
    await world.client.patch(NODES, "b", {"spec": {"unschedulable": True}})


VANISHED = [("Binding", "Succeeded", "a-"), ("Unwinding", "Failed", ".-")]


@pytest.mark.parametrize(("phase", "end", "places"), VANISHED, ids=[case[0] for case in VANISHED])
def test_decision_that_loses_a_part_continues_with_the_others(phase: str, end: str, places: str) -> None:
    async def scenario() -> None:
        world = await world_of("a", "b")
        await two_parts(world, phase)
        await deleted(world, "part-2")
        running = world.start()
        await asyncio.sleep(300.0)
        (found,) = await world.requests()
        assert (found.status.phase, await world.places("gang")) == (end, places), await world.described()
        assert running.passed.count("after patch bindrequests/status") < 5
        await world.close()

    run_virtually(scenario())


def test_preparation_of_the_next_request_survives_deletion_of_the_previous() -> None:
    """The first request lacks capacity for another member, and so has released the pod that both name."""

    async def scenario() -> None:
        world = await world_of("a", "b")
        for name in ("gang-0", "gang-1"):
            await world.pod(name)
        ticket = {"gang-0": {"annotations": {TICKET: "yes"}}, "gang-1": {"annotations": {TICKET: "later:99"}}}
        await world.request("first", {"gang-0": "a", "gang-1": "b"}, facts=ticket, backoffLimit=100)
        plugin = Tickets()
        world.start([plugin])
        await asyncio.sleep(5.0)
        slow = {"gang-0": {"annotations": {TICKET: "slow:8"}}}
        await world.request("second", {"gang-0": "a"}, facts=slow, backoffLimit=100)
        await asyncio.sleep(4.0)
        await deleted(world, "first")
        await world.until_settled()
        assert await world.places("gang") == "a-"
        assert await tickets(world) == [f"ticket-{world.uids['gang-0']}"], (plugin.calls, await world.described())
        await world.close()

    run_virtually(scenario())


def test_capacity_of_a_recreated_request_is_its_own() -> None:
    async def scenario() -> None:
        world = await world_of("a")
        for name in ("gang-0", "gang-1"):
            await world.pod(name, 2)
        slow = {f"gang-{place}": {"annotations": {TICKET: f"slow:{10 + place}"}} for place in range(2)}
        await world.request("same", {"gang-0": "a"}, facts=slow)
        world.start([Tickets()])
        await asyncio.sleep(2.0)
        await deleted(world, "same")
        await world.request("same", {"gang-1": "a"}, facts=slow)
        await asyncio.sleep(1.0)
        await world.gang("large", "a", cpu=4)
        await world.until_settled()
        assert (await world.places("gang"), await world.places("large")) == ("-a", "-"), await world.described()
        await world.close()

    run_virtually(scenario())


async def tickets(world: World) -> list[str]:
    found = (await world.client.list(CONFIG_MAPS, namespace="default")).items
    return [each.metadata.name for each in found if each.metadata.name.startswith("ticket-")]


def test_request_missing_on_the_server_is_removed_before_the_watch_reports_it() -> None:
    async def scenario() -> None:
        world = await world_of("a")
        request = await world.gang("gang", "a")
        await deleted(world, "gang")
        index = DecisionIndex(lambda: 0.0)
        index.apply(request)
        statuses = RequestStatuses(world.client, BinderClusterView(index), epoch=lambda: 1)
        decision = index.decisions["default/gang"]
        with pytest.raises(StatusConflict):
            await statuses.write(decision, "Binding", {}, attempts=0, reason="")
        assert index.requests == {}

    run_virtually(scenario())


def test_failed_member_that_was_bound_after_all_has_condition_bound() -> None:
    async def scenario() -> None:
        world = await world_of("a", "b")
        await world.gang("gang", "ab", minimum=1, backoffLimit=1)
        await world.client.patch(NODES, "b", {"spec": {"unschedulable": True}})
        world.start()
        await world.until_settled()
        assert messages_of(await world.pods(), "gang-1") == ["False"]
        await world.client.bind("default", "gang-1", world.uids["gang-1"], "b", annotations={BOUND_BY: "gang"})
        await world.until_settled()
        assert messages_of(await world.pods(), "gang-1") == ["True"]
        await world.close()

    run_virtually(scenario())


def messages_of(pods: dict[str, kube.Pod], name: str) -> list[str]:
    return [each.status or "" for each in pods[name].status.conditions or () if each.type == "PodBound"]
