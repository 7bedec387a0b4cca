"""StatefulSets: the next step as a table, and rollouts over HTTP."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec
import pytest
import pytest_asyncio

from stromboli.kube.objects.catalogue import CLAIMS, STATEFUL_SETS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.objects.workloads import StatefulSet
from stromboli.local.fakes.workloads.stateful_rules import REVISION_HASH, plan, revision
from stromboli.local.fakes.workloads.stateful_sets import claims, document
from tests.testing.world import World, cpus, running_cluster

LABELS = {"app": "db"}


def template(image: str = "db:1") -> dict[str, Any]:
    spec = {"schedulerName": "volcano", "containers": [{"name": "main", "image": image}]}
    return {"metadata": {"labels": LABELS}, "spec": spec}


def stateful(**spec: Any) -> StatefulSet:
    facts = {"selector": {"matchLabels": LABELS}, "template": template(), "serviceName": "db", **spec}
    return msgspec.convert({"metadata": {"name": "db", "uid": "u"}, "spec": facts}, StatefulSet)


NEW = revision(stateful())


def pod(number: int, phase: str = "Running", ready: bool = True, of: str = NEW, **metadata: Any) -> Pod:
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    facts = {"name": f"db-{number}", "labels": {REVISION_HASH: of}, **metadata}
    return msgspec.convert({"metadata": facts, "status": {"phase": phase, "conditions": conditions}}, Pod)


def going(number: int) -> Pod:
    return pod(number, deletionTimestamp=stamp(0))


class Case(NamedTuple):
    title: str
    stateful_set: StatefulSet
    pods: list[Pod]
    create: tuple[int, ...] = ()
    delete: tuple[str, ...] = ()


THREE, PARALLEL = stateful(replicas=3), stateful(replicas=3, podManagementPolicy="Parallel")
BY_HAND = stateful(replicas=2, updateStrategy={"type": "OnDelete"})
FROM_ONE = stateful(replicas=2, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
OLD = [pod(0, of="old"), pod(1, of="old")]
CASES = [
    Case("the first", THREE, [], (0,)),
    Case("the first is not ready", THREE, [pod(0, ready=False)]),
    Case("the second", THREE, [pod(0)], (1,)),
    Case("a gap", THREE, [pod(0), pod(2)], (1,)),
    Case("a name is not free yet", THREE, [pod(0), going(1)]),
    Case("all are there", THREE, [pod(0), pod(1), pod(2)]),
    Case("the highest ordinal is deleted first", stateful(replicas=1), [pod(0), pod(1), pod(2)], (), ("db-2",)),
    Case("one after the other", stateful(replicas=1), [pod(0), pod(1), going(2)]),
    Case("zero replicas", stateful(replicas=0), [pod(0), pod(1)], (), ("db-1",)),
    Case("failed pod is deleted", THREE, [pod(0), pod(1, "Failed", False)], (), ("db-1",)),
    Case("a stranger", THREE, [msgspec.convert({"metadata": {"name": "other"}}, Pod)], (0,)),
    Case("all at once", PARALLEL, [pod(1, ready=False)], (0, 2)),
    Case("all at once, too many", PARALLEL, [pod(n) for n in range(5)], (), ("db-4", "db-3")),
    Case("an older template, from above", stateful(replicas=2), OLD, (), ("db-1",)),
    Case("the next only when the last is well", stateful(replicas=2), [OLD[0], pod(1, ready=False)]),
    Case("by hand", BY_HAND, OLD),
    Case("above the partition", FROM_ONE, OLD, (), ("db-1",)),
    Case("below the partition", FROM_ONE, [OLD[0], pod(1)]),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_plan(case: Case) -> None:
    step = plan(case.stateful_set, case.pods)
    assert (step.create, tuple(each.metadata.name for each in step.delete)) == (case.create, case.delete)


def test_stateful_pod_has_volumes_of_its_ordinal() -> None:
    subject = stateful(volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}])
    made = document(subject, 2)
    assert (made["metadata"]["name"], made["spec"]["hostname"], made["spec"]["subdomain"]) == ("db-2", "db-2", "db")
    assert made["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}}]
    [claim] = claims(subject, 2)
    assert claim == {"metadata": {"name": "data-db-2", "labels": LABELS}, "spec": {"storageClassName": "fast"}}


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    async with running_cluster(cpus(2, 8)) as world:
        yield world


async def create(world: World, **spec: Any) -> None:
    facts = {"selector": {"matchLabels": LABELS}, "template": template(), "serviceName": "db", **spec}
    await world.client.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": facts})


async def until_updated(world: World, replicas: int) -> StatefulSet:
    async def look() -> StatefulSet | None:
        found = await world.client.get(STATEFUL_SETS, "db")
        status = found.status
        is_seen = status.observed_generation == found.metadata.generation
        counts = {status.replicas, status.ready_replicas or 0, status.updated_replicas or 0}
        return found if is_seen and counts == {replicas} else None

    found = await world.until(look, f"{replicas} pods of the present template")
    assert found is not None
    return found


async def test_stateful_pods_are_created_in_order_and_replaced(world: World) -> None:
    await create(world, replicas=3)
    await until_updated(world, 3)
    pods = await world.pods()
    assert sorted(entry.metadata.name for entry in pods) == ["db-0", "db-1", "db-2"]
    first = {entry.metadata.uid for entry in pods}
    await world.patch(STATEFUL_SETS, "db", {"spec": {"template": template("db:2")}})
    await until_updated(world, 3)
    assert not first & {entry.metadata.uid for entry in await world.pods()}
    await world.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
    await until_updated(world, 1)


async def test_claims_outlive_stateful_pods(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    body = {"metadata": {"name": "fast"}, "provisioner": "example.com/disk"}
    await world.client.request("POST", classes, body=msgspec.json.encode(body))
    await create(
        world,
        replicas=1,
        volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast", **spec}}],
    )
    await until_updated(world, 1)
    await world.client.delete(STATEFUL_SETS, "db", propagation="Background")

    async def all_gone() -> bool:
        return not await world.pods()

    await world.until(all_gone)
    assert [entry.metadata.name for entry in (await world.client.list(CLAIMS)).items] == ["data-db-0"]
