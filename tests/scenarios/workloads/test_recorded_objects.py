"""Expanded pods have the labels and annotations of the objects that the tests of operators create."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stromboli import kube
from tests.scenarios.workloads.published import read

CASES = Path(__file__).parents[2] / "e2e" / "operators"
#: Case and manifest, and keys that depend on the cluster, or that the case has of its own.
RECORDED = {
    "volcano-job": ("volcano-job", set()),
    "training-operator": ("pytorch-job", {"example.com/team"}),
    "mpi-operator": ("mpi-job", set()),
    "kuberay": ("ray-cluster", {"example.com/owner", "ray.io/ft-enabled"}),
    "kuberay-job": ("ray-job", {"ray.io/originated-from-cr-name", "stromboli.dev/run-seconds"}),
    "spark-operator": ("spark-application", {"spark-app-selector"}),
    "leader-worker-set": (
        "leader-worker-set", {"leaderworkerset.sigs.k8s.io/template-revision-hash", "role"}),
    "trainer": ("train-job", set()),
    "jobset": ("job-set", {"scheduling.volcano.sh/queue-name"}),
    "argo-workflows": ("workflow", {"kubectl.kubernetes.io/default-container"}),
}  # fmt: skip


def recorded_pods(case: str) -> Iterator[dict[str, Any]]:
    """Yield the metadata of the pods of a case, and of the templates of its Jobs and StatefulSets."""
    document = yaml.safe_load((CASES / case / "case.yaml").read_text())
    for step in document["steps"]:
        created = step.get("create") or {}
        if created.get("kind") == "Pod":
            yield created["metadata"]
        elif created.get("kind") in ("Job", "StatefulSet") and "template" in created["spec"]:
            yield created["spec"]["template"].get("metadata", {})


@pytest.mark.parametrize("case", RECORDED)
def test_pods_have_the_keys_of_the_recorded_ones(case: str) -> None:
    manifest, others = RECORDED[case]
    pods = [each.metadata for each in read(manifest).objects if isinstance(each, kube.Pod)]
    assert pods
    for part in ("labels", "annotations"):
        recorded = {key for each in recorded_pods(case) for key in each.get(part) or {}}
        expanded = {key for each in pods for key in getattr(each, part) or {}}
        assert recorded - expanded - others == set()
