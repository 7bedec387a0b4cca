"""Plain pods get groups, over the wire."""

import asyncio
from functools import partial
from typing import Any

import msgspec
import pytest_asyncio

from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import POD_GROUPS, PODS, REPLICA_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.volcano import PodGroup
from stromboli.local.api_server.faults import Answer, LoseAnswer, Match
from stromboli.local.api_server.server import ApiServer
from stromboli.workloads.groups import GROUP_NAME
from tests.unit.local.fakes.running import running, until

SPEC = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "busybox"}]}


@pytest_asyncio.fixture(autouse=True)
async def _definitions(client: Client) -> None:
    await install_crds(client)


async def create(client: Client, name: str, **metadata: Any) -> Pod:
    return await client.create(PODS, {"metadata": {"name": name, **metadata}, "spec": SPEC}, namespace="default")


async def owned(client: Client, replicas: int, **metadata: Any) -> list[Pod]:
    """Pods of a ReplicaSet that exists."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": SPEC}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, "replicas": replicas}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", **metadata}, "spec": spec}
    answer = await client.request(
        "POST", "/apis/apps/v1/namespaces/default/replicasets", body=msgspec.json.encode(body)
    )
    uid = msgspec.json.decode(answer)["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": True}
    return [await create(client, f"web-{number}", ownerReferences=[owner]) for number in range(replicas)]


async def group_of(client: Client, name: str) -> PodGroup | None:
    """The group that a pod names, once both are there."""
    pod = await client.get(PODS, name, namespace="default")
    named = (pod.metadata.annotations or {}).get(GROUP_NAME)
    return await client.get(POD_GROUPS, named, namespace="default") if named else None


async def test_a_pod_alone_gets_a_group_of_its_own(client: Client) -> None:
    pod = await create(client, "a")
    async with running(Controllers(client, ["volcano"])):
        group = await until(lambda: group_of(client, "a"))
    assert group.metadata.name == f"podgroup-{pod.metadata.uid}"
    assert group.metadata.owner_references[0].uid == pod.metadata.uid
    assert (group.spec.min_member, group.spec.queue) == (1, "default")


async def test_pods_of_one_owner_share_a_group_that_heeds_the_owner(client: Client) -> None:
    controllers = Controllers(client, ["volcano"], default_queue="research")
    async with running(controllers):
        annotations = {"scheduling.volcano.sh/group-min-member": "2", "unrelated": "x"}
        pods = await owned(client, 20, annotations=annotations)
        groups = [await until(partial(group_of, client, pod.metadata.name)) for pod in pods]
    assert len({group.metadata.name for group in groups}) == 1
    assert groups[0].spec.min_member == 2
    assert groups[0].spec.queue == "research"
    assert groups[0].metadata.annotations == {"scheduling.volcano.sh/group-min-member": "2"}
    assert controllers.groups.groups_created == 1


async def change_owner(client: Client, annotations: dict[str, str | None]) -> None:
    await client.patch(REPLICA_SETS, "web", {"metadata": {"annotations": annotations}}, namespace="default")


async def test_group_follows_changes_of_its_owner_also_while_no_controller_runs(client: Client) -> None:
    size, queue = "scheduling.volcano.sh/group-min-member", "scheduling.volcano.sh/queue-name"

    async def follows(minimum: int, queue: str) -> bool:
        group = await group_of(client, "web-0")
        return group is not None and (group.spec.min_member, group.spec.queue) == (minimum, queue)

    async with running(Controllers(client, ["volcano"])):
        await owned(client, 3, annotations={size: "2"})
        await until(partial(follows, 2, "default"))
        await change_owner(client, {size: "3"})
        await until(partial(follows, 3, "default"))
    await change_owner(client, {queue: "research"})
    async with running(Controllers(client, ["volcano"])):
        await until(partial(follows, 3, "research"))
        await change_owner(client, {queue: None, size: None})
        await until(partial(follows, 1, "default"))


async def test_pods_of_others_and_pods_with_a_group_are_left_alone(client: Client) -> None:
    await client.create(
        PODS, {"metadata": {"name": "theirs"}, "spec": {**SPEC, "schedulerName": "other"}}, namespace="default"
    )
    await create(client, "grouped", annotations={GROUP_NAME: "train"})
    async with running(Controllers(client, ["volcano"])):
        await create(client, "ours")
        await until(lambda: group_of(client, "ours"))
    assert len((await client.list(POD_GROUPS)).items) == 1
    assert (await client.get(PODS, "theirs", namespace="default")).metadata.annotations is None


async def test_deleted_group_of_a_plain_pod_is_created_again(client: Client) -> None:
    await create(client, "a")
    async with running(Controllers(client, ["volcano"])):
        group = await until(lambda: group_of(client, "a"))
        await client.delete(POD_GROUPS, group.metadata.name, namespace="default")

        async def renewed() -> bool:
            groups = (await client.list(POD_GROUPS)).items
            return bool(groups) and groups[0].metadata.uid != group.metadata.uid

        await until(renewed)


async def test_lost_answers_and_refusals_are_lived_through(server: ApiServer, client: Client) -> None:
    lost = server.faults.add(Match(method="POST", plural="podgroups"), LoseAnswer())
    busy = server.faults.add(Match(method="PATCH", plural="pods"), Answer(503, "ServiceUnavailable", "busy"), times=2)
    await create(client, "a")
    controllers = Controllers(client, ["volcano"])
    async with running(controllers):
        await until(lambda: group_of(client, "a"))
    assert (lost.fired, busy.fired) == (1, 2)
    assert len((await client.list(POD_GROUPS)).items) == 1


async def test_a_restart_repeats_nothing(client: Client) -> None:
    await asyncio.gather(*(create(client, f"pod-{number}") for number in range(10)))
    async with running(Controllers(client, ["volcano"])):
        for number in range(10):
            await until(partial(group_of, client, f"pod-{number}"))
    before = {pod.key: pod.metadata.resource_version for pod in (await client.list(PODS)).items}
    again = Controllers(client, ["volcano"])
    async with running(again):
        await create(client, "last")
        await until(lambda: group_of(client, "last"))
    assert (again.groups.groups_created, again.groups.pods_annotated) == (1, 1)
    after = {pod.key: pod.metadata.resource_version for pod in (await client.list(PODS)).items}
    assert before.items() <= after.items()
