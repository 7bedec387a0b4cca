"""Invalid workloads are reported with object, field and remedy, and add nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, pods_of, template, workload

KUBEFLOW, RAY, ARGO = "kubeflow.org/v1", "ray.io/v1", "argoproj.io/v1alpha1"
TRAINER, SPARK, JOB_SET = "trainer.kubeflow.org/v1alpha1", "sparkoperator.k8s.io/v1beta2", "jobset.x-k8s.io/v1alpha2"
LWS, FLOW = "leaderworkerset.x-k8s.io/v1", "flow.volcano.sh/v1alpha1"
HEAD = {"headGroupSpec": {"template": template()}}
CASES = [
    (workload("apps/v1", "Deployment", {"replicas": -1, "template": template()}),
     "spec.replicas: must be from 0 to 2147483647, got -1; write the number of pods"),
    (workload("apps/v1", "StatefulSet", {"template": template(), "volumeClaimTemplates": [{}]}),
     "spec.volumeClaimTemplates[0].metadata.name: is missing; write the name of a volume"),
    (workload("apps/v1", "DaemonSet", {"template": {"spec": {"containers": [], "tolerations": 3}}}),
     "spec.template.spec.tolerations: expected a list, got an integer"),
    (workload("batch/v1", "CronJob", {"jobTemplate": {"spec": {}}}),
     "spec.jobTemplate.spec.template.spec: is missing; write the spec of its pods"),
    (workload("batch/v1", "Job", {"suspend": "yes", "template": template()}),
     "spec.suspend: expected a boolean, got a string; write true or false"),
    (workload(KUBEFLOW, "PyTorchJob", {}),
     "spec.pytorchReplicaSpecs: is missing; write replicas and template of Master and Worker"),
    (workload(KUBEFLOW, "TFJob", {"tfReplicaSpecs": {"Worker": {"replicas": "2", "template": template()}}}),
     "spec.tfReplicaSpecs.Worker.replicas: expected an integer, got a string"),
    (workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Worker": {"template": template()}}}),
     "spec.mpiReplicaSpecs.Launcher: is missing"),
    (workload(TRAINER, "TrainJob", {"runtimeRef": {"name": "torch"}}),
     "spec.runtimeRef.name: ClusterTrainingRuntime torch is not in the input; add the ClusterTrainingRuntime"),
    (workload(JOB_SET, "JobSet", {"replicatedJobs": [{"template": {}}]}),
     "spec.replicatedJobs[0].name: is missing; write the name of the Jobs"),
    (workload(LWS, "LeaderWorkerSet", {"leaderWorkerTemplate": {"size": 0}}),
     "spec.leaderWorkerTemplate.size: must be at least 1, got 0"),
    (workload(RAY, "RayJob", {}),
     "spec.rayClusterSpec: is missing; write the spec of its cluster, or a clusterSelector"),
    (workload(RAY, "RayCluster", {**HEAD, "workerGroupSpecs": [{"template": template()}]}),
     "spec.workerGroupSpecs[0].groupName: is missing; write the name of the group"),
    (workload(RAY, "RayCluster", HEAD, metadata={"labels": {
        "volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier-allowed": "x"}}),
     "metadata.labels[volcano.sh/network-topology-highest-tier-allowed]: 'x' is not a number"),
    (workload(SPARK, "SparkApplication", {"driver": {"memory": "1 gig"}}),
     "spec.driver.memory: '1 gig' is not a size of Java; write one such as 512m or 4g"),
    (workload(SPARK, "SparkApplication", {"memoryOverheadFactor": "much"}),
     "spec.memoryOverheadFactor: 'much' is not a number"),
    (workload(ARGO, "Workflow", {"entrypoint": "main", "templates": [{"name": "other"}]}),
     "spec.templates: template main does not exist; add it, or correct the name"),
    (workload(ARGO, "Workflow", {"workflowTemplateRef": {"name": "etl"}}),
     "spec.workflowTemplateRef: WorkflowTemplate etl is not in the input; add the WorkflowTemplate"),
    (workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "a/b", "replicas": 1, "template": template()}]}),
     "spec.tasks[0].name: 'a/b': a lowercase RFC 1123 label must consist of lower case alphanumeric"),
    (workload(FLOW, "JobFlow", {"flows": [{"name": "a"}]}),
     "spec.flows[0].name: JobTemplate a is not in the input; add the JobTemplate"),
    (workload("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"kind": "Runtime", "name": "torch"}}),
     "spec.runtimeRef.kind: Runtime is not a kind of runtime; write TrainingRuntime or ClusterTrainingRuntime"),
    (workload("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": template()}}}),
     "spec.schedule: is missing; write a schedule such as '0 3 * * *'"),
    (workload("batch/v1", "CronJob", {"schedule": "* * * *", "jobTemplate": {"spec": {"template": template()}}}),
     "spec.schedule: '* * * *' does not have five fields"),
    (workload("batch/v1", "CronJob", {"schedule": "0 0 30 2 *", "jobTemplate": {"spec": {"template": template()}}}),
     "spec.schedule: '0 0 30 2 *' has no next run; write a date that exists"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), CASES, ids=[f"{case[0]['kind']}: {case[1][:40]}" for case in CASES])
def test_invalid_workload_is_reported_with_its_field_and_adds_nothing(document: dict[str, Any], message: str) -> None:
    good = workload("batch/v1", "Job", {"template": template()}, metadata={"name": "good"})
    found = expanded(document, good)
    assert [f": {message}" in str(each) for each in found.problems] == [True], list(map(str, found.problems))
    assert list(pods_of(found)) == ["good-0"]


def test_workflow_that_calls_itself_twice_is_planned_to_a_depth() -> None:
    steps = [[{"name": "again", "template": "main"}, {"name": "more", "template": "main"}]]
    spec = {"entrypoint": "main", "templates": [{"name": "main", "steps": steps}]}
    found = expanded(workload(ARGO, "Workflow", spec))
    assert (found.problems, pods_of(found)) == ([], {})
    assert "nested too deeply" in found.notes[0]
