"""Strict queues and protection from starvation, on the embedded server and on a real one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import POD_GROUPS, QUEUES
from stromboli.scheduler.policy import ActivePolicy
from testbed.plane import ControlPlane
from tests.e2e.environment.cluster import Cluster, running_cluster

QUEUE = "ordered"
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}]
- plugins: [{{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]
configurations:
- name: allocate
  arguments: {{{arguments}}}
"""


@contextlib.asynccontextmanager
async def ordered_cluster(
    plane: ControlPlane, folder: Path, *, arguments: str = "", dequeue: str = ""
) -> AsyncIterator[Cluster]:
    """Three nodes of four cpus, two of which a job holds, and a queue."""
    path = folder / "policy.conf"
    path.write_text(POLICY.format(arguments=arguments))
    async with running_cluster(plane, policy=ActivePolicy(Registry(PLUGINS, ACTIONS), str(path))) as cluster:
        with contextlib.suppress(ApiError):
            await cluster.client.delete(QUEUES, QUEUE)
        spec = {"weight": 1, **({"dequeueStrategy": dequeue} if dequeue else {})}
        await cluster.client.create(QUEUES, {"metadata": {"name": QUEUE}, "spec": spec})
        await create(cluster, "old", 2, "4")
        await cluster.until_phase("old", "Running")
        yield cluster
        await cluster.client.delete(QUEUES, QUEUE)


async def create(cluster: Cluster, name: str, size: int, cpu: str) -> None:
    spec = {"minMember": size, "queue": QUEUE}
    await cluster.client.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec}, namespace=cluster.namespace)
    for place in range(size):
        await cluster.create_pod(f"{name}-{place}", cpu, group=name)


async def end(cluster: Cluster, name: str) -> None:
    for pod, found in (await cluster.pods()).items():
        if pod.startswith(f"{name}-"):
            await cluster.client.evict(cluster.namespace, pod, found.metadata.uid)


async def has_reservation(cluster: Cluster, name: str) -> bool:
    """Run a cycle, as the next change of the cluster would, and report whether the job got nodes of its own."""
    cluster.scheduler.trigger.notify()
    conditions = (await cluster.group(name)).status.conditions or ()
    return any("is reserved for it" in (each.message or "") for each in conditions)


#: How a queue becomes strict: arguments of allocate, and its own strategy.
STRICT = {"policy": ("strict: true", ""), "queue": ("", "fifo")}


@pytest.mark.parametrize("case", STRICT)
async def test_job_that_waits_holds_back_later_jobs_of_a_strict_queue(
    plane: ControlPlane, tmp_path: Path, case: str
) -> None:
    arguments, dequeue = STRICT[case]
    async with ordered_cluster(plane, tmp_path, arguments=arguments, dequeue=dequeue) as cluster:
        await create(cluster, "large", 2, "4")
        await cluster.until_message("large", "Insufficient cpu")
        await create(cluster, "small", 1, "1")
        await cluster.until_message("small", "is before it in the strict order of queue ordered")
        assert await cluster.nodes_of("small") == [""]
        await end(cluster, "old")
        await cluster.until_phase("large", "Running")
        await cluster.until_phase("small", "Running")


async def test_job_overtakes_one_that_waits_in_a_queue_that_is_not_strict(plane: ControlPlane, tmp_path: Path) -> None:
    async with ordered_cluster(plane, tmp_path) as cluster:
        await create(cluster, "large", 2, "4")
        await cluster.until_message("large", "Insufficient cpu")
        await create(cluster, "small", 1, "1")
        await cluster.until_phase("small", "Running")


async def test_job_that_starves_gets_nodes_that_smaller_jobs_cannot_take(plane: ControlPlane, tmp_path: Path) -> None:
    async with ordered_cluster(plane, tmp_path, arguments="starvationTime: 1s") as cluster:
        await create(cluster, "large", 2, "4")
        await cluster.until_message("large", "Insufficient cpu")
        await cluster.until(lambda: has_reservation(cluster, "large"), "nodes are reserved for the job that starves")
        await create(cluster, "small", 1, "1")
        await cluster.until_message("small", "capacity that it needs is reserved for")
        assert await cluster.nodes_of("small") == [""]
        await end(cluster, "old")
        await cluster.until_phase("large", "Running")
        await cluster.until_phase("small", "Running")
