"""Files on top of a cluster: a workload that the cluster has already adds neither pods nor a group."""

from __future__ import annotations

import io

import msgspec
import pytest

from stromboli import kube
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference
from stromboli.planner.live.submission import submit
from stromboli.workloads.expander import ClusterBeside
from stromboli.workloads.reading import read_with_workloads
from tests.unit.workloads.inputs import expanded, template, workload

JOB = workload("batch/v1", "Job", {"parallelism": 2, "template": template()})
VOLCANO_JOB = workload(
    "batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "a", "replicas": 1, "template": template()}]}
)


def pod_of(owner: str) -> kube.Pod:
    reference = OwnerReference(kind="Job", name=owner, uid="7f", controller=True)
    annotations = {"scheduling.k8s.io/group-name": "podgroup-7f"}
    return kube.Pod(metadata=ObjectMeta("old", "default", "u", annotations=annotations, owner_references=[reference]))


@pytest.mark.parametrize("document", [JOB, VOLCANO_JOB], ids=["Job", "Volcano Job"])
@pytest.mark.parametrize(("owner", "is_present"), [("train", True), ("other", False)], ids=["present", "new"])
def test_workload_adds_its_objects_unless_it_is_present(
    document: dict[str, object], owner: str, is_present: bool
) -> None:
    found = submit([pod_of(owner)], expanded(document).objects, now=0.0)
    kinds = {type(each) for each in found.objects if each.metadata.name != "old"}
    assert kinds == (set() if is_present else {kube.Pod, kube.PodGroup})


def test_daemon_set_has_a_pod_for_every_node_of_the_cluster() -> None:
    document = workload("apps/v1", "DaemonSet", {"template": template()})
    node = kube.KubeNode(metadata=ObjectMeta("n1"))
    text = io.StringIO(msgspec.json.encode(document).decode())
    found = read_with_workloads(["-"], text, scheduler_names=("volcano",), beside=lambda objects: ClusterBeside([node]))
    assert [each.metadata.name for each in found.objects if isinstance(each, kube.Pod)] == ["train-n1"]
