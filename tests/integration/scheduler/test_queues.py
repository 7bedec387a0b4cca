"""Queues that are closed, opened, cut and deleted while jobs are in them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects.catalogue import QUEUES
from tests.testing.cases.case import STANDARD
from tests.testing.invariants import check
from tests.testing.manifests.builders import amounts, gang, queue
from tests.testing.world import World, cpus, policy_of, running_cluster


async def test_a_closed_queue_takes_no_jobs_until_it_is_opened_again(tmp_path: Path) -> None:
    async with running_cluster(cpus(2), home=tmp_path, policy=policy_of(STANDARD)) as world:
        await world.create(queue("research"))
        await world.create(gang(1, name="before", queue="research"))
        await world.until_phase("before", "Running")
        close = '{"status": {"state": "Closed"}}'
        await world.kubectl("patch", "queue", "research", "--subresource=status", "--type=merge", "-p", close)
        await world.until(lambda: state_of(world, "research", "Closing", "Closed"), "the queue closes")
        await world.create(gang(1, name="after", queue="research"), gang(1, name="other"))
        await world.until_bound("other", 1)
        await world.cycles()
        assert await world.bound("after") == []
        assert len(await world.bound("before")) == 1, "what runs is not touched"
        reopen = '{"status": {"state": "Open"}}'
        await world.kubectl("patch", "queue", "research", "--subresource=status", "--type=merge", "-p", reopen)
        await world.until_bound("after", 1)
        await check(world)


async def state_of(world: World, name: str, *states: str) -> bool:
    found = await world.queue(name)
    return bool(found and found.status.state in states)


async def test_queue_status_has_the_allocation_of_its_jobs() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(gang(2, 1, memory="1Gi", name="job"))
        await world.until_bound("job", 2)

        async def held() -> bool:
            default = await world.queue("default")
            allocated = (default and default.status.allocated) or {}
            return (allocated.get("cpu"), allocated.get("memory")) == ("2", "2Gi")

        await world.until(held, "the queue holds what the job asked for")
        await check(world)


async def test_a_capability_that_is_cut_below_what_is_used_stops_new_work_only() -> None:
    async with running_cluster(cpus(1), policy=policy_of(STANDARD)) as world:
        await world.create(queue("small", capability=amounts(cpu=4)))
        await world.create(gang(2, 1, name="before", queue="small"))
        await world.until_bound("before", 2)
        await world.patch(QUEUES, "small", {"spec": {"capability": {"cpu": "1"}}})
        await world.create(gang(1, 1, name="after", queue="small"), gang(1, 1, name="other"))
        await world.until_bound("other", 1)
        await world.until_condition("after", "small")
        assert (len(await world.bound("before")), await world.bound("after")) == (2, [])
        await check(world)


async def test_the_jobs_of_a_queue_that_is_deleted_go_on_running_and_new_ones_wait() -> None:
    async with running_cluster(cpus(1)) as world:
        await world.create(queue("gone"))
        await world.create(gang(1, 1, name="before", queue="gone"))
        await world.until_bound("before", 1)
        await world.delete(QUEUES, "gone")
        await world.create(gang(1, 1, name="after", queue="gone"), gang(1, 1, name="other"))
        await world.until_bound("other", 1)
        await world.until_condition("after", "gone")
        assert (len(await world.bound("before")), await world.bound("after")) == (1, [])
        await check(world)


async def test_volcanos_controller_can_open_a_queue_that_ours_has_closed() -> None:
    """It applies the state without force, which fails with a conflict where another field manager owns it."""
    async with running_cluster(cpus(1)) as world:
        await world.create(queue("research"))
        await apply_state(world, "research", "Closing")
        await world.until(lambda: state_of(world, "research", "Closed"), "the queue is closed")
        await world.until(lambda: has_owners_of_state(world, "research", set()), "its state has no owner")
        await apply_state(world, "research", "Open")
        await world.cycles()
        assert await state_of(world, "research", "Open")
        assert await has_owners_of_state(world, "research", {VOLCANO})


VOLCANO = "queue-controller"


async def apply_state(world: World, name: str, state: str) -> None:
    body = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}, "status": {"state": state}}
    kind = PatchKind.APPLY
    await world.client.patch(QUEUES, name, body, subresource="status", kind=kind, field_manager=VOLCANO)


async def has_owners_of_state(world: World, name: str, expected: set[str]) -> bool:
    body = msgspec.json.decode(await world.client.request("GET", QUEUES.path(name=name)))
    entries = body["metadata"].get("managedFields") or ()
    return {entry["manager"] for entry in entries if "f:state" in entry["fieldsV1"].get("f:status", {})} == expected


async def test_scheduler_creates_the_missing_queues_where_no_controllers_run() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        for name in ("root", "default"):
            await world.delete(QUEUES, name)
        await world.start()
        await world.create(gang(1, name="job"))
        await world.until_bound("job", 1)
        root, default = await world.queue("root"), await world.queue("default")
    assert root is not None
    assert default is not None
    assert (root.spec.reclaimable, default.spec.reclaimable) == (False, True)


async def test_scheduler_leaves_existing_queues_as_they_are() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        await world.delete(QUEUES, "root")
        await world.client.patch(QUEUES, "default", {"spec": {"weight": 7}})
        await world.start()
        await world.until(lambda: world.queue("root"), "the root is created")
        default = await world.queue("default")
    assert default is not None
    assert default.spec.weight == 7
