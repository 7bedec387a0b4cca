"""Kubernetes' own groups of pods: jobs like all others, on servers that have them switched on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest

from stromboli.cluster.objects.pod_groups.previous_domains import PLACED
from stromboli.kube.client.client import PatchKind
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import (
    EARLY_NATIVE_POD_GROUPS,
    EVENTS,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
)
from stromboli.kube.objects.resources import Resource
from testbed.fault_proxy import FaultProxy
from testbed.plane import ControlPlane
from testbed.proxy_faults import Answer, Match
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration
from tests.testing.planes import fresh_plane
from tests.testing.priority_classes import until_usable
from tests.testing.world import policy_of

FLAGS = (
    "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,"
    "TopologyAwareWorkloadScheduling=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A server with native groups: the early version on the real one, the later on ours."""
    with fresh_plane(*FLAGS, native_groups=True) as started:
        yield started


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with running_cluster(plane) as running:
        yield running


def groups_of(cluster: Cluster) -> Resource[native.NativePodGroup]:
    return EARLY_NATIVE_POD_GROUPS if cluster.plane.kind == "real" else NATIVE_POD_GROUPS


def condition_name(cluster: Cluster) -> str:
    return "PodGroupScheduled" if cluster.plane.kind == "real" else "PodGroupInitiallyScheduled"


async def create_group(cluster: Cluster, name: str, policy: dict[str, Any], **further: Any) -> native.NativePodGroup:
    metadata = {"name": name, **further.pop("metadata", {})}
    body = {"metadata": metadata, "spec": {"schedulingPolicy": policy, **further}}
    return await cluster.client.create(groups_of(cluster), body, namespace=cluster.namespace)


async def create_pods(cluster: Cluster, group: str, count: int, cpu: str, *, prefix: str = "", **spec: Any) -> None:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": cpu}}}
    facts = {"schedulerName": "stromboli", "schedulingGroup": {"podGroupName": group}, "containers": [container]}
    for place in range(count):
        body = {"metadata": {"name": f"{prefix or group}-{place}"}, "spec": {**facts, **spec}}
        await cluster.client.create(PODS, body, namespace=cluster.namespace)


async def create_gang(cluster: Cluster, name: str, count: int, cpu: str, **further: Any) -> None:
    await create_group(cluster, name, {"gang": {"minCount": count}}, **further)
    await create_pods(cluster, name, count, cpu)


async def occupy(cluster: Cluster, nodes: int) -> None:
    """Fill this number of nodes with pods of another scheduler."""
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "4"}}}
    for node in (await cluster.client.list(NODES)).items[:nodes]:
        name = node.metadata.name
        body = {"metadata": {"name": f"occupier-{name}"}, "spec": {"nodeName": name, "containers": [container]}}
        await cluster.client.create(PODS, body, namespace=cluster.namespace)


async def release(cluster: Cluster) -> None:
    for name in await cluster.pods():
        if name.startswith("occupier-"):
            await cluster.client.delete(PODS, name, namespace=cluster.namespace, grace_period=0)


async def until_message(cluster: Cluster, name: str, status: str, reason: str, words: str = "") -> None:
    """Wait until the condition of the group has this status, reason and text."""

    async def messages() -> list[str]:
        group = await cluster.client.get(groups_of(cluster), name, namespace=cluster.namespace)
        wanted = (condition_name(cluster), status, reason)
        return [c.message or "" for c in group.status.conditions or () if (c.type, c.status, c.reason) == wanted]

    async def reached() -> bool:
        return any(words in message for message in await messages())

    try:
        await cluster.until(reached, f"{name} has {status}, {reason}, {words!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}, but: {await messages()}") from error


async def until_bound(cluster: Cluster, gang: str, count: int) -> None:
    async def reached() -> bool:
        return sum(map(bool, await cluster.nodes_of(gang))) == count

    await cluster.until(reached, f"{count} pods of {gang} have nodes")


async def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    await occupy(cluster, 1)
    await create_gang(cluster, "train", 3, "3")
    await until_message(cluster, "train", "False", "Unschedulable", "Insufficient cpu")
    assert await cluster.nodes_of("train") == ["", "", ""]
    await release(cluster)
    await until_bound(cluster, "train", 3)
    await until_message(cluster, "train", "True", "Scheduled")


async def test_pods_of_a_basic_group_count_for_themselves(cluster: Cluster) -> None:
    await create_group(cluster, "serve", {"basic": {}})
    await create_pods(cluster, "serve", 4, "3")
    await until_bound(cluster, "serve", 3)
    await until_message(cluster, "serve", "True", "Scheduled")


