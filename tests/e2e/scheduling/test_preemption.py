"""In a full cluster the right work runs; victims, protected pods and the reasons are reported on objects."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from stromboli import kube
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import DISRUPTION_BUDGETS, EVENTS, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from stromboli.workloads.groups import GROUP_NAME
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster
from tests.testing.cases.case import configuration, plugin
from tests.testing.priority_classes import until_usable
from tests.testing.world import policy_of

#: Gangs go whole or keep their minimum; queues get back what they deserve by weight.
CONF = configuration(
    ["priority", plugin("gang", enablePreemptable=False, enableReclaimable=False), "conformance"],
    ["predicates", "proportion"],
    actions="enqueue, allocate, preempt, reclaim",
)
HIGH, LOW, POLITE = "contention-high", "contention-low", "contention-polite"
#: Keeps a victim visible until the test releases it, as a long grace period would.
FINALIZER = "tests.example.com/seen"


class Contention:
    """A cluster of three nodes with four cpus each, for jobs that do not all fit."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.namespace = cluster.namespace

    async def create_gang(
        self, name: str, size: int, cpu: int, *, minimum: int, priority: str, queue: str = "default", **pod: Any
    ) -> None:
        spec = {"minMember": minimum, "priorityClassName": priority, "queue": queue}
        await self.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=self.namespace)
        for place in range(size):
            await self.create_pod(f"{name}-{place}", cpu, group=name, priority=priority, **pod)

    async def create_pod(
        self, name: str, cpu: int, *, group: str, priority: str, app: str = "", lingers: bool = False
    ) -> None:
        metadata: dict[str, Any] = {
            "name": name,
            "annotations": {GROUP_NAME: group},
            "labels": {"app": app or group},
            "finalizers": [FINALIZER] if lingers else [],
        }
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": str(cpu)}}}
        spec = {"schedulerName": "volcano", "priorityClassName": priority, "containers": [container]}
        await self.client.create(PODS, {"metadata": metadata, "spec": spec}, namespace=self.namespace)

    async def delete_gang(self, name: str) -> None:
        await self.client.delete(POD_GROUPS, name, namespace=self.namespace)
        for pod in [pod for pod in await self.cluster.pods() if pod.startswith(f"{name}-")]:
            await self.client.delete(PODS, pod, namespace=self.namespace, grace_period=0)

    async def uids(self, gang: str) -> dict[str, str]:
        """The members of a gang that are there and stay."""
        pods = await self.cluster.pods()
        return {
            name: pod.metadata.uid
            for name, pod in pods.items()
            if name.startswith(f"{gang}-") and pod.metadata.deletion_timestamp is None
        }

    async def until_all_run(self, gang: str, number: int) -> None:
        async def reached() -> bool:
            pods = await self.cluster.pods()
            phases = [pod.status.phase for name, pod in pods.items() if name.startswith(f"{gang}-")]
            return phases == ["Running"] * number

        await self.cluster.until(reached, f"{number} pods of {gang} run")

    async def until_leaving(self, gang: str, number: int) -> list[kube.Pod]:
        """Wait until so many members are on their way out; these."""
        leaving: list[kube.Pod] = []

        async def reached() -> bool:
            pods = await self.cluster.pods()
            members = [pod for name, pod in sorted(pods.items()) if name.startswith(f"{gang}-")]
            leaving[:] = [pod for pod in members if pod.metadata.deletion_timestamp is not None]
            return len(leaving) == number

        await self.cluster.until(reached, f"{number} pods of {gang} are leaving")
        return leaving

    async def let_go(self, pods: Iterable[str]) -> None:
        """What kept these in sight is gone."""
        for name in pods:
            with contextlib.suppress(ApiError):
                await self.client.patch(PODS, name, {"metadata": {"finalizers": None}}, namespace=self.namespace)

    async def until_condition(self, name: str, kind: str, reason: str, *words: str) -> None:
        """Wait until a group or a pod has a condition, with these words in its message."""

        async def reached() -> bool:
            conditions = await self._conditions(name)
            return any(
                (c.type, c.status, c.reason) == (kind, "True" if kind != "PodScheduled" else "False", reason)
                and all(word in (c.message or "") for word in words)
                for c in conditions
            )

        await self.cluster.until(reached, f"{name} has {kind}/{reason} with {words}")

    async def _conditions(self, name: str) -> list[Any]:
        pods = await self.cluster.pods()
        if name in pods:
            return pods[name].status.conditions or []
        return list((await self.cluster.group(name)).status.conditions or [])

    async def until_event(self, kind: str, name: str, reason: str, *words: str) -> None:
        async def reached() -> bool:
            events = (await self.client.list(EVENTS, namespace=self.namespace)).items
            return any(
                (event.involved_object.kind, event.involved_object.name, event.reason) == (kind, name, reason)
                and all(word in (event.message or "") for word in words)
                for event in events
            )

        await self.cluster.until(reached, f"{kind} {name} has {reason} with {words}")


