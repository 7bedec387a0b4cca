"""Commands reach the object that they name, in their order, and each of them once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stromboli.controllers.commands import CLOSE_QUEUE, OPEN_QUEUE, CommandInbox
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import QUEUES, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.volcano import KubeQueue
from stromboli.kube.watch.informer import Informer
from tests.unit.local.fakes.running import running, until


class Inbox:
    """A running inbox for queues, and the keys that arrived."""

    def __init__(self, client: Client, target: Any = QUEUES) -> None:
        self.client = client
        self.arrived: list[str] = []
        self.informer = Informer(client, VOLCANO_COMMANDS)
        self.inbox = CommandInbox(client, self.informer, target, self.arrived.append)

    async def run(self) -> None:
        await self.informer.run()

    async def actions(self, name: str, queue: KubeQueue | None) -> list[str]:
        return [command.action or "" for command in await self.inbox.take(name, queue)]

    async def number(self, expected: int) -> None:
        async def arrived() -> bool:
            return len(self.arrived) >= expected

        await until(arrived)


@pytest_asyncio.fixture
async def inbox(client: Client) -> AsyncIterator[Inbox]:
    await install_crds(client)
    inbox = Inbox(client)
    async with running(inbox):
        yield inbox


async def send(client: Client, queue: KubeQueue, action: str, namespace: str = "default", **target: str) -> None:
    reference = {
        "apiVersion": QUEUES.api_version, "kind": "Queue", "name": queue.metadata.name, "uid": queue.metadata.uid,
    } | target  # fmt: skip
    body = {"metadata": {"generateName": "command-"}, "action": action, "target": reference}
    await client.create(VOLCANO_COMMANDS, body, namespace=namespace)


async def test_commands_are_taken_in_the_order_of_their_creation_and_each_once(inbox: Inbox, client: Client) -> None:
    queue = await client.create(QUEUES, {"metadata": {"name": "research"}})
    sent = [OPEN_QUEUE, CLOSE_QUEUE, OPEN_QUEUE, OPEN_QUEUE, CLOSE_QUEUE]
    for action in sent:
        await send(client, queue, action)
    await inbox.number(5)
    assert await inbox.actions("research", queue) == sent
    first, *rest = await inbox.inbox.take("research", queue)
    assert await inbox.inbox.consume(first)
    assert not await inbox.inbox.consume(first)
    assert await inbox.actions("research", queue) == [command.action for command in rest]


async def test_command_that_another_process_deleted_reports_so(inbox: Inbox, client: Client) -> None:
    queue = await client.create(QUEUES, {"metadata": {"name": "research"}})
    await send(client, queue, CLOSE_QUEUE)
    await inbox.number(1)
    (command,) = await inbox.inbox.take("research", queue)
    await client.delete(VOLCANO_COMMANDS, command.metadata.name, namespace="default")
    assert not await inbox.inbox.consume(command)
    assert await inbox.actions("research", queue) == []


@pytest.mark.parametrize("is_known", [True, False], ids=["its successor is known", "no queue is known"])
async def test_command_for_a_deleted_queue_does_not_reach_its_successor(
    inbox: Inbox, client: Client, is_known: bool
) -> None:
    former = await client.create(QUEUES, {"metadata": {"name": "research"}})
    await send(client, former, CLOSE_QUEUE)
    await client.delete(QUEUES, "research")
    queue = await client.create(QUEUES, {"metadata": {"name": "research"}})
    await inbox.number(1)
    assert await inbox.actions("research", queue if is_known else None) == []
    assert (await client.list(VOLCANO_COMMANDS)).items == []


async def test_command_waits_for_the_watch_of_its_target(inbox: Inbox, client: Client) -> None:
    queue = await client.create(QUEUES, {"metadata": {"name": "research"}})
    await send(client, queue, CLOSE_QUEUE)
    await inbox.number(1)
    assert await inbox.actions("research", None) == []
    assert await inbox.actions("research", queue) == [CLOSE_QUEUE]


@pytest.mark.parametrize(
    "target",
    [{"kind": "Job"}, {"apiVersion": VOLCANO_JOBS.api_version}, {"name": ""}],
    ids=["another kind", "another group", "no name"],
)
async def test_command_for_another_target_is_left_alone(inbox: Inbox, client: Client, target: dict[str, str]) -> None:
    queue = await client.create(QUEUES, {"metadata": {"name": "research"}})
    await send(client, queue, CLOSE_QUEUE, **target)
    await send(client, queue, OPEN_QUEUE)
    await inbox.number(1)
    assert await inbox.actions("research", queue) == [OPEN_QUEUE]
    assert len((await client.list(VOLCANO_COMMANDS)).items) == 2


async def test_commands_for_namespaced_targets_belong_to_their_namespace(client: Client) -> None:
    await install_crds(client)
    inbox = Inbox(client, VOLCANO_JOBS)
    job = KubeQueue()
    job.metadata.name, job.metadata.uid = "train", "u1"
    async with running(inbox):
        await send(client, job, "AbortJob", apiVersion=VOLCANO_JOBS.api_version, kind="Job")
        await inbox.number(1)
    assert inbox.arrived == ["default/train"]
