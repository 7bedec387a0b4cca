"""Queues exist, say truthfully what they hold, and open and close as administrators want."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest_asyncio

from stromboli.controllers.commands import CLOSE_QUEUE, OPEN_QUEUE
from stromboli.controllers.queue_state import CLOSED, CLOSED_BY_PARENT, CLOSING, OPEN
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import EVENTS, POD_GROUPS, QUEUES, VOLCANO_COMMANDS
from stromboli.kube.objects.volcano import KubeQueue
from tests.unit.local.fakes.running import running, until


@pytest_asyncio.fixture(autouse=True)
async def _definitions(client: Client) -> None:
    await install_crds(client)


async def create(client: Client, name: str, **spec: Any) -> None:
    await client.create(QUEUES, {"metadata": {"name": name}, "spec": spec})


async def create_group(client: Client, name: str, queue: str, phase: str = "") -> None:
    status = {"status": {"phase": phase}} if phase else {}
    await client.create(
        POD_GROUPS, {"metadata": {"name": name}, "spec": {"queue": queue}, **status}, namespace="default"
    )


async def ask(client: Client, name: str, state: str) -> None:
    """What an administrator does."""
    await client.patch(QUEUES, name, {"status": {"state": state}}, subresource="status")


def status_is(client: Client, name: str, **expected: Any) -> Callable[[], Awaitable[KubeQueue | None]]:
    async def answer() -> KubeQueue | None:
        queue = next((one for one in (await client.list(QUEUES)).items if one.metadata.name == name), None)
        if queue is None or any(getattr(queue.status, field) != value for field, value in expected.items()):
            return None
        return queue

    return answer


async def test_built_in_queues_exist_and_are_restored(client: Client) -> None:
    async with running(Controllers(client, ["volcano"])):
        root = await until(status_is(client, "root", state=OPEN))
        await until(status_is(client, "default", state=OPEN))
        await client.delete(QUEUES, "default")
        renewed = await until(status_is(client, "default", state=OPEN, pending=0))
    assert root.spec.reclaimable is False
    assert renewed.spec.weight == 1


async def test_groups_are_counted_by_phase(client: Client) -> None:
    await create(client, "research")
    await create_group(client, "a", "research", "Running")
    await create_group(client, "b", "research")
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "research", state=OPEN, running=1, pending=1, inqueue=0))
        await client.patch(POD_GROUPS, "b", {"status": {"phase": "Inqueue"}}, namespace="default")
        await client.patch(POD_GROUPS, "a", {"spec": {"queue": "default"}}, namespace="default")
        await until(status_is(client, "research", running=0, pending=0, inqueue=1))
        await until(status_is(client, "default", running=1))
        await client.delete(POD_GROUPS, "b", namespace="default")
        await until(status_is(client, "research", inqueue=0))


async def test_what_the_scheduler_wrote_stays(client: Client) -> None:
    await create(client, "research")
    await client.patch(QUEUES, "research", {"status": {"allocated": {"cpu": "3"}}}, subresource="status")
    async with running(Controllers(client, ["volcano"])):
        queue = await until(status_is(client, "research", state=OPEN))
    assert queue.status.allocated == {"cpu": "3"}


async def test_a_queue_closes_when_its_last_group_is_gone_and_opens_again(client: Client) -> None:
    await create(client, "research")
    await create_group(client, "a", "research")
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "research", state=OPEN, pending=1))
        await ask(client, "research", CLOSED)
        await until(status_is(client, "research", state=CLOSING))
        await client.delete(POD_GROUPS, "a", namespace="default")
        await until(status_is(client, "research", state=CLOSED))
        await ask(client, "research", OPEN)
        await until(status_is(client, "research", state=OPEN))


async def test_queues_below_close_and_open_with_it_unless_closed_on_their_own(client: Client) -> None:
    await create(client, "company")
    await create(client, "team", parent="company")
    await create(client, "person", parent="team")
    await create(client, "retired", parent="company")
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "retired", state=OPEN))
        await ask(client, "retired", CLOSED)
        await until(status_is(client, "person", state=OPEN))
        await ask(client, "company", CLOSED)
        marked = await until(status_is(client, "person", state=CLOSED))
        assert marked.metadata.annotations == {CLOSED_BY_PARENT: "true"}
        await ask(client, "company", OPEN)
        await until(status_is(client, "person", state=OPEN))
        await until(status_is(client, "team", state=OPEN))
        retired = await until(status_is(client, "retired", state=CLOSED))
        assert not retired.metadata.annotations

        async def unmarked() -> bool:
            return not any(queue.metadata.annotations for queue in (await client.list(QUEUES)).items)

        await until(unmarked)


async def test_an_idle_cluster_is_left_in_peace(client: Client) -> None:
    controllers = Controllers(client, ["volcano"])

    async def at_rest() -> bool:
        return controllers.queues.work.is_idle

    async with running(controllers):
        await until(status_is(client, "root", state=OPEN))
        await until(status_is(client, "default", state=OPEN))
        await until(at_rest)
        writes = controllers.queues.status_writes
        await create_group(client, "a", "default")
        await until(status_is(client, "default", pending=1))
        await until(at_rest)
    assert controllers.queues.status_writes == writes + 1


async def applied_as_volcano(client: Client, name: str, state: str) -> KubeQueue:
    """What Volcano's controller does for `vcctl queue operate`: an apply without force."""
    body = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}, "status": {"state": state}}
    return await client.patch(
        QUEUES, name, body, subresource="status", kind=PatchKind.APPLY, field_manager="queue-controller"
    )


