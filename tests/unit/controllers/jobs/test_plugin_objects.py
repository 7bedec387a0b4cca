"""The objects of plugins exist before the pods, follow the tasks, and are deleted when the pods are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from stromboli.controllers.jobs import specification
from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginObject
from stromboli.controllers.jobs.plugins.registry import JobPlugins
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import VolcanoTask, tasks_of
from tests.testing.job_world import JobWorld, task
from tests.testing.virtual_time import run_virtually


class Hosts(JobPlugin):
    """A config map with a line per pod, and another one that is written once."""

    name = "hosts"

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        pod["metadata"]["labels"]["example.com/host"] = f"{task.name}-{index}"

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        return (
            PluginObject("v1", "ConfigMap", f"{job.name}-hosts", lambda: {"data": _hosts(job)}, follows_tasks=True),
            PluginObject("v1", "ConfigMap", f"{job.name}-keys", lambda: {"data": {"replicas": str(len(_hosts(job)))}}),
        )


class Unserved(JobPlugin):
    """Needs an object of a kind that the server does not have."""

    name = "unserved"

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        return (PluginObject("example.com/v1", "Teleporter", job.name, dict),)


def _hosts(job: WorkloadDocument) -> dict[str, str]:
    return {f"{task.name}-{index}": "yes" for task in tasks_of(job) for index in range(task.replicas)}


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specification, "installed_plugins", lambda: JobPlugins((Hosts, Unserved)))


async def data_of(world: JobWorld, name: str) -> dict[str, str] | None:
    found = (await world.client.list(CONFIG_MAPS, namespace="default")).items
    return next((each.data or {} for each in found if each.metadata.name == name), None)


async def objects_exist_before_the_pods(world: JobWorld) -> None:
    await world.job(plugins={"hosts": []})
    await world.until_restarts(0)
    created = [path.rpartition("/")[2] for write, path in world.injected.writes if write.startswith("create")]
    assert created.index("configmaps") < created.index("pods")
    assert await data_of(world, "train-hosts") == {"worker-0": "yes", "worker-1": "yes"}
    assert (await world.found()).status.controlled_resources == {"plugin-hosts": "hosts"}
    labels = {pod.metadata.name: (pod.metadata.labels or {})["example.com/host"] for pod in await world.pods()}
    assert labels == {"train-worker-0": "worker-0", "train-worker-1": "worker-1"}


async def only_some_objects_follow_the_tasks(world: JobWorld) -> None:
    await world.job(plugins={"hosts": []})
    await world.until_restarts(0)
    await world.change(tasks=[task("worker", 1)], minAvailable=1)
    await world.until_pods("train-worker-0=Running")
    assert await data_of(world, "train-hosts") == {"worker-0": "yes"}
    assert await data_of(world, "train-keys") == {"replicas": "2"}


async def objects_are_deleted_and_created_again(world: JobWorld) -> None:
    await world.job(plugins={"hosts": []})
    await world.until_restarts(0)
    await world.command("AbortJob")
    await world.until_phase("Aborted")
    await world.settled()
    assert await data_of(world, "train-hosts") is None
    assert not (await world.found()).status.controlled_resources
    await world.command("ResumeJob")
    await world.until_restarts(0, version=1)
    assert await data_of(world, "train-hosts") is not None


async def object_of_another_owner_is_a_problem(world: JobWorld) -> None:
    foreign = {"metadata": {"name": "train-hosts"}, "data": {"a": "b"}}
    await world.client.create(CONFIG_MAPS, foreign, namespace="default")
    await world.job(plugins={"hosts": []})
    state = (await world.settled()).status.state
    assert state.reason == "PluginError"
    assert "ConfigMap train-hosts exists and does not belong to this Job" in (state.message or "")
    assert not await world.pods()
    assert await data_of(world, "train-hosts") == {"a": "b"}
    await world.client.delete(CONFIG_MAPS, "train-hosts", namespace="default")
    await world.until_restarts(0)


async def kind_that_is_not_served_is_a_problem(world: JobWorld) -> None:
    await world.job(plugins={"unserved": []})
    state = (await world.settled()).status.state
    assert (state.reason, state.message) == (
        "PluginError",
        "example.com/v1 Teleporter is not served by the API server",
    )


@pytest.mark.parametrize(
    "case",
    [
        objects_exist_before_the_pods, only_some_objects_follow_the_tasks, objects_are_deleted_and_created_again,
        object_of_another_owner_is_a_problem, kind_that_is_not_served_is_a_problem,
    ],
    ids=lambda case: case.__name__,
)  # fmt: skip
def test_plugin(case: Callable[[JobWorld], Awaitable[None]]) -> None:
    async def run() -> None:
        async with JobWorld(runs=True).running() as world:
            await case(world)

    run_virtually(run())
