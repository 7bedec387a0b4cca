"""The situations of Volcano's tutorials of frameworks, whose addresses and ranks plugins of Jobs write."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from stromboli.kube.objects.catalogue import PODS
from tests.e2e.volcano_jobs.tutorial_cluster import NAMESPACE, TutorialCluster, tutorial_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TutorialCluster]:
    async with tutorial_cluster(tmp_path_factory.mktemp("frameworks")) as running:
        yield running


async def test_mpi(cluster: TutorialCluster) -> None:
    await cluster.apply("mpi")
    await cluster.until_phase("mpi", "Running")
    hosts = json.loads(await cluster.kubectl("get", "configmap", "mpi-svc", "-o", "json"))["data"]
    assert hosts["mpiworker.host"].split() == ["mpi-mpiworker-0.mpi", "mpi-mpiworker-1.mpi"]
    service = json.loads(await cluster.kubectl("get", "service", "mpi", "-o", "json"))["spec"]
    assert service["clusterIP"] == "None"
    (secret,) = json.loads(await cluster.kubectl("get", "secrets", "-o", "json"))["items"]
    assert {"id_rsa", "id_rsa.pub", "authorized_keys"} <= set(secret["data"])
    await _succeed(cluster, "mpi-mpimaster-0")
    await cluster.until_phase("mpi", "Completed")
    assert await _phases(cluster, "mpi") == {"mpimaster-0": "Succeeded"}


async def test_tensorflow(cluster: TutorialCluster) -> None:
    await cluster.apply("tensorflow")
    await cluster.until_phase("tensorflow", "Running")
    assert (await _environment(cluster, "tensorflow-worker-1"))["VC_TASK_INDEX"] == "1"
    await _succeed(cluster, "tensorflow-worker-0", "tensorflow-worker-1")
    await cluster.until_phase("tensorflow", "Completed")
    assert await _phases(cluster, "tensorflow") == {"worker-0": "Succeeded", "worker-1": "Succeeded"}


async def test_pytorch(cluster: TutorialCluster) -> None:
    await cluster.apply("pytorch")
    await cluster.until_phase("pytorch", "Running")
    variables = await _environment(cluster, "pytorch-worker-1")
    expected = {"MASTER_ADDR": "pytorch-master-0.pytorch", "MASTER_PORT": "23456", "WORLD_SIZE": "3", "RANK": "2"}
    assert {name: variables.get(name) for name in expected} == expected
    await _succeed(cluster, "pytorch-master-0")
    await cluster.until_phase("pytorch", "Completed")


async def _succeed(cluster: TutorialCluster, *pods: str) -> None:
    """Let the containers of pods end, as their kubelets would report it."""
    for pod in pods:
        await cluster.client.patch(
            PODS, pod, {"status": {"phase": "Succeeded"}}, namespace=NAMESPACE, subresource="status"
        )


async def _phases(cluster: TutorialCluster, job: str) -> dict[str, str | None]:
    return {name: pod.status.phase for name, pod in (await cluster.pods_of(job)).items()}


async def _environment(cluster: TutorialCluster, pod: str) -> dict[str, str]:
    found = json.loads(await cluster.kubectl("get", "pod", pod, "-o", "json"))
    (container,) = found["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}