@pytest.fixture
async def contention(plane: ControlPlane) -> AsyncIterator[Contention]:
    async with running_cluster(plane, policy=policy_of(CONF)) as cluster:
        contention = Contention(cluster)
        async with _priority_classes(contention), _queues(contention):
            try:
                yield contention
            finally:
                await contention.let_go(list(await cluster.pods()))


@contextlib.asynccontextmanager
async def _priority_classes(contention: Contention) -> AsyncIterator[None]:
    classes: dict[str, dict[str, object]] = {
        HIGH: {"value": 1000},
        LOW: {"value": 10},
        POLITE: {"value": 500, "preemptionPolicy": "Never"},
    }
    for name, facts in classes.items():
        await contention.client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, **facts})
    try:
        for name in classes:
            await until_usable(contention.client, name)
        yield
    finally:
        for name in classes:
            await contention.client.delete(PRIORITY_CLASSES, name)


@contextlib.asynccontextmanager
async def _queues(contention: Contention) -> AsyncIterator[None]:
    names = ("contention-left", "contention-right")
    for name in names:
        await contention.client.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": True}})
    try:
        yield
    finally:
        for name in names:
            await contention.client.delete(QUEUES, name)


async def test_urgent_gang_takes_the_capacity_of_less_important_pods(contention: Contention) -> None:
    cluster, namespace = contention.cluster, contention.namespace
    await contention.create_gang("batch", 4, 2, minimum=1, priority=LOW, lingers=True)
    await contention.create_gang("equal", 2, 2, minimum=1, priority=HIGH)
    await contention.until_all_run("batch", 4)
    await contention.until_all_run("equal", 2)
    before = await contention.uids("batch"), await contention.uids("equal")

    await contention.create_gang("urgent", 2, 2, minimum=2, priority=HIGH)
    victims = [pod.metadata.name for pod in await contention.until_leaving("batch", 2)]
    for victim in victims:
        key = f"{namespace}/{victim}"
        await contention.until_event("Pod", victim, "Evict", "preempt", f"{namespace}/urgent")
        await contention.until_event("PodGroup", "batch", "Evict", "preempt", key, f"{namespace}/urgent")
        await contention.until_event("PodGroup", "urgent", "Evict", "preempt", key)
        await contention.until_condition(victim, "DisruptionTarget", "EvictionByEvictionAPI")
        await contention.until_condition(
            victim, "scheduling.stromboli.dev/Evicted", "preempt", f"in favour of {namespace}/urgent"
        )
        await contention.until_condition("batch", "Evicted", "preempt", key, f"{namespace}/urgent")
        await contention.until_condition("urgent", "Claimed", "preempt", key)
    for place in range(2):
        await contention.until_event("Pod", f"urgent-{place}", "Evict", "preempt", f"{namespace}/batch-")
        await contention.until_condition(
            f"urgent-{place}", "PodScheduled", "Unschedulable", "once resource is released"
        )
    assert await cluster.nodes_of("urgent") == ["", ""], "no pod is bound to capacity that is not free yet"

    await contention.let_go(victims)
    await contention.until_all_run("urgent", 2)
    await cluster.until_phase("urgent", "Running")
    staying = {name: uid for name, uid in before[0].items() if name not in victims}
    assert (await contention.uids("batch"), await contention.uids("equal")) == (staying, before[1])


