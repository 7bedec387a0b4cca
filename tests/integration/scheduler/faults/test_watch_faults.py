"""Watches that fall silent, repeat themselves, mix things up or miss something: the cache is what the cluster is."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from stromboli.local.api_server.faults import (
    Answer,
    CutWatch,
    Duplicate,
    ExpireWatch,
    HangWatch,
    Match,
    Reorder,
    WatchAction,
)
from stromboli.local.api_server.server import ApiServer
from stromboli.scheduler.maintenance import CacheUnrecoverable
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang, queue
from tests.testing.world import World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="faults of the server are made")

PODS_WATCH = Match(verb="watch", plural="pods")


async def test_a_watch_that_falls_silent_is_not_trusted() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False, server=ApiServer(bookmark_interval=0.05)) as world:
        await world.start()
        for reflector in world.scheduler.watches.reflectors:
            reflector._idle_seconds = 0.3
        world.server.drop_watches()
        await world.until_true(lambda: world.scheduler.watches.is_up_to_date)
        fault = world.faults.add(PODS_WATCH, HangWatch())
        await world.create(gang(2, 1, name="gang"))
        await world.until_bound("gang", 2)
        assert fault.fired
        await check(world)


DISTURBANCES: dict[str, tuple[WatchAction, int | None]] = {
    "W2 sends everything twice": (Duplicate(), None),
    "W4 mixes up the order": (Reorder(3), None),
    "A6 forgets its history": (ExpireWatch(), 5),
    "W1 breaks off": (CutWatch(), 5),
}


@pytest.mark.parametrize(("action", "times"), DISTURBANCES.values(), ids=DISTURBANCES)
async def test_nothing_is_lost_or_counted_twice_when_the_server(action: WatchAction, times: int | None) -> None:
    async with running_cluster(cpus(2), bare=True) as world:
        fault = world.faults.add(Match(verb="watch"), action, times=times)
        await world.create(gang(3, 1, name="first"), gang(2, 2, name="second"))
        await world.until_bound("", 5)
        await world.delete(PODS, "first-task-1", grace_period=0)
        await world.create(gang(1, 1, name="third"))
        await world.until_bound("third", 1)
        assert fault.fired
        await check(world, torn=["first"])


async def test_the_order_in_which_kinds_are_heard_of_does_not_matter() -> None:
    """Pods come first, then their group, its queue, and a node at last."""
    head, *members = gang(2, 1, name="gang", queue="late")
    async with running_cluster(bare=True) as world:
        for part in (members, head, queue("late")):
            await world.create(part)
            await world.cycles()
            assert await world.bound() == []
        await world.add_nodes(cpus(1))
        await world.until_bound("gang", 2)
        await check(world)


async def blind(world: World) -> None:
    """The scheduler receives no events of pods until the faults are cleared; the watch history has expired by then."""
    world.faults.add(PODS_WATCH, Answer(503, "ServiceUnavailable"), times=None)
    world.server.drop_watches()
    await world.until_true(lambda: not world.scheduler.watches.is_up_to_date)


async def see_again(world: World) -> None:
    world.server.compact()
    world.faults.clear()
    await world.until_true(lambda: world.scheduler.watches.is_up_to_date)


async def test_a_delete_that_was_missed_and_a_new_pod_of_that_name_are_two_pods() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        head, member = gang(1, 4, name="gang")
        await world.create(head, member)
        before = (await world.until_bound("gang", 1))[0]
        await blind(world)
        await world.delete(PODS, "gang-task-0", grace_period=0)
        await world.create(member)
        await see_again(world)
        after = (await world.until_bound("gang", 1))[0]
        assert after.metadata.uid != before.metadata.uid
        await check(world)


async def test_what_came_and_went_unseen_leaves_no_trace() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(gang(2, 1, name="known"))
        await world.until_bound("known", 2)
        await blind(world)
        await world.create(gang(1, 1, name="unseen"))
        unseen = await world.pod("unseen-task-0")
        assert unseen is not None
        await world.client.bind("default", "unseen-task-0", unseen.metadata.uid, "node-00")
        for name in ("unseen-task-0", "known-task-0"):
            await world.delete(PODS, name, grace_period=0)
        await see_again(world)
        await world.create(gang(3, 1, name="next"))
        await world.until_bound("next", 3)
        await check(world, torn=["known"])


async def test_a_storm_of_events_is_few_cycles() -> None:
    async with running_cluster(cpus(1), bare=True, period=5.0, flush=5.0) as world:
        names = [f"many-task-{place}" for place in range(40)]
        await world.create(gang(40, 1, name="many"))
        await world.until_condition("many", "Insufficient cpu")
        cycles, events = world.scheduler.cycles.number, world.scheduler.watches.required[0].events
        for number in range(10):
            change = {"metadata": {"annotations": {"example.com/turn": str(number)}}}
            await asyncio.gather(*(world.patch(PODS, name, change) for name in names))
        await world.until_true(lambda: world.scheduler.watches.required[0].events >= events + 400)
        assert world.scheduler.cycles.number - cycles < 100
        await check(world)


async def test_object_that_the_cache_rejects_does_not_affect_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        take_in = world.scheduler.cluster.apply

        def stumbling(entry: TopLevel) -> None:
            if entry.metadata.name == "bad-task-0" and "cured" not in (entry.metadata.labels or {}):
                raise RuntimeError("a stumble")
            take_in(entry)

        monkeypatch.setattr(world.scheduler.cluster, "apply", stumbling)
        await world.create(gang(1, 1, name="bad"), gang(1, 1, name="good"))
        await world.until_bound("good", 1)
        await world.until_event("bad-task-0", "a stumble", "InvalidObject")
        assert ("Pod", "default/bad-task-0") in world.scheduler.ingest.quarantine
        await world.patch(PODS, "bad-task-0", {"metadata": {"labels": {"cured": "true"}}})
        await world.until_bound("bad", 1)
        assert not world.scheduler.ingest.quarantine
        await check(world)


def corrupt(world: World) -> None:
    """A node in the accounting has more capacity than the object."""
    cluster_state = world.scheduler.cluster.cluster_state()
    cluster_state.amounts[cluster_state.layout.idle, 0] += 1000


async def test_inconsistent_accounting_is_detected_and_rebuilt() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(gang(1, 4, name="gang"))
        await world.until_bound("gang", 1)
        await world.until_true(lambda: not world.scheduler.cluster.assumptions.placements)
        dumps = []
        world.scheduler.health.dump = lambda: dumps.append(1)
        corrupt(world)
        assert audit(world.scheduler.cluster)
        await world.until_true(lambda: world.scheduler.health.inconsistencies == 1)
        await world.until_true(lambda: not audit(world.scheduler.cluster))
        assert dumps == [1]
        await world.create(gang(1, 1, name="next"))
        await world.until_condition("next", "Insufficient cpu")
        await check(world)


async def test_accounting_inconsistent_again_soon_ends_the_scheduler() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.until_true(lambda: world.scheduler.cycles.number)
        await world.until_true(lambda: len(world.scheduler.cluster.cluster_state().table) == 1)
        corrupt(world)
        await world.until_true(lambda: world.scheduler.health.inconsistencies == 1)
        corrupt(world)
        with pytest.raises(AssertionError, match="the scheduler failed"):
            await world.until_true(lambda: False)
        failure = world.failure
        assert isinstance(failure, ExceptionGroup)
        assert failure.subgroup(CacheUnrecoverable)
        await world.kill()


def node_at(version: int) -> KubeNode:
    return KubeNode(metadata=ObjectMeta("node-00", "", "uid", resource_version=str(version)))


def test_object_missing_from_a_list_returns_with_its_next_event() -> None:
    ingest = Ingest(Cluster())
    ingest.apply(node_at(5))
    ingest.remove(node_at(8))
    ingest.apply(node_at(7))
    assert ingest.get(KubeNode, "node-00") is None, "a late report does not restore the node"
    ingest.apply(node_at(9))
    assert ingest.get(KubeNode, "node-00") == node_at(9)
    assert list(ingest.cluster.nodes.entries) == ["node-00"]