async def test_groups_of_both_kinds_may_have_one_name(cluster: Cluster) -> None:
    await cluster.create_gang("twin", 1, "1", minimum=2)
    await create_group(cluster, "twin", {"gang": {"minCount": 2}})
    await create_pods(cluster, "twin", 2, "1", prefix="native")
    await until_bound(cluster, "native", 2)
    await until_message(cluster, "twin", "True", "Scheduled")
    await cluster.until_message("twin", "Not enough valid tasks")
    assert await cluster.nodes_of("twin") == [""]


async def test_pods_may_come_before_their_group(cluster: Cluster) -> None:
    await create_pods(cluster, "late", 2, "1")

    async def is_reported() -> bool:
        conditions = (await cluster.pods())["late-0"].status.conditions or ()
        return any("does not exist, but pods name it; create it" in (each.message or "") for each in conditions)

    await cluster.until(is_reported, "a pod that waits long for its group reports what is missing")
    assert await cluster.nodes_of("late") == ["", ""]
    await create_group(cluster, "late", {"gang": {"minCount": 2}})
    await until_bound(cluster, "late", 2)


async def test_pods_of_other_schedulers_are_not_ours(cluster: Cluster) -> None:
    await create_group(cluster, "theirs", {"gang": {"minCount": 1}})
    await create_pods(cluster, "theirs", 1, "1", schedulerName="default-scheduler")
    await create_gang(cluster, "ours", 1, "1")
    await until_message(cluster, "ours", "True", "Scheduled")
    theirs = await cluster.client.get(groups_of(cluster), "theirs", namespace=cluster.namespace)
    assert not theirs.status.conditions
    assert await cluster.nodes_of("theirs") == [""]


async def test_pods_with_a_native_group_get_no_other(cluster: Cluster) -> None:
    await create_gang(cluster, "own", 2, "1")
    await until_bound(cluster, "own", 2)
    assert (await cluster.client.list(POD_GROUPS, namespace=cluster.namespace)).items == []


async def test_the_queue_is_named_by_annotation_and_knows_the_group(cluster: Cluster) -> None:
    await cluster.client.create(QUEUES, {"metadata": {"name": "native"}, "spec": {"weight": 1}})
    annotations = {"scheduling.volcano.sh/queue-name": "native"}
    await create_gang(cluster, "paid", 2, "2", metadata={"annotations": annotations})

    async def is_counted() -> bool:
        status = (await cluster.client.get(QUEUES, "native")).status
        return ((status.allocated or {}).get("cpu"), status.running) == ("4", 1)

    await cluster.until(is_counted, "the queue status has its allocated amounts")


async def test_the_more_important_group_comes_first(cluster: Cluster) -> None:
    await cluster.client.create(PRIORITY_CLASSES, {"metadata": {"name": "native-urgent"}, "value": 1000})
    await until_usable(cluster.client, "native-urgent")
    await occupy(cluster, 3)
    await create_gang(cluster, "modest", 3, "3")
    await create_gang(cluster, "urgent", 3, "3", priorityClassName="native-urgent")
    for name in ("modest", "urgent"):
        await until_message(cluster, name, "False", "Unschedulable", "Insufficient cpu")
    await release(cluster)
    await until_bound(cluster, "urgent", 3)
    assert await cluster.nodes_of("modest") == ["", "", ""]


async def test_a_group_that_is_disrupted_as_a_whole_loses_both_pods_for_one(plane: ControlPlane) -> None:
    policy = policy_of(configuration("priority", "gang", "predicates", actions="enqueue, allocate, preempt"))
    async with running_cluster(plane, policy=policy) as cluster:
        for name, value in (("native-low", 10), ("native-high", 1000)):
            await cluster.client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
            await until_usable(cluster.client, name)
        await occupy(cluster, 1)
        mode = "PodGroup" if plane.kind == "real" else {"all": {}}
        further = {"disruptionMode": mode, "priorityClassName": "native-low"}
        await create_group(cluster, "pair", {"gang": {"minCount": 1}}, **further)
        await create_pods(cluster, "pair", 2, "3", priorityClassName="native-low")
        await until_bound(cluster, "pair", 2)
        await create_group(cluster, "urgent", {"gang": {"minCount": 1}}, priorityClassName="native-high")
        await create_pods(cluster, "urgent", 1, "3", priorityClassName="native-high")
        await until_bound(cluster, "urgent", 1)
        assert sorted(await cluster.pods())[1:] == ["urgent-0"]