async def test_a_queue_gets_back_what_it_deserves(contention: Contention) -> None:
    cluster, namespace = contention.cluster, contention.namespace
    await contention.create_gang("rich", 6, 2, minimum=1, priority=LOW, queue="contention-left")
    await contention.until_all_run("rich", 6)
    before = await contention.uids("rich")
    await contention.create_gang("poor", 2, 2, minimum=2, priority=LOW, queue="contention-right")
    await contention.until_all_run("poor", 2)
    after = await contention.uids("rich")
    assert len(after) == 4, "no more go than are needed"
    assert after.items() <= before.items(), "those that stay were not touched"
    for victim in before.keys() - after.keys():
        await contention.until_event("Pod", victim, "Evict", "reclaim", f"{namespace}/poor")
        await contention.until_event("PodGroup", "poor", "Evict", "reclaim", f"{namespace}/{victim}")
    await contention.until_condition("rich", "Evicted", "reclaim", f"in favour of {namespace}/poor")
    await contention.until_condition("poor", "Claimed", "reclaim")
    await cluster.until_phase("poor", "Running")


async def test_a_budget_is_kept_and_the_claim_goes_on_when_it_recovers(contention: Contention) -> None:
    cluster, namespace = contention.cluster, contention.namespace
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    await contention.client.create(DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": spec}, namespace=namespace)
    await contention.create_gang("web", 3, 3, minimum=1, priority=LOW, app="web")
    await contention.until_all_run("web", 3)
    await _until_allowed(contention, 1)

    await contention.create_gang("urgent", 2, 4, minimum=2, priority=HIGH)
    before = await contention.uids("web")
    await cluster.until_message("urgent", f"disruption budget {namespace}/web allows 0 more")
    assert await contention.uids("web") == before, "one might go, but that is of no use to the gang"

    await contention.create_gang("spare", 1, 1, minimum=1, priority=HIGH, app="web")
    await contention.until_all_run("urgent", 2)
    left = await contention.uids("web")
    assert left.items() <= before.items()
    assert len(left) == 1, "two of them went, as the budget allows"
    assert len(await contention.uids("spare")) == 1
    await contention.client.delete(DISRUPTION_BUDGETS, "web", namespace=namespace)


async def _until_allowed(contention: Contention, number: int) -> None:
    async def reached() -> bool:
        found = await contention.client.get(DISRUPTION_BUDGETS, "web", namespace=contention.namespace)
        return found.status.disruptions_allowed == number

    await contention.cluster.until(reached, f"the budget allows {number}")


async def test_nominated_capacity_is_released_when_the_preemptor_is_deleted(contention: Contention) -> None:
    cluster = contention.cluster
    await contention.create_gang("batch", 3, 4, minimum=1, priority=LOW, lingers=True)
    await contention.until_all_run("batch", 3)
    await contention.create_gang("urgent", 1, 4, minimum=1, priority=HIGH)
    (victim,) = await contention.until_leaving("batch", 1)
    await contention.create_gang("next", 1, 4, minimum=1, priority=LOW)
    await cluster.until_message("next", "")
    await contention.delete_gang("urgent")
    assert await cluster.nodes_of("next") == [""], "the victim is still there"
    await contention.let_go([victim.metadata.name])
    await contention.until_all_run("next", 1)
    assert await cluster.nodes_of("next") == [victim.spec.node_name]
    assert len(await contention.uids("batch")) == 2, "no other pod was evicted"


async def test_job_with_preemption_policy_never_waits_for_capacity(contention: Contention) -> None:
    cluster, namespace = contention.cluster, contention.namespace
    await contention.create_gang("batch", 3, 4, minimum=1, priority=LOW)
    await contention.until_all_run("batch", 3)
    before = await contention.uids("batch")
    await contention.create_gang("polite", 1, 4, minimum=1, priority=POLITE)
    await cluster.until_message("polite", f"{namespace}/polite-0 has preemptionPolicy Never")
    assert (await cluster.pods())["polite-0"].spec.preemption_policy == "Never"
    assert await contention.uids("batch") == before
    await contention.client.delete(PODS, "batch-1", namespace=namespace)
    await contention.until_all_run("polite", 1)
    assert await contention.uids("batch") == {name: uid for name, uid in before.items() if name != "batch-1"}
