"""Launchers of MPIJobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, groups_of, pods_of, template, workload

CASES = [
    ("by default", {}, {"train-launcher-0": None, "train-worker-0": "0", "train-worker-1": "1"}),
    ("as a worker", {"runLauncherAsWorker": True},
     {"train-launcher-0": "0", "train-worker-0": "1", "train-worker-1": "2"}),
    ("after the workers", {"launcherCreationPolicy": "WaitForWorkersReady"},
     {"train-worker-0": "0", "train-worker-1": "1"}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "indexes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_launcher_has_an_index_if_it_is_a_worker(spec: dict[str, Any], indexes: dict[str, str | None]) -> None:
    replicas = {"Launcher": {"template": template()}, "Worker": {"replicas": 2, "template": template()}}
    found = expanded(workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas, **spec}))
    labels = {name: pod.metadata.labels or {} for name, pod in pods_of(found).items()}
    assert {name: each.get("training.kubeflow.org/replica-index") for name, each in labels.items()} == indexes
    assert groups_of(found)["train"].spec.min_member == 3
