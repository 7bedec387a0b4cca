"""The controllers that users bring along: their objects as they emit them, in their order and with their waits."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.cache.jobs import GROUP_NAME
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS, QUEUES
from tests.e2e.cluster import Cluster
from tests.e2e.operators.stage import playing
from tests.e2e.operators.story import load_story, story_names


@pytest.mark.parametrize("name", story_names())
async def test_what_a_controller_makes_is_scheduled(cluster: Cluster, name: str) -> None:
    async with playing(cluster, load_story(name)) as player:
        await player.play()


#: Everywhere a group may name its queue: the spec, or the metadata of the group; of a pod without a group, its own.
NAMED = {
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

    async def is_told() -> bool:
        status = (await cluster.client.get(QUEUES, "sources")).status
        return ((status.allocated or {}).get("cpu"), status.running) == (str(len(NAMED)), len(NAMED))

    await cluster.until(is_told, "the queue holds what every one of them asks for")


def _pod(name: str, metadata: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {**metadata, "name": name}, "spec": {"schedulerName": "volcano", "containers": [container]}}
