"""The plugins of Volcano Jobs on an API server: it accepts what they change and describe, and the Job runs."""

from __future__ import annotations

from typing import Any

import msgspec

from stromboli.controllers.jobs.plugins.registry import BUILT_IN
from stromboli.kube.client.api_errors import ApiError
from tests.e2e.environment.cluster import Cluster

PATHS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
OBJECTS = {
    *(("ConfigMap", "train-svc"), ("Secret", "train-ssh"), ("Service", "train"), ("NetworkPolicy", "train")),
    *(("Service", "train-head-svc"), ("ConfigMap", "rings-config-train")),
}


def task(name: str, replicas: int) -> dict[str, Any]:
    container = {"name": name, "image": "example/main", "resources": {"requests": {"cpu": "100m"}}}
    init = {"name": "fetch", "image": "example/fetch"}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [container], "initContainers": [init]}},
    }


async def owned(cluster: Cluster, uid: str) -> set[tuple[str, str]]:
    """The objects of plugins that the Job owns."""
    found = set()
    for kind, path in PATHS.items():
        listing = msgspec.json.decode(await cluster.client.request("GET", path.format(cluster.namespace)))
        for each in listing["items"]:
            owners = each["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] == uid and owner["controller"] for owner in owners):
                found.add((kind, each["metadata"]["name"]))
    return found


async def until_running(cluster: Cluster, number: int) -> None:
    async def reached() -> bool:
        return [pod.status.phase for pod in (await cluster.pods()).values()] == ["Running"] * number

    await cluster.until(reached, f"{number} pods run")


async def test_job_with_all_plugins_runs_and_scales(cluster: Cluster) -> None:
    jobs = JOBS.format(cluster.namespace)
    plugins: dict[str, list[str]] = {plugin.name: [] for plugin in BUILT_IN}
    plugins["pytorch"] = ["--wait-master-enabled"]
    spec = {"plugins": plugins, "minAvailable": 4, "tasks": [task("master", 1), task("worker", 2), task("head", 1)]}
    stored = await cluster.create_raw(jobs, {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec
    })  # fmt: skip
    await until_running(cluster, 4)
    assert await owned(cluster, stored["metadata"]["uid"]) == OBJECTS
    await scale_workers(cluster, f"{jobs}/train", 3)
    await until_running(cluster, 5)
    path = f"{PATHS['ConfigMap'].format(cluster.namespace)}/train-svc"
    hosts = msgspec.json.decode(await cluster.client.request("GET", path))["data"]
    assert (hosts["VC_WORKER_NUM"], hosts["worker.host"].splitlines()[-1]) == ("3", "train-worker-2.train")


async def scale_workers(cluster: Cluster, path: str, replicas: int) -> None:
    """Change the replicas as a user does, who tries again after a conflict."""
    while True:
        job = msgspec.json.decode(await cluster.client.request("GET", path))
        job["spec"]["tasks"][1]["replicas"] = replicas
        try:
            await cluster.client.request("PUT", path, body=msgspec.json.encode(job))
        except ApiError as error:
            if not error.is_conflict:
                raise
        else:
            return
