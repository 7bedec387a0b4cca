"""What must hold at the end of every test, checked on the API server and on the scheduler's accounting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.comparison import compare
from stromboli.cluster.ingest.kinds import WATCHED_REQUIRED
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.kube.client.client import Listing
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.scheduler.loop import Scheduler
from tests.testing.manifests.builders import GROUP_NAME
from tests.testing.world import World


async def check(world: World, *, overfull: Collection[str] = (), torn: Collection[str] = ()) -> None:
    """Wait until the cluster is idle and check that nothing is wrong.

    The test itself has made `overfull` nodes and `torn` gangs.
    """
    scheduler = world.scheduler
    await world.until_true(lambda: not [*unfinished(scheduler)], lambda: f"at rest: {[*unfinished(scheduler)]}")
    assert [*await over_committed(world, overfull), *await torn_gangs(world, torn)] == []
    await world.until(lambda: _agrees(world), lambda: f"the cache is what the cluster is: {world.differences}")
    assert audit(world.scheduler.cluster) == []
    assert {uid: count for uid, count in world.binds.items() if count > 1} == {}, "bound more than once"
    assert world.failure is None


def unfinished(scheduler: Scheduler) -> Iterator[str]:
    """Yield everything that the scheduler has started and not finished."""
    cluster = scheduler.cluster
    yield from (f"{uid} is assumed on {each.node}" for uid, each in cluster.assumptions.placements.items())
    yield from (f"{uid} is leaving" for uid in cluster.assumptions.leaving)
    counts = {
        "binds": scheduler.executor.waiting,
        "evictions": scheduler.evictors.waiting,
        "half-bound gangs": scheduler.recovery.open,
        "questions": scheduler.resync.waiting,
        "statuses": scheduler.writer.waiting,
    }
    yield from (f"{count} {what}" for what, count in counts.items() if count)


async def over_committed(world: World, allowed: Collection[str]) -> list[str]:
    """Return the nodes whose pods request more than their allocatable resources."""
    demands: dict[str, Counter[str]] = {}
    for pod in await world.bound():
        if pod.status.phase not in ("Succeeded", "Failed"):
            demands.setdefault(pod.spec.node_name or "", Counter()).update(_demand(pod))
    nodes = (await world.client.list(NODES)).items
    has = {node.metadata.name: node.status.allocatable or {} for node in nodes}
    return [
        f"node {name} has {has[name].get(resource)} {resource} and gave away {amount}"
        for name, wanted in demands.items()
        for resource, amount in wanted.items()
        if name in has and name not in allowed and amount > _milli(has[name].get(resource, "0"))
    ]


def _demand(pod: Pod) -> Counter[str]:
    total = Counter({"pods": 1000})
    for container in pod.spec.containers or ():
        requests = (container.resources.requests if container.resources else None) or {}
        total.update({resource: _milli(amount) for resource, amount in requests.items()})
    return total


def _milli(amount: object) -> int:
    return parse_quantity(str(amount), milli=True)


async def torn_gangs(world: World, allowed: Collection[str]) -> list[str]:
    """Return the gangs that are placed below their minimum."""
    placed: Counter[str] = Counter()
    for pod in await world.bound():
        placed[f"{pod.metadata.namespace}/{(pod.metadata.annotations or {}).get(GROUP_NAME)}"] += 1
    return [
        f"{placed[group.key]} of {group.spec.min_member} members of {group.key} have a node"
        for group in (await world.client.list(POD_GROUPS)).items
        if group.metadata.name not in allowed and 0 < placed[group.key] < (group.spec.min_member or 0)
    ]


async def _agrees(world: World) -> bool:
    fresh: list[TopLevel] = []
    for resource in WATCHED_REQUIRED:
        listing: Listing[Any] = await world.client.list(resource)
        fresh.extend(listing.items)
    world.differences = compare(world.scheduler.cluster, fresh)
    return not world.differences
