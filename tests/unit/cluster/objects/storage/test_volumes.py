"""Claims and volumes arrive in any order, and choices count until the claims confirm them."""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.audit.summary import summary_of
from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.cluster.snapshot import current_view
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.core.session.session import Session
from stromboli.kube.objects.kinds import KubeObject
from stromboli.kube.objects.storage import ClaimReference, PersistentVolume, PersistentVolumeClaim
from tests.testing.cases.case import configuration, flattened, objects
from tests.testing.manifests.builders import Manifest, foreign, gang, gang_of, node, pod, queue
from tests.testing.manifests.storage import (
    DRIVER,
    HOST,
    claim,
    claim_template_spec,
    csi_node,
    driver,
    storage_capacity_on,
    storage_class,
    using,
    volume,
)
from tests.testing.placements import placement
from tests.testing.random_clusters.engine import program_of

PROGRAM = program_of(configuration("gang", "predicates"))
NODES = [node(name, 8, labels={HOST: name}) for name in "ab"]
STORAGE = [storage_class(), storage_class("made", DRIVER), driver(), csi_node("a", 2), csi_node("b", 2),
           storage_capacity_on("a", "2Gi"), storage_capacity_on("b", "2Gi")]  # fmt: skip


def job(claims: str, name: str = "job") -> list[Manifest]:
    """A pod with these claims."""
    return gang_of(pod(volumes=using(*claims)), name=name)


def decoded(*manifests: object) -> list[KubeObject]:
    return objects(flattened([queue("default"), *manifests]))


def cluster_of(entries: Iterable[KubeObject]) -> Cluster:
    cluster = Cluster()
    for entry in entries:
        cluster.apply(entry)
    return cluster


def decisions_for(cluster: Cluster) -> list[Placement]:
    """The binds that a cycle would decide."""
    session = Session(cluster.snapshot(), PROGRAM)
    session.run()
    return [bind for statement in session.decisions.binds for bind in statement]


def classes_of(cluster: Cluster) -> set[TaskClass]:
    return {task.task_class for each in cluster.snapshot().jobs.values() for task in each.tasks.values()}


