"""What one pod says, however odd, is held against that pod alone."""

from __future__ import annotations

import msgspec
import pytest

from stromboli import kube
from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.objects.pods.requests import MAX_NAMES
from stromboli.cluster.state.cluster import Cluster
from stromboli.controllers.default_queues import standard_queues
from tests.testing.random_clusters import objects

JOB = "team/job"


def a_cluster(*entries: kube.KubeObject) -> Cluster:
    """One node, a job that waits, and these."""
    cluster = Cluster()
    node = objects.node("a", {"cpu": "8", "memory": "16Gi", "pods": "20"})
    for entry in (*standard_queues(), node, *objects.gang("good", 1, objects.template({"cpu": "1"})), *entries):
        cluster.apply(entry)
    return cluster


def invented(number: int) -> dict[str, str]:
    return {f"example.com/r{place}": "1" for place in range(number)}


def running_pod(**grants: object) -> kube.Pod:
    """A pod of a group of its own that runs, of which its kubelet says this."""
    spec = objects.template({"cpu": "1"})
    spec.node_name = "a"
    pod = objects.pod("odd", spec, group="odd", phase="Running")
    said = {"name": "main", "ready": True, **grants}
    status = {"phase": "Running", "containerStatuses": [said]}
    return msgspec.structs.replace(pod, status=msgspec.convert(status, kube.PodStatus))


#: What a kubelet may say it has granted, and a word of the complaint.
GRANTS: dict[str, tuple[dict[str, object], str]] = {
    "more than can be counted": ({"allocatedResources": {"cpu": "8Ei"}}, "cpu"),
    "no number": ({"allocatedResources": {"cpu": "lots"}}, "cpu"),
    "less than nothing": ({"allocatedResources": {"memory": "-1"}}, "memory"),
    "no number, as requests": ({"resources": {"requests": {"cpu": "x"}}}, "cpu"),
}


@pytest.mark.parametrize(("grants", "word"), GRANTS.values(), ids=GRANTS)
def test_a_running_pod_that_is_granted_nonsense_counts_as_one_pod_and_harms_nobody(
    grants: dict[str, object], word: str
) -> None:
    cluster = a_cluster(objects.group("odd", min_member=1, phase="Running"), running_pod(**grants))
    snapshot = cluster.snapshot()
    (warning,) = snapshot.warnings
    assert warning.startswith("Pod team/odd: status.containerStatuses")
    assert word in warning
    assert (snapshot.jobs["team/good"].spec.fault, snapshot.jobs["team/good"].pending_count) == ("", 1)
    assert snapshot.jobs["team/odd"].spec.fault == "", "what runs keeps nobody waiting"
    assert audit(cluster) == []
    cluster.apply(running_pod(allocatedResources={"cpu": "2"}))
    assert cluster.snapshot().warnings == ()
    assert audit(cluster) == []


def test_a_pod_that_names_too_many_resources_is_at_fault_alone() -> None:
    many = objects.template(invented(MAX_NAMES + 1))
    cluster = a_cluster(*objects.gang("greedy", 1, many))
    before = len(a_cluster().axis)
    snapshot = cluster.snapshot()
    assert f"{MAX_NAMES + 1} different resources are named" in snapshot.jobs["team/greedy"].spec.fault
    assert snapshot.jobs["team/good"].spec.fault == ""
    assert len(cluster.axis) == before, "none of the names becomes a row of the books"
    assert audit(cluster) == []


def test_names_are_counted_over_all_containers_and_once_each() -> None:
    half = invented(MAX_NAMES // 2)
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


def test_a_group_that_names_too_many_resources_is_at_fault_alone() -> None:
    cluster = a_cluster(objects.group("greedy", min_member=1, min_resources=invented(MAX_NAMES + 1)))
    snapshot = cluster.snapshot()
    assert "different resources are named" in snapshot.jobs["team/greedy"].spec.fault
    assert len(cluster.axis) == len(a_cluster().axis)


def test_a_kubelet_that_grants_too_many_resources_adds_no_rows() -> None:
    cluster = a_cluster(objects.group("odd", min_member=1), running_pod(allocatedResources=invented(MAX_NAMES + 1)))
    (warning,) = cluster.snapshot().warnings
    assert "different resources are named" in warning
    assert len(cluster.axis) == len(a_cluster().axis)
    assert audit(cluster) == []
