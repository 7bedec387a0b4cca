"""Jobs, ReplicaSets and Deployments over HTTP, with a scheduler."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import DEPLOYMENTS, JOBS, POD_GROUPS, PODS, REPLICA_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.workloads import BatchJob, Deployment
from stromboli.local.api_server.faults import Answer, CutWatch, ExpireWatch, LoseAnswer, Match
from stromboli.local.fakes.workloads import jobs
from tests.testing.world import World, cpus, running_cluster

LABELS = {"app": "web"}


@pytest_asyncio.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(jobs.JobController.__init__, "__kwdefaults__", {**_DEFAULTS, "first_retry": 0.01})
    async with running_cluster(cpus(4, 8), home=tmp_path) as world:
        yield world


_DEFAULTS = jobs.JobController.__init__.__kwdefaults__ or {}


def template(image: str = "web:1", restart: str = "Always", **annotations: str) -> dict[str, Any]:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "500m"}}}
    notes = {f"stromboli.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec = {"schedulerName": "volcano", "restartPolicy": restart, "containers": [container]}
    return {"metadata": {"labels": LABELS, "annotations": notes}, "spec": spec}


async def create_job(world: World, name: str = "train", run: str = "0.02", code: str = "0", **spec: Any) -> BatchJob:
    pods = template(restart="Never", run_seconds=run, exit_code=code)
    return await world.client.create(JOBS, {"metadata": {"name": name}, "spec": {"template": pods, **spec}})


async def create_deployment(world: World, **spec: Any) -> Deployment:
    facts = {"selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return await world.client.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": facts})


def has(job: str, condition: str, world: World) -> Callable[[], Awaitable[BatchJob | None]]:
    async def look() -> BatchJob | None:
        found = await world.client.get(JOBS, job)
        conditions = {each.type for each in found.status.conditions or () if each.status == "True"}
        return found if condition in conditions else None

    return look


async def until_running(world: World, count: int) -> list[Pod]:
    """Exactly this number of pods runs, and no others are active."""

    async def look() -> list[Pod] | None:
        pods = [pod for pod in await world.pods() if pod.status.phase not in ("Succeeded", "Failed")]
        are_running = all(pod.status.phase == "Running" and not pod.metadata.deletion_timestamp for pod in pods)
        return [*pods, Pod()] if len(pods) == count and are_running else None

    return (await world.until(look, f"{count} pods run") or [])[:-1]


def rolled_out(world: World, replicas: int) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        found = await world.client.get(DEPLOYMENTS, "web")
        status = found.status
        counts = {status.replicas, status.updated_replicas, status.available_replicas}
        return counts == {replicas} and status.observed_generation == found.metadata.generation

    return look


async def test_job_of_four_pods_completes(world: World) -> None:
    job = await create_job(world, parallelism=4, completions=4)
    done = await world.until(has("train", "Complete", world))
    assert done is not None
    status = done.status
    assert (status.succeeded, status.active or 0, status.ready, status.failed) == (4, 0, 0, None)
    assert status.start_time
    assert status.completion_time
    pods = await world.pods("train-")
    assert len(pods) == 4
    for pod in pods:
        labels = pod.metadata.labels or {}
        assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "train"
        assert labels["controller-uid"] == job.metadata.uid
        owner = (pod.metadata.owner_references or [])[0]
        assert (owner.kind, owner.uid, owner.controller) == ("Job", job.metadata.uid, True)
    groups = [group.metadata.name for group in (await world.client.list(POD_GROUPS)).items]
    assert groups == [f"podgroup-{job.metadata.uid}"]


async def test_every_index_completes_once(world: World) -> None:
    await create_job(world, parallelism=2, completions=5, completionMode="Indexed")
    done = await world.until(has("train", "Complete", world))
    assert done is not None
    assert (done.status.succeeded, done.status.completed_indexes) == (5, "0-4")
    pods = await world.pods("train-")
    assert sorted(pod.metadata.name.rsplit("-", 1)[0] for pod in pods) == [f"train-{index}" for index in range(5)]


async def test_job_fails_at_backoff_limit(world: World) -> None:
    await create_job(world, code="1", backoffLimit=2)
    failed = await world.until(has("train", "Failed", world))
    assert failed is not None
    assert (failed.status.failed, failed.status.succeeded) == (3, None)
    assert len(await world.pods("train-")) == 3


async def test_job_fails_at_active_deadline(world: World) -> None:
    await create_job(world, run="600", parallelism=2, completions=2, activeDeadlineSeconds=1)
    failed = await world.until(has("train", "Failed", world))
    assert failed is not None
    assert [each.reason for each in failed.status.conditions or ()] == ["DeadlineExceeded", "DeadlineExceeded"]
    assert await world.pods("train-") == []


async def test_suspended_job_resumes(world: World) -> None:
    await create_job(world, run="600", parallelism=3, completions=3, suspend=True)
    await world.until(has("train", "Suspended", world))
    assert await world.pods() == []
    await world.patch(JOBS, "train", {"spec": {"suspend": False}})
    await until_running(world, 3)
    await world.patch(JOBS, "train", {"spec": {"suspend": True}})
    await until_running(world, 0)
    asleep = await world.until(has("train", "Suspended", world))
    assert asleep is not None
    assert asleep.status.start_time is None
    assert (await world.client.get(JOBS, "train")).status.failed is None


async def test_parallelism_change(world: World) -> None:
    await create_job(world, run="600", parallelism=1, completions=8)
    await until_running(world, 1)
    await world.patch(JOBS, "train", {"spec": {"parallelism": 5}})
    await until_running(world, 5)
    await world.patch(JOBS, "train", {"spec": {"parallelism": 2}})
    await until_running(world, 2)


async def test_deleted_pod_is_replaced(world: World) -> None:
    await create_job(world, run="600")
    [first] = await until_running(world, 1)
    await world.delete(PODS, first.metadata.name)

    async def is_counted() -> bool:
        return (await world.client.get(JOBS, "train")).status.failed == 1

    await world.until(is_counted)
    [second] = await until_running(world, 1)
    assert second.metadata.uid != first.metadata.uid


async def test_finished_job_is_deleted_after_ttl(world: World) -> None:
    await create_job(world, ttlSecondsAfterFinished=0)

    async def all_gone() -> bool:
        return not (await world.client.list(JOBS)).items and not await world.pods()

    await world.until(all_gone)


async def test_deployment_rollout(world: World) -> None:
    await create_deployment(world, replicas=3)
    await world.until(rolled_out(world, 3))
    await world.patch(DEPLOYMENTS, "web", {"spec": {"template": template("web:2")}})
    await world.until(rolled_out(world, 3))
    pods = await until_running(world, 3)
    assert {(pod.spec.containers or [])[0].image for pod in pods} == {"web:2"}
    sets = (await world.client.list(REPLICA_SETS)).items
    assert sorted(each.spec.replicas or 0 for each in sets) == [0, 3]
    final = await world.client.get(DEPLOYMENTS, "web")
    assert (final.metadata.annotations or {})["deployment.kubernetes.io/revision"] == "2"
    reasons = {each.type: each.reason for each in final.status.conditions or ()}
    assert reasons == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}


async def test_recreate_strategy_never_mixes_templates(world: World) -> None:
    await create_deployment(world, replicas=3, strategy={"type": "Recreate"})
    await world.until(rolled_out(world, 3))
    first = {pod.metadata.uid for pod in await until_running(world, 3)}
    await world.patch(DEPLOYMENTS, "web", {"spec": {"template": template("web:2")}})

    async def images() -> set[str | None]:
        return {(pod.spec.containers or [])[0].image for pod in await world.pods()}

    async def is_exchanged() -> bool:
        seen = await images()
        assert len(seen) <= 1
        return seen == {"web:2"}

    await world.until(is_exchanged)
    await world.until(rolled_out(world, 3))
    assert not first & {pod.metadata.uid for pod in await until_running(world, 3)}


async def test_revision_history_is_limited(world: World) -> None:
    await create_deployment(world, replicas=1, revisionHistoryLimit=1)
    for number in (2, 3, 4):
        await world.until(rolled_out(world, 1))
        await world.patch(DEPLOYMENTS, "web", {"spec": {"template": template(f"web:{number}")}})

    async def two_sets() -> bool:
        return len((await world.client.list(REPLICA_SETS)).items) == 2

    await world.until(rolled_out(world, 1))
    await world.until(two_sets)


async def test_replica_set_adopts_and_releases_pods(world: World) -> None:
    lonely = {"metadata": {"name": "lonely", "labels": LABELS}, "spec": template()["spec"]}
    await world.client.create(PODS, lonely)
    facts = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template()}
    await world.client.create(REPLICA_SETS, {"metadata": {"name": "set"}, "spec": facts})
    names = {pod.metadata.name for pod in await until_running(world, 2)}
    assert "lonely" in names
    await world.patch(PODS, "lonely", {"metadata": {"labels": {"app": "other"}}})
    await until_running(world, 3)
    stranger = await world.pod("lonely")
    assert stranger is not None
    assert not stranger.metadata.owner_references


async def test_deployment_deletion_removes_dependents(world: World) -> None:
    await create_deployment(world, replicas=3)
    await until_running(world, 3)
    await world.client.delete(DEPLOYMENTS, "web", propagation="Background")

    async def all_gone() -> bool:
        return not (await world.client.list(REPLICA_SETS)).items and not await world.pods()

    await world.until(all_gone)


async def test_faults_cause_no_excess_or_missing_pods(world: World) -> None:
    faults = [
        world.faults.add(Match(method="POST", plural="pods"), LoseAnswer(), times=3, after=1),
        world.faults.add(Match(method="POST", plural="pods"), Answer(500, "InternalError", "oh"), times=3, after=5),
        world.faults.add(Match(method="PATCH", plural="jobs"), LoseAnswer(), times=2),
        world.faults.add(Match(method="POST", plural="replicasets"), LoseAnswer(), times=1),
        world.faults.add(Match(verb="watch", plural="pods"), CutWatch(), times=1),
        world.faults.add(Match(verb="watch", plural="jobs"), ExpireWatch(), times=1),
    ]
    world.server.drop_watches()
    await create_job(world, parallelism=4, completions=12)
    await create_deployment(world, replicas=5)
    done = await world.until(has("train", "Complete", world))
    assert done is not None
    assert (done.status.succeeded, done.status.failed) == (12, None)
    assert len(await world.pods("train-")) == 12
    await until_running(world, 5)
    assert all(fault.fired for fault in faults)


async def test_scale(world: World) -> None:
    await create_deployment(world, replicas=1)
    path = DEPLOYMENTS.path(namespace="default", name="web", subresource="scale")
    merge = "application/merge-patch+json"
    await world.client.request("PATCH", path, body=b'{"spec":{"replicas":2}}', content_type=merge)
    assert (await world.client.get(DEPLOYMENTS, "web")).spec.replicas == 2
    with pytest.raises(ApiError) as refusal:
        await world.client.request("PATCH", path, body=b'{"spec":{"replicas":-2}}', content_type=merge)
    assert refusal.value.is_invalid
    stale = b'{"metadata":{"name":"web","resourceVersion":"1"},"spec":{"replicas":9}}'
    with pytest.raises(ApiError) as conflict:
        await world.client.request("PUT", path, body=stale)
    assert conflict.value.is_conflict


async def test_kubectl_commands(world: World) -> None:
    await world.kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
    patch = '{"spec":{"template":{"spec":{"schedulerName":"volcano"}}}}'
    await world.kubectl("patch", "deployment", "web", "--patch", patch)
    assert "successfully rolled out" in await world.kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    assert await world.kubectl("scale", "deployment/web", "--replicas=4") == "deployment.apps/web scaled\n"
    await world.kubectl("set", "image", "deployment/web", "web=web:2")
    assert "successfully rolled out" in await world.kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    await world.kubectl("rollout", "undo", "deployment/web")
    await world.kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    assert {(pod.spec.containers or [])[0].image for pod in await until_running(world, 4)} == {"web"}
    assert await world.kubectl("create", "job", "hello", "--image=busybox", "--", "true") == "job.batch/hello created\n"
    await create_job(world, completions=2)
    await world.kubectl("wait", "--for=condition=complete", "job/train", "--timeout=25s")
    table = await world.kubectl("get", "jobs", "--no-headers")
    assert [line.split()[:3] for line in table.splitlines()] == [
        ["hello", "Running", "0/1"],
        ["train", "Complete", "2/2"],
    ]
