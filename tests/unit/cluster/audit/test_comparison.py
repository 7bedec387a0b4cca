"""A cache that differs from the cluster is reported, object by object."""

from __future__ import annotations

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.comparison import compare
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from tests.testing.placements import placement
from tests.testing.random_clusters import objects

CPU = objects.template({"cpu": "1"})
ON_A = kube.PodSpec(scheduler_name="stromboli", containers=CPU.containers, node_name="a")


def version(entry: kube.Pod, number: int, **metadata: str) -> kube.Pod:
    meta = msgspec.structs.replace(entry.metadata, resource_version=str(number), **metadata)
    return msgspec.structs.replace(entry, metadata=meta)


POD = version(objects.pod("job-0", CPU, group="job"), 7)
OTHERS = [*standard_queues(), objects.node("a", {"cpu": "8"}), objects.group("job", min_member=1)]
FOREIGN = objects.pod("foreign", kube.PodSpec(scheduler_name="default-scheduler"))


def cluster_of(*entries: kube.KubeObject) -> Cluster:
    cluster = Cluster()
    for entry in (*OTHERS, *entries):
        cluster.apply(entry)
    return cluster


def test_current_cache_has_no_differences() -> None:
    assert compare(cluster_of(POD), [FOREIGN, POD, *OTHERS]) == []


def test_assumed_placement_is_no_difference() -> None:
    cluster = cluster_of(POD)
    cluster.assumptions.assume(placement(POD.metadata.uid, "a"))
    cluster.groups.set_phase("team/job", "Inqueue", hold=True)
    assert compare(cluster, [POD, *OTHERS]) == []


PREFIX = "Pod team/job-0: "
CASES: dict[str, tuple[list[kube.Pod], list[kube.Pod], str]] = {
    "missed": ([], [POD], f"{PREFIX}exists in the cluster and not in the cache"),
    "not forgotten": ([POD], [], f"{PREFIX}exists in the cache and not in the cluster"),
    "stale": ([POD], [version(POD, 9)], f"{PREFIX}the cache has version 7, the cluster 9"),
    "another": (
        [POD],
        [version(POD, 9, uid="new")],
        f"{PREFIX}the cache has uid Pod/team/job-0, the cluster has uid new",
    ),
    "spoiled": (
        [version(objects.pod("job-0", ON_A, group="job"), 7)],
        [POD],
        f"{PREFIX}both have version 7 and differ in content",
    ),
}


@pytest.mark.parametrize(("known", "fresh", "words"), CASES.values(), ids=CASES)
def test_differences_are_reported(known: list[kube.Pod], fresh: list[kube.Pod], words: str) -> None:
    found = compare(cluster_of(*known), [*OTHERS, *fresh])
    assert words in found
    assert all(text.startswith(("Pod", "accounting")) for text in found)


def test_accounting_is_compared() -> None:
    found = compare(cluster_of(version(objects.pod("job-0", ON_A, group="job"), 7)), [*OTHERS, POD])
    assert "accounting: amounts, a, used, cpu: expected nothing, found 1000" in found