EVERYTHING = decoded(
    NODES, STORAGE, claim("x"), claim("y", of="made", has="v-y"), claim("z", of="made", on="b"), claim("s", has="v-s"),
    volume("v-x", on="a"), volume("v-y", of="made", of_claim="y", csi=DRIVER), volume("v-s", on="b", of_claim="s"),
    volume("v-x2", of_claim="x", on="b"), job("x", "one"), job("yz", "two"), job("s", "three"), job("s", "four"),
    foreign("a", volumes=using("y")),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_events_does_not_matter(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    shuffled = [*EVERYTHING, *chance.sample(EVERYTHING, 6)]
    chance.shuffle(shuffled)
    cluster = Cluster()
    for entry in shuffled:
        cluster.apply(entry)
        if chance.random() < 0.3:
            cluster.snapshot()
    assert summary_of(current_view(cluster)) == summary_of(current_view(cluster_of(EVERYTHING)))
    assert audit(cluster, nodes=["a", "b"]) == []


@pytest.mark.parametrize("seed", range(12))
def test_removed_objects_leave_no_trace_in_any_order(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    cluster, left = cluster_of(EVERYTHING), list(EVERYTHING)
    for entry in chance.sample(EVERYTHING, 12):
        left.remove(entry)
        cluster.remove(entry)
        if chance.random() < 0.5:
            cluster.snapshot()
    assert summary_of(current_view(cluster)) == summary_of(current_view(cluster_of(left)))
    for entry in left:
        cluster.remove(entry)
    assert cluster.objects() == []
    assert current_view(cluster).volumes.use.named(current_view(cluster).nodes) == {
        "attached": {},
        "holders": {},
        "users": {},
    }


def test_pods_with_equal_claims_share_a_class() -> None:
    own = [claim(name) for name in "xyz"]
    cluster = cluster_of(decoded(NODES, STORAGE, own, gang_of(*(pod(volumes=using(name)) for name in "xyz"))))
    assert len(classes_of(cluster)) == 1
    ephemeral = [claim(f"gang-task-{place}-d", owner=f"pod-default-gang-task-{place}") for place in range(3)]
    made = cluster_of(decoded(NODES, STORAGE, ephemeral, gang(3, volumes=using(d=claim_template_spec()))))
    assert len(classes_of(made)) == 1


TWO_JOBS = [NODES, STORAGE, claim("x"), claim("y"), volume("v", on="b"), job("x", "first"), job("y", "second")]


def assume(cluster: Cluster, bind: Placement) -> None:
    assert bind.volumes is not None
    cluster.assumptions.assume(placement(bind.uid, bind.node, volumes=bind.volumes.choices))


def test_assumed_volume_is_not_free() -> None:
    cluster = cluster_of(decoded(TWO_JOBS))
    [bind] = decisions_for(cluster)
    assert bind.volumes is not None
    assert bind.volumes.choices == (VolumeChoice("x", "v"),)
    assume(cluster, bind)
    assert decisions_for(cluster) == []
    assert audit(cluster) == []
    cluster.assumptions.forget(bind.uid)
    assert [again.key for again in decisions_for(cluster)] == [bind.key]
    cluster.remove(cluster.pods.get(bind.uid))
    assert [other.key for other in decisions_for(cluster)] == ["default/second-task-0"]


def test_assumed_storage_is_not_available() -> None:
    claims = [claim("x", "2Gi", of="made"), claim("y", "1Gi", of="made")]
    cluster = cluster_of(decoded(NODES[0], STORAGE, claims, job("x", "first"), job("y", "second")))
    [bind] = decisions_for(cluster)
    assume(cluster, bind)
    assert decisions_for(cluster) == []
    cluster.assumptions.forget(bind.uid)
    assert len(decisions_for(cluster)) == 1


def test_second_pod_of_an_assumed_claim_follows_its_node() -> None:
    shared = [NODES, STORAGE, claim("x", of="made"), foreign("a", 8), job("x", "first"), job("x", "second")]
    cluster = cluster_of(decoded(*shared))
    [bind, _] = decisions_for(cluster)
    assume(cluster, bind)
    cluster.remove(next(each for each in cluster.pods.all() if each.metadata.name == "stranger"))
    assert [follower.node for follower in decisions_for(cluster)] == ["b"]


def test_choice_counts_until_the_claim_is_bound() -> None:
    cluster = cluster_of(decoded(TWO_JOBS))
    [bind] = decisions_for(cluster)
    assume(cluster, bind)
    bound = cluster.pods.get(bind.uid)
    cluster.apply(msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, node_name=bind.node)))
    assert decisions_for(cluster) == []
    held, free = cluster.volumes.claim("default/x"), cluster.volumes.volume("v")
    assert held is not None
    assert free is not None
    cluster.apply(_promised(free, held))
    cluster.apply(_bound(held, "v"))
    assert decisions_for(cluster) == []
    assert audit(cluster) == []


def _promised(free: PersistentVolume, to: PersistentVolumeClaim) -> PersistentVolume:
    reference = ClaimReference(namespace="default", name=to.metadata.name, uid=to.metadata.uid)
    return msgspec.structs.replace(free, spec=msgspec.structs.replace(free.spec, claim_ref=reference))


def _bound(held: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    status = msgspec.structs.replace(held.status, phase="Bound")
    return msgspec.structs.replace(held, spec=msgspec.structs.replace(held.spec, volume_name=name), status=status)


def test_choice_survives_compaction() -> None:
    cluster = cluster_of(decoded(TWO_JOBS))
    assume(cluster, decisions_for(cluster)[0])
    cluster.compact()
    assert decisions_for(cluster) == []


def test_dump_keeps_choices(tmp_path: object) -> None:
    cluster = cluster_of(decoded(TWO_JOBS))
    assume(cluster, decisions_for(cluster)[0])
    path = f"{tmp_path}/dump.json.gz"
    write_dump(path, Dump(contents_of(cluster)))
    assert decisions_for(cluster_with(read_dump(path).contents)) == []


def test_fault_of_a_running_pod_blocks_no_other_pod() -> None:
    cluster = cluster_of(decoded(NODES, STORAGE, foreign("a", volumes=using("gone")), job("", "plain")))
    assert len(decisions_for(cluster)) == 1
    assert cluster.snapshot().warnings == ()
