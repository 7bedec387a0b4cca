"""Jobs of other schedulers are left to them, in any order of events."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.kube.objects.kinds import decode
from tests.testing.manifests.builders import gang, nodes, queue, running

OURS = ShardChoice(ShardMode.HARD, "ours")


def cluster_of(*objects: Any, shard: ShardChoice | None = OURS) -> Cluster:
    cluster = Cluster(("ours",), shard=shard)
    for document in [queue("default"), *nodes(4, 2), *itertools.chain(*objects)]:
        cluster.apply(decode(document))  # type: ignore[arg-type]
    return cluster


@pytest.mark.parametrize("backwards", [False, True])
def test_job_belongs_to_the_scheduler_of_its_pods(backwards: bool) -> None:
    parts = [*gang(2, name="mine", schedulerName="ours"), *gang(2, name="theirs", schedulerName="another")]
    cluster = cluster_of(parts[::-1] if backwards else parts)
    seen = cluster.snapshot()
    assert (seen.waiting, *seen.foreign) == (("default/mine",), "default/theirs")


def test_running_pods_of_other_schedulers_are_foreign_and_count() -> None:
    cluster = cluster_of(running("ab", name="theirs", minimum=3, schedulerName="another"))
    seen = cluster.snapshot()
    assert (seen.waiting, seen.touched, *seen.foreign) == ((), (), "default/theirs")
    assert seen.queue_usage["default"].allocated[0] == 2000


def test_job_without_pods_is_not_foreign() -> None:
    (group, *_) = gang(1, name="empty")
    assert cluster_of([group]).snapshot().waiting == ("default/empty",)


def test_job_is_foreign_only_without_own_pods() -> None:
    theirs = gang(2, name="job", schedulerName="another")
    cluster = cluster_of(theirs)
    assert cluster.pods.is_foreign_job("default/job")
    pod = decode(theirs[-1])
    assert isinstance(pod, kube.Pod)
    metadata = msgspec.structs.replace(pod.metadata, name="mine", uid="mine")
    mine = msgspec.structs.replace(
        pod, metadata=metadata, spec=msgspec.structs.replace(pod.spec, scheduler_name="ours")
    )
    cluster.apply(mine)
    assert not cluster.pods.is_foreign_job("default/job")
    cluster.remove(mine)
    assert cluster.pods.is_foreign_job("default/job")


def test_without_shards_no_job_is_foreign() -> None:
    cluster = cluster_of(running("a", name="theirs", schedulerName="another"), shard=None)
    assert cluster.snapshot().foreign == frozenset()