async def test_state_is_owned_by_no_process_of_ours_and_can_be_applied(client: Client) -> None:
    await create(client, "research")
    controllers = Controllers(client, ["volcano"])
    async with running(controllers):
        await until(status_is(client, "research", state=OPEN))
        await create_group(client, "a", "research", "Running")
        await until(status_is(client, "research", running=1))
        await applied_as_volcano(client, "research", CLOSING)
        await client.delete(POD_GROUPS, "a", namespace="default")
        await until(status_is(client, "research", state=CLOSED))
        await until(lambda: released(client, "research"))
    reopened = await applied_as_volcano(client, "research", OPEN)
    assert (reopened.status.state, reopened.status.running) == (OPEN, 0), "counts stay"


async def released(client: Client, name: str) -> bool:
    body = msgspec.json.decode(await client.request("GET", QUEUES.path(name=name)))
    ours = [entry["fieldsV1"] for entry in body["metadata"]["managedFields"] if entry["manager"] == "stromboli"]
    return bool(ours) and not any("f:state" in fields.get("f:status", {}) for fields in ours)


async def send(client: Client, name: str, *actions: str) -> None:
    """What `vcctl queue operate` does."""
    queue = await client.get(QUEUES, name)
    target = {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": name, "uid": queue.metadata.uid}
    for action in actions:
        metadata = {"generateName": f"{name}-", "ownerReferences": [{**target, "controller": True}]}
        body = {"metadata": metadata, "target": target, "action": action}
        await client.create(VOLCANO_COMMANDS, body, namespace="default")


async def consumed(client: Client) -> bool:
    return not (await client.list(VOLCANO_COMMANDS)).items


async def test_commands_close_drain_and_open_a_queue(client: Client) -> None:
    await create(client, "research")
    await create_group(client, "a", "research")
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "research", state=OPEN, pending=1))
        await send(client, "research", CLOSE_QUEUE)
        await until(status_is(client, "research", state=CLOSING))
        await client.delete(POD_GROUPS, "a", namespace="default")
        await until(status_is(client, "research", state=CLOSED))
        await send(client, "research", OPEN_QUEUE)
        await until(status_is(client, "research", state=OPEN))
        await until(lambda: consumed(client))


async def test_commands_take_effect_in_their_order(client: Client) -> None:
    await create(client, "research")
    await send(client, "research", CLOSE_QUEUE, OPEN_QUEUE, CLOSE_QUEUE)
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "research", state=CLOSED))
        await until(lambda: consumed(client))
    assert (await client.get(QUEUES, "research")).status.state == CLOSED


async def test_command_does_not_open_a_queue_below_a_closed_one(client: Client) -> None:
    await create(client, "company")
    await create(client, "team", parent="company")

    async def notes() -> dict[str, str]:
        events = [event for event in (await client.list(EVENTS)).items if event.type == "Warning"]
        return {event.reason or "": event.message or "" for event in events}

    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "team", state=OPEN))
        await send(client, "company", CLOSE_QUEUE)
        await until(status_is(client, "team", state=CLOSED))
        await send(client, "team", OPEN_QUEUE, "Shut")
        await until(lambda: consumed(client))
        assert (await until(notes))[OPEN_QUEUE] == "rejected: the parent queue is closed; open it first"
        assert (await client.get(QUEUES, "team")).status.state == CLOSED
        await send(client, "company", OPEN_QUEUE)
        await until(status_is(client, "team", state=OPEN))
