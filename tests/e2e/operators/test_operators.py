"""The controllers that users bring along: their objects as they emit them, in their order and with their waits."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from stromboli.workloads.groups import GROUP_NAME
from tests.e2e.environment.cluster import Cluster
from tests.e2e.operators.cases import case_names, load_case
from tests.e2e.operators.setup import running_case
from tests.testing.priority_classes import until_usable


@pytest.mark.parametrize("name", case_names())
async def test_what_a_controller_makes_is_scheduled(cluster: Cluster, name: str) -> None:
    async with running_case(cluster, load_case(name)) as player:
        await player.play()


#: Everywhere a group may name its queue: the spec, or the metadata of the group; of a pod without a group, its own.
NAMED: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "spec": ({"spec": {"queue": "sources"}}, {}),
    "annotation": ({"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "sources"}}}, {}),
    "short-annotation": ({"metadata": {"annotations": {"volcano.sh/queue-name": "sources"}}}, {}),
    "label": ({"metadata": {"labels": {"volcano.sh/queue-name": "sources"}}}, {}),
    "plain-annotation": (None, {"annotations": {"scheduling.volcano.sh/queue-name": "sources"}}),
    "plain-short-annotation": (None, {"annotations": {"volcano.sh/queue-name": "sources"}}),
    "plain-label": (None, {"labels": {"volcano.sh/queue-name": "sources"}}),
}


async def test_a_queue_may_be_named_in_many_places(cluster: Cluster) -> None:
    await cluster.client.create(QUEUES, {"metadata": {"name": "sources"}, "spec": {"weight": 1}})
    for name, (group, metadata) in NAMED.items():
        if group is not None:
            body = {"spec": {"minMember": 1}, **group, "metadata": {**group.get("metadata", {}), "name": name}}
            await cluster.client.create(POD_GROUPS, body, namespace=cluster.namespace)
            metadata = {"annotations": {GROUP_NAME: name}}
        await cluster.client.create(PODS, _pod(name, metadata), namespace=cluster.namespace)

    async def is_counted() -> bool:
        status = (await cluster.client.get(QUEUES, "sources")).status
        return ((status.allocated or {}).get("cpu"), status.running) == (str(len(NAMED)), len(NAMED))

    await cluster.until(is_counted, "the queue holds what every one of them asks for")


@pytest.mark.parametrize("is_plain", [False, True], ids=["by the class of the group", "by the class of a plain pod"])
async def test_the_more_important_comes_first(cluster: Cluster, is_plain: bool) -> None:
    place = {"namespace": cluster.namespace}
    with contextlib.suppress(ApiError):
        await cluster.client.create(PRIORITY_CLASSES, {"metadata": {"name": "above-others"}, "value": 1000})
    await until_usable(cluster.client, "above-others")
    nodes = [node.metadata.name for node in (await cluster.client.list(NODES)).items]
    for name in nodes:
        await cluster.client.create(PODS, _pod(f"occupier-{name}", {}, cpu="4", nodeName=name), **place)
    await cluster.create_gang("modest", len(nodes), "3", minimum=1 if is_plain else len(nodes))
    if is_plain:
        urgent: dict[str, dict[str, Any]] = {f"urgent-{name}": {} for name in nodes}
    else:
        spec = {"minMember": len(nodes), "priorityClassName": "above-others"}
        await cluster.client.create(POD_GROUPS, {"metadata": {"name": "urgent"}, "spec": spec}, **place)
        urgent = {f"urgent-{name}": {"annotations": {GROUP_NAME: "urgent"}} for name in nodes}
    for name, metadata in urgent.items():
        facts = {"priorityClassName": "above-others"} if is_plain else {}
        await cluster.client.create(PODS, _pod(name, metadata, cpu="3", **facts), **place)
    await cluster.until(lambda: _are_pending(cluster, 2 * len(nodes)), "all of them wait")
    for name in nodes:
        await cluster.client.delete(PODS, f"occupier-{name}", **place, grace_period=0)

    async def are_bound() -> bool:
        return all(await cluster.nodes_of("urgent"))

    await cluster.until(are_bound, "the more important pods have nodes")
    assert not any(await cluster.nodes_of("modest"))


async def _are_pending(cluster: Cluster, count: int) -> bool:
    """Whether so many pods say that they wait."""
    reported = [
        condition
        for pod in (await cluster.pods()).values()
        for condition in pod.status.conditions or ()
        if condition.type == "PodScheduled" and condition.status == "False"
    ]
    return len(reported) == count


def _pod(name: str, metadata: dict[str, Any], *, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": cpu}}}
    facts = {"schedulerName": "volcano", "containers": [container], **spec}
    return {"metadata": {**metadata, "name": name}, "spec": facts}
