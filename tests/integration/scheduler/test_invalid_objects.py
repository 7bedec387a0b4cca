"""Invalid objects report their own errors, and all others are scheduled."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.ingest.ingest import Ingest
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang, gang_of, group, pod, queue
from tests.testing.world import World, cpus, running_cluster

AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "zone", "operator": "Perhaps", "values": ["a"]}]}]}}}  # fmt: skip
LONG = "ü" * 300
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}"


def pods_of(name: str, *members: Any, **facts: Any) -> list[Any]:
    return gang_of(*members, name=name, **facts)


#: The invalid field, and the message on its group. A server may reject the object, too.
BAD: dict[str, tuple[list[Any], str]] = {
    "M1 a negative amount": (pods_of("bad", pod(-1)), "cpu"),
    "M1 no number": (pods_of("bad", pod("NaN")), "cpu"),
    "M1 a number beyond all": (pods_of("bad", pod("1e1000")), "cpu"),
    "M1 a wrong suffix": (pods_of("bad", pod(1, "3Tb")), "memory"),
    "M2 more than can be counted": (pods_of("bad", *[pod(1, "9E")] * 3), "memory"),
    "M3 nulls instead of lists": (pods_of("bad", pod(9, tolerations=(), volumes=None)), "Insufficient cpu"),
    "M4 an unknown operator": (pods_of("bad", pod(affinity=AFFINITY)), "Perhaps"),
    "M7 a minimum larger than the job": (pods_of("bad", pod(), minimum=3), "valid: 1, min: 3"),
    "M7 a minimum beyond all numbers": (pods_of("bad", pod(), minimum=2**31 - 1), "min: 2147483647"),
    "M8 parts that ask for less than the whole": (
        pods_of("bad", pod(role="a"), minimum=5, minimums={"a": 3}),
        "Not enough",
    ),
    "M13 no matching node": (pods_of("bad", pod(nodeSelector={"no": "where"})), "0/1 nodes are available"),
}


@pytest.mark.parametrize(("manifests", "words"), BAD.values(), ids=BAD)
async def test_invalid_object_is_reported_and_others_are_scheduled(manifests: list[Any], words: str) -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        accepted = await offered(world, manifests)
        await world.create(gang(1, 1, name="good"))
        await world.until_bound("good", 1)
        if accepted:
            await world.until_condition("bad", words)
            assert await world.bound("bad") == []
        await check(world)


async def offered(world: World, manifests: list[Any]) -> bool:
    """Whether the server takes them all."""
    try:
        await world.create(manifests)
    except ApiError as error:
        if not error.is_invalid:
            raise
        return False
    return True


@pytest.mark.only("embedded", because="the real one never comes to the end of such a number")
async def test_an_endless_number_is_refused_at_once() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        assert not await offered(world, pods_of("bad", pod("1e1000000000")))
        await check(world)


async def test_a_minimum_of_nothing_or_less_is_no_minimum() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        accepted = await offered(world, gang(2, 3, name="loose", minimum=-1))
        if accepted:
            await world.until_bound("loose", 1)
        await world.create(gang(1, 1, name="good"))
        await world.until_bound("good", 1)
        await check(world)


async def test_queues_that_go_round_in_a_circle_hold_up_only_themselves() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(queue("a", parent="b"), queue("b", parent="a"))
        await offered(world, [queue("own", parent="own")])
        chain = [queue(f"deep-{depth}", parent=f"deep-{depth - 1}" if depth else None) for depth in range(20)]
        await world.create(chain, gang(1, 1, name="circle", queue="a"), gang(1, 1, name="deep", queue="deep-19"))
        await world.create(gang(1, 1, name="good"))
        await world.until_bound("good", 1)
        await world.until_bound("deep", 1)
        assert any("Queue a" in warning for warning in world.scheduler.cluster.snapshot().warnings)
        await check(world)


async def test_messages_in_every_script_are_kept_within_limits() -> None:
    """A label of another script, a long annotation, and a message that is too long for an event."""
    strange = {"example.com/name": f"{LONG}{FAMILY}\N{RIGHT-TO-LEFT OVERRIDE}"}
    names = [f"{'x' * 60}-{number}" for number in range(3)]
    async with running_cluster(cpus(1), bare=True) as world:
        selector = {f"example.com/{name}": name for name in names}
        await world.create(
            gang(1, 1, name="n" * 63, annotations=strange, nodeSelector=selector), gang(1, 1, name="good")
        )
        await world.until_bound("good", 1)
        said = await world.until_condition("n" * 63, "0/1 nodes are available")
        assert len(said.encode()) <= 1024
        for event in await world.events("n" * 63):
            assert len((event.message or "").encode()) <= 1024
        await check(world)


async def test_groups_of_every_size_live_side_by_side() -> None:
    async with running_cluster(cpus(1, 64), bare=True) as world:
        single = [gang(1, "10m", name=f"one-{number}") for number in range(15)]
        await world.create(group("none", 0), single, gang(30, "10m", name="large"))
        await world.until_bound("one", 15)
        await world.until_bound("large", 30)
        await check(world)


async def test_a_group_of_another_namespace_is_another_group() -> None:
    head, member = gang(1, 1, name="gang")
    member["metadata"]["namespace"] = "kube-public"
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(head, member, gang(1, 1, name="good"))
        await world.until_bound("good", 1)
        await world.cycles()
        assert await world.bound("gang") == []
        await check(world)


@pytest.mark.parametrize("nodes", [0, 1])
async def test_a_cluster_of_hardly_any_nodes_is_a_cluster(nodes: int) -> None:
    async with running_cluster(*([cpus(1)] * nodes), bare=True) as world:
        await world.create(gang(1, 1, name="gang"))
        await (world.until_bound("gang", 1) if nodes else world.until_condition("gang", "0/0 nodes are available"))
        await check(world)


async def test_a_group_that_becomes_invalid_and_valid_again_recovers() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(gang(1, 9, name="gang"))
        await world.until_condition("gang", "Insufficient cpu")
        await world.patch(POD_GROUPS, "gang", {"spec": {"queue": "nowhere"}})
        await world.until_condition("gang", "nowhere")
        await world.patch(POD_GROUPS, "gang", {"spec": {"queue": "default"}})
        await world.until_condition("gang", "Insufficient cpu")
        await check(world)


# -- what no server lets through, but a broken one might ----------------------------------------------------------


def running_pod(name: str, uid: str, created: str | None = "2020-01-01T00:00:00Z") -> Pod:
    metadata = ObjectMeta(name, "default", uid, resource_version="7", creation_timestamp=created)
    described = Pod(metadata=metadata)
    described.spec.node_name, described.spec.scheduler_name = "node-00", "stromboli"
    return described


STRANGE = {
    "M11 the uid of another pod": [running_pod("one", "same"), running_pod("two", "same")],
    "M11 no uid": [running_pod("one", "first"), running_pod("two", "")],
}


@pytest.mark.parametrize("pods", STRANGE.values(), ids=STRANGE)
def test_pod_with_an_ambiguous_identity_is_quarantined(pods: list[Pod]) -> None:
    ingest = Ingest(Cluster())
    for entry in pods:
        ingest.apply(entry)
    assert list(ingest.quarantine) == [("Pod", "default/two")]
    assert [entry.metadata.name for entry in ingest.cluster.pods.all()] == ["one"]
    ingest.remove(pods[1])
    assert [entry.metadata.name for entry in ingest.cluster.pods.all()] == ["one"]
    assert (ingest.quarantine, audit(ingest.cluster)) == ({}, [])


def test_a_pod_that_does_not_say_when_it_came_is_as_old_as_can_be() -> None:
    ingest = Ingest(Cluster())
    ingest.apply(running_pod("one", "first", None))
    assert (ingest.quarantine, audit(ingest.cluster)) == ({}, [])


async def test_pod_without_a_controller_for_its_group_gets_condition_and_event() -> None:
    async with running_cluster(cpus(1), bare=True, status_refresh=0.2) as world:
        await world.create(pod(name="lonely"))
        event = await world.until_event("lonely", "the pod has no PodGroup", "FailedScheduling")
        assert "start `stromboli controller`" in (event.message or "")
        found = await world.client.get(PODS, "lonely", namespace="default")
        [condition] = [c for c in found.status.conditions or () if c.type == "PodScheduled"]
        assert (condition.status, condition.reason) == ("False", "Unschedulable")
        assert condition.message == event.message
