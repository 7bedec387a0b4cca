"""Workloads without pods at present, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, messages_of, pods_of, template, workload

JOB = {"template": template()}
MPI = {"mpiReplicaSpecs": {"Launcher": {"template": template()}}}
KUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}
CASES = [
    (workload("batch/v1", "Job", {**JOB, "suspend": True}), "is suspended"),
    (workload("apps/v1", "Deployment", {**JOB, "paused": True}), "is paused"),
    (workload("kubeflow.org/v2beta1", "MPIJob", {**MPI, "runPolicy": {"suspend": True}}), "is suspended"),
    (workload("batch/v1", "Job", {**JOB, "managedBy": "example.com/runner"}), "is managed by example.com/runner"),
    (workload("kubeflow.org/v2beta1", "MPIJob", {**MPI, "runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}),
     "is managed by kueue.x-k8s.io/multikueue"),
    (workload("batch/v1", "Job", {**JOB, "managedBy": "kubernetes.io/job-controller"}), ""),
    (workload("kubeflow.org/v2beta1", "MPIJob", {**MPI, "runPolicy": {"managedBy": "kubeflow.org/mpi-operator"}}), ""),
    (workload("batch/v1", "Job", {**JOB, "suspend": True}, metadata=KUEUE), ""),
    (workload("batch/v1", "Job", {**JOB, "suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}, metadata=KUEUE),
     "is managed by kueue.x-k8s.io/multikueue"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "reason"), CASES)
def test_workload_without_pods_has_a_reason(document: dict[str, Any], reason: str) -> None:
    found = expanded(document)
    assert found.inactive == ({f"{document['kind']} default/train": reason} if reason else {})
    assert bool(pods_of(found)) == (not reason)
    assert [f"it {reason} and creates no pods" in each for each in messages_of(found)].count(True) == bool(reason)


def test_template_that_no_workload_names_has_a_reason() -> None:
    spec = {"tasks": [{"name": "main", "replicas": 1, "template": template()}]}
    names = ("named", "later", "other")
    templates = [workload("flow.volcano.sh/v1alpha1", "JobTemplate", spec, name=name) for name in names]
    flows = [{"name": "named"}, {"name": "later", "dependsOn": {"targets": ["named"]}}]
    flow = workload("flow.volcano.sh/v1alpha1", "JobFlow", {"flows": flows}, name="flow")
    found = expanded(*templates, flow)
    assert found.inactive == {"JobTemplate default/other": "is a template that no workload of the input names"}
    assert list(pods_of(found)) == ["flow-named-main-0"]


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        ({}, "its queue research is Kueue's; it is planned as if Kueue had admitted it, with any flavor"),
        ({"kueue.x-k8s.io/priority-class": "low"}, "its queue research and priority class low are Kueue's"),
    ],
)
def test_workload_of_kueue_is_planned_as_admitted(labels: dict[str, str], note: str) -> None:
    metadata = {"labels": {**KUEUE["labels"], **labels}}
    found = expanded(workload("batch/v1", "Job", {**JOB, "suspend": True}, metadata=metadata))
    assert (list(pods_of(found)), note in str(messages_of(found))) == (["train-0"], True)
    nightly = workload(
        "batch/v1", "CronJob", {"schedule": "0 3 * * *", "jobTemplate": {"metadata": metadata, "spec": JOB}}
    )
    assert note in str(messages_of(expanded(nightly)))


CREATED = [
    (workload("ray.io/v1", "RayCronJob", {"schedule": "0 3 * * *", "jobTemplate": {"suspend": True}}), "RayJob"),
    (workload("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": [
        {"template": workload("batch/v1", "Job", {**JOB, "suspend": True}, name="inner")}]}), "Job"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "kind"), CREATED)
def test_created_workload_that_is_suspended_has_no_pods(document: dict[str, Any], kind: str) -> None:
    found = expanded(document)
    assert (found.problems, pods_of(found)) == ([], {})
    assert f"the {kind} that it creates is suspended" in str(messages_of(found))


@pytest.mark.parametrize(
    ("name", "note"),
    [
        (None, ["its pods have the schedulerName default-scheduler, so its PodGroups wait without them"]),
        ("kube-batch", ["its pods have the schedulerName kube-batch, so its PodGroups wait without them"]),
        ("volcano", []),
    ],
)
def test_pods_of_another_scheduler_are_noted_with_their_group(name: str | None, note: list[str]) -> None:
    spec = {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template(schedulerName=name)}}
    messages = messages_of(expanded(workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)))
    assert [each.partition(": ")[2] for each in messages if "schedulerName" in each] == note
