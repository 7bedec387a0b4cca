"""The priority class of a pod follows its group and the list of its queue."""

from __future__ import annotations

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.objects.priority_classes import ALLOWED_CLASSES
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.kinds import as_type
from tests.testing.random_clusters import objects

_POD = objects.pod("member", objects.template({"cpu": "1"}, priority=100, priority_class_name="high"), group="gang")


def _queue(name: str, listed: str | None = None) -> kube.KubeQueue:
    annotations = {} if listed is None else {ALLOWED_CLASSES: listed}
    return as_type({"metadata": {"name": name, "annotations": annotations}}, kube.KubeQueue)


def _group(queue: str, *, priority_class: str | None = None) -> kube.PodGroup:
    group = objects.group("gang", min_member=1, queue=queue)
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, priority_class_name=priority_class))


_COUNTS, _DISREGARDED = (100, "high"), (0, "")
_CASES: dict[str, tuple[list[kube.KubeObject], tuple[int, str]]] = {
    "in a queue without a list": ([_group("open")], _COUNTS),
    "in a queue that allows it": ([_group("high-only")], _COUNTS),
    "in a queue that allows others": ([_group("low-only")], _DISREGARDED),
    "in a queue that allows none": ([_group("none")], _DISREGARDED),
    "named by the group as well": ([_group("low-only", priority_class="high")], _COUNTS),
    "group created again in another queue": ([_group("high-only"), _group("low-only")], _DISREGARDED),
    "and back": ([_group("low-only"), _group("high-only")], _COUNTS),
    "group names the class later": ([_group("low-only"), _group("low-only", priority_class="high")], _COUNTS),
    "queue lists others later": ([_group("high-only"), _queue("high-only", "low")], _DISREGARDED),
    "queue allows it later": ([_group("low-only"), _queue("low-only", "low, high")], _COUNTS),
    "queue has no list any more": ([_group("low-only"), _queue("low-only")], _COUNTS),
}


@pytest.mark.parametrize("case", _CASES)
def test_priority_class_counts_where_the_queue_allows_it(case: str) -> None:
    steps, expected = _CASES[case]
    cluster = Cluster()
    queues = _queue("open"), _queue("high-only", "high"), _queue("low-only", "low"), _queue("none", "")
    for entry in (*standard_queues(), *queues, _POD):
        cluster.apply(entry)
    for step in steps:
        cluster.apply(step)
        cluster.cluster_state()
    (task,) = cluster.snapshot().jobs["team/gang"].tasks.values()
    assert (task.priority, task.priority_class) == expected
    assert audit(cluster) == []
