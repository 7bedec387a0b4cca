"""An invalid pod affects only itself."""

from __future__ import annotations

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.workloads.requests import MAX_NAMES
from tests.testing.random_clusters import objects

JOB = "team/job"


def a_cluster(*entries: kube.KubeObject) -> Cluster:
    """One node, a waiting job, and these objects."""
    cluster = Cluster()
    node = objects.node("a", {"cpu": "8", "memory": "16Gi", "pods": "20"})
    for entry in (*standard_queues(), node, *objects.gang("good", 1, objects.template({"cpu": "1"})), *entries):
        cluster.apply(entry)
    return cluster


def many_resources(number: int) -> dict[str, str]:
    return {f"example.com/r{place}": "1" for place in range(number)}


def running_pod(**grants: object) -> kube.Pod:
    """A running pod in a group of its own, with this status from its kubelet."""
    spec = objects.template({"cpu": "1"})
    spec.node_name = "a"
    pod = objects.pod("odd", spec, group="odd", phase="Running")
    said = {"name": "main", "ready": True, **grants}
    status = {"phase": "Running", "containerStatuses": [said]}
    return msgspec.structs.replace(pod, status=msgspec.convert(status, kube.PodStatus))


#: Granted resources that a kubelet may report, and a word of the message.
GRANTS: dict[str, tuple[dict[str, object], str]] = {
    "too large": ({"allocatedResources": {"cpu": "8Ei"}}, "cpu"),
    "not a number": ({"allocatedResources": {"cpu": "lots"}}, "cpu"),
    "negative": ({"allocatedResources": {"memory": "-1"}}, "memory"),
    "not a number, in requests": ({"resources": {"requests": {"cpu": "x"}}}, "cpu"),
}


@pytest.mark.parametrize(("grants", "word"), GRANTS.values(), ids=GRANTS)
def test_running_pod_with_invalid_granted_resources_counts_as_one_pod(grants: dict[str, object], word: str) -> None:
    cluster = a_cluster(objects.group("odd", min_member=1, phase="Running"), running_pod(**grants))
    snapshot = cluster.snapshot()
    (warning,) = snapshot.warnings
    assert warning.startswith("Pod team/odd: status.containerStatuses")
    assert word in warning
    assert (snapshot.jobs["team/good"].spec.fault, snapshot.jobs["team/good"].pending_count) == ("", 1)
    assert snapshot.jobs["team/odd"].spec.fault == "", "running pods do not keep a job pending"
    assert audit(cluster) == []
    cluster.apply(running_pod(allocatedResources={"cpu": "2"}))
    assert cluster.snapshot().warnings == ()
    assert audit(cluster) == []


def test_pod_with_too_many_resources_affects_only_itself() -> None:
    many = objects.template(many_resources(MAX_NAMES + 1))
    cluster = a_cluster(*objects.gang("greedy", 1, many))
    before = len(a_cluster().axis)
    snapshot = cluster.snapshot()
    assert f"{MAX_NAMES + 1} different resources are named" in snapshot.jobs["team/greedy"].spec.fault
    assert snapshot.jobs["team/good"].spec.fault == ""
    assert len(cluster.axis) == before, "no name becomes a row of the accounting matrix"
    assert audit(cluster) == []


def test_resource_names_are_counted_once_over_all_containers() -> None:
    half = many_resources(MAX_NAMES // 2)
    other = {f"{name}-x": "1" for name in half}
    same = objects.template(half)
    assert same.containers
    same.containers += [objects.container(half, name="again")]
    different = objects.template({**half, **other})
    different.init_containers = [objects.container({"example.com/one-more": "1"}, name="first")]
    cluster = a_cluster(*objects.gang("same", 1, same), *objects.gang("different", 1, different))
    snapshot = cluster.snapshot()
    assert snapshot.jobs["team/same"].spec.fault == ""
    assert f"{MAX_NAMES + 1} different resources" in snapshot.jobs["team/different"].spec.fault


def test_group_with_too_many_resources_affects_only_itself() -> None:
    cluster = a_cluster(objects.group("greedy", min_member=1, min_resources=many_resources(MAX_NAMES + 1)))
    snapshot = cluster.snapshot()
    assert "different resources are named" in snapshot.jobs["team/greedy"].spec.fault
    assert len(cluster.axis) == len(a_cluster().axis)


def test_too_many_granted_resources_add_no_rows() -> None:
    cluster = a_cluster(
        objects.group("odd", min_member=1), running_pod(allocatedResources=many_resources(MAX_NAMES + 1))
    )
    (warning,) = cluster.snapshot().warnings
    assert "different resources are named" in warning
    assert len(cluster.axis) == len(a_cluster().axis)
    assert audit(cluster) == []