@pytest.mark.only("embedded", because="the early version does not let the number change")
async def test_how_many_belong_together_may_change(cluster: Cluster) -> None:
    await create_group(cluster, "elastic", {"gang": {"minCount": 3}})
    await create_pods(cluster, "elastic", 2, "1")
    await until_message(cluster, "elastic", "False", "Unschedulable", "Not enough valid tasks")
    body = {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    await cluster.client.patch(groups_of(cluster), "elastic", body, namespace=cluster.namespace)
    await until_bound(cluster, "elastic", 2)
    await until_message(cluster, "elastic", "True", "Scheduled")


NEAR = {"schedulingConstraints": {"topology": [{"key": "test.example.com/rack"}]}}


async def test_what_cannot_be_promised_is_held_and_said(cluster: Cluster) -> None:
    """The default policy does not support domains."""
    await create_gang(cluster, "near", 2, "1", **NEAR)
    words = "pods cannot be kept within one test.example.com/rack: no configured plugin supports network domains"
    await until_message(cluster, "near", "False", "Unschedulable", words)
    assert await cluster.nodes_of("near") == ["", ""]


async def test_a_gang_waits_until_enough_nodes_have_one_label_in_common(plane: ControlPlane) -> None:
    policy = policy_of(configuration("gang", "predicates", "network-topology-aware", actions="enqueue, allocate"))
    async with running_cluster(plane, policy=policy) as cluster:
        names = sorted(node.key for node in (await cluster.client.list(NODES)).items)

        async def label(*racks: str | None) -> None:
            for name, rack in zip(names, racks, strict=True):
                labels = {"test.example.com/rack": rack}
                await cluster.client.patch(NODES, name, {"metadata": {"labels": labels}})

        await label("r0", "r1", None)
        await create_gang(cluster, "near", 2, "3", **NEAR)
        words = "no domain fits the 2 pods it needs: the 2 domains of tier 1 hold 1 of them at most"
        await until_message(cluster, "near", "False", "Unschedulable", words)
        await label("r0", "r1", "r1")
        await until_bound(cluster, "near", 2)
        assert sorted(await cluster.nodes_of("near")) == names[1:]
        await until_message(cluster, "near", "True", "Scheduled", "placed in r1 (tier 1)")
        await cluster.until(partial(is_placed_in, cluster, "True", "r1"), "the group reports its domain")
        await label(None, None, None)
        await cluster.until(partial(is_placed_in, cluster, "False", ""), "the group reports the lost domain")


async def is_placed_in(cluster: Cluster, status: str, domain: str) -> bool:
    group = await cluster.client.get(groups_of(cluster), "near", namespace=cluster.namespace)
    placed = [(each.status, each.message or "") for each in group.status.conditions or () if each.type == PLACED]
    return placed == [(status, domain)]


async def test_our_writes_touch_nothing_of_others(cluster: Cluster) -> None:
    metadata = {"labels": {"team": "a"}, "annotations": {"note": "b"}, "finalizers": ["example.com/kept"]}
    made = await create_group(cluster, "shared", {"gang": {"minCount": 1}}, metadata=metadata)
    foreign = {"type": "Watched", "status": "True", "reason": "Because", "message": "by us"}
    foreign["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    resource, place = groups_of(cluster), cluster.namespace
    body = {"status": {"conditions": [foreign]}}
    await cluster.client.patch(
        resource, "shared", body, subresource="status", kind=PatchKind.STRATEGIC, namespace=place
    )
    await create_pods(cluster, "shared", 1, "1")
    await until_message(cluster, "shared", "True", "Scheduled")
    found = await cluster.client.get(resource, "shared", namespace=place)
    assert (found.spec, found.metadata.generation) == (made.spec, made.metadata.generation)
    for part in ("labels", "annotations", "finalizers"):
        assert getattr(found.metadata, part) == getattr(made.metadata, part)
    conditions = {condition.type: condition for condition in found.status.conditions or ()}
    assert conditions.keys() == {"Watched", condition_name(cluster)}
    assert msgspec.to_builtins(conditions["Watched"]) == foreign
    await cluster.client.patch(resource, "shared", {"metadata": {"finalizers": None}}, namespace=place)


async def test_conflicting_write_is_resolved_by_reading_the_group_again(plane: ControlPlane) -> None:
    with FaultProxy(plane.url) as proxy:
        conflict = Answer(409, "Conflict", "the object has been modified")
        proxy.faults.add(Match("PATCH", "/podgroups/contested/status"), conflict, times=2)
        async with running_cluster(plane, proxy.url) as cluster:
            await create_gang(cluster, "contested", 2, "1")
            await until_message(cluster, "contested", "True", "Scheduled")
        assert proxy.seen(Match("GET", "/podgroups/contested$")), "the group was read again"


async def test_events_name_the_native_group(cluster: Cluster) -> None:
    await create_gang(cluster, "giant", 1, "64")

    async def is_announced() -> bool:
        events = (await cluster.client.list(EVENTS, namespace=cluster.namespace)).items
        wanted = (groups_of(cluster).api_version, "PodGroup", "giant", "Unschedulable")
        about = [(event.involved_object, event.reason) for event in events]
        recorded = [(regarding.api_version, regarding.kind, regarding.name, reason) for regarding, reason in about]
        return wanted in recorded

    await cluster.until(is_announced, "an event about the native group")
