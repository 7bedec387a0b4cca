"""Many Commands of one namespace delay those of others by no more than seconds, in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stromboli.controllers.names import JOB, QUEUE
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import NAMESPACES, QUEUES, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.resources import Resource
from tests.testing.job_world import NAMESPACE, JobWorld
from tests.testing.virtual_time import run_virtually

HOSTILE = "hostile"
COMMANDS = 1500
MAX_SECONDS = 0.5
"""Less than the deletion of so many Commands takes."""


def distinct_names(number: int) -> dict[str, str]:
    return {"name": f"missing-{number}", "uid": f"u{number}"}


def few_names(number: int) -> dict[str, str]:
    return {"name": f"missing-{number % 16}", "uid": f"u{number % 16}"}


def former_objects(number: int) -> dict[str, str]:
    return {"name": "research" if number % 2 else "train", "uid": f"u{number}"}


async def send(world: JobWorld, namespace: str, resource: Resource[Any], action: str, target: dict[str, str]) -> str:
    reference = {"apiVersion": resource.api_version, "kind": resource.kind, **target}
    body = {"metadata": {"generateName": "command-"}, "action": action, "target": reference}
    command = await world.client.create(VOLCANO_COMMANDS, body, namespace=namespace)
    return command.metadata.name


async def flood(world: JobWorld, resource: Resource[Any], target: Callable[[int], dict[str, str]]) -> None:
    sent = (send(world, HOSTILE, resource, "AbortJob", target(number)) for number in range(COMMANDS))
    await asyncio.gather(*sent)


async def left(world: JobWorld) -> int:
    return len((await world.client.list(VOLCANO_COMMANDS, namespace=HOSTILE)).items)


def until_executed(world: JobWorld, command: str) -> Any:
    async def is_executed() -> bool:
        try:
            await world.client.get(VOLCANO_COMMANDS, command, namespace=NAMESPACE)
        except ApiError as error:
            return error.is_missing
        return False

    return world.until(is_executed, MAX_SECONDS)


@pytest.mark.parametrize("target", [distinct_names, few_names, former_objects], ids=lambda target: target.__name__)
@pytest.mark.parametrize("resource", [VOLCANO_JOBS, QUEUES], ids=lambda resource: resource.kind)
def test_commands_of_others_are_executed_during_a_flood(
    resource: Resource[Any], target: Callable[[int], dict[str, str]]
) -> None:
    async def run() -> None:
        async with JobWorld(runs=True, controllers=(JOB, QUEUE)).running() as world:
            await world.client.create(NAMESPACES, {"metadata": {"name": HOSTILE}})
            queue = await world.client.create(QUEUES, {"metadata": {"name": "research"}})
            await world.job("train")
            job = await world.until_phase("Running", "train")
            await flood(world, resource, target)
            present = job if resource is VOLCANO_JOBS else queue
            action = "AbortJob" if resource is VOLCANO_JOBS else "CloseQueue"
            named = {"name": present.metadata.name, "uid": present.metadata.uid}
            commands = [
                await send(world, NAMESPACE, resource, action, named),
                await send(world, NAMESPACE, resource, action, {"name": "gone", "uid": "former"}),
            ]
            await asyncio.gather(*(until_executed(world, command) for command in commands))
            assert await left(world), "the flood ended first, so that the test proves nothing"
            await world.until(lambda: is_clean(world))

    run_virtually(run())


async def is_clean(world: JobWorld) -> bool:
    return not await left(world)


def test_many_commands_for_a_job_are_all_executed_in_their_order() -> None:
    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await world.job("train")
            await world.until_phase("Running", "train")
            for _ in range(20):
                await world.command("AbortJob")
                await world.command("ResumeJob")
            await world.command("TerminateJob")

            async def are_executed() -> bool:
                return not (await world.client.list(VOLCANO_COMMANDS)).items

            await world.until(are_executed)
            await world.until_phase("Terminated", "train")

    run_virtually(run())
