"""The nodes, resources and patches of TrainJobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, pods_of, template, workload

TRAINER = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def replicated(name: str, step: str = "", **fields: Any) -> dict[str, Any]:
    container = {"name": "node", "image": "example/main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    spec = {"template": template(containers=[container]), **fields}
    return {"name": name, "template": {"metadata": {"labels": {STEP: step} if step else {}}, "spec": spec}}


def runtime(*jobs: dict[str, Any], policy: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    fields = {"mlPolicy": policy or {}, "template": {"spec": {"replicatedJobs": list(jobs), **spec}}}
    return workload(TRAINER, "TrainingRuntime", fields, name="runtime")


def train_job(**spec: Any) -> dict[str, Any]:
    return workload(TRAINER, "TrainJob", {"runtimeRef": {"kind": "TrainingRuntime", "name": "runtime"}, **spec})


NODE, LAUNCHER = replicated("node"), replicated("launcher", "trainer")
MPI = {"mpi": {"mpiImplementation": "OpenMPI"}}
AS_NODE = {"mpi": {"runLauncherAsNode": True}}
NODES = [
    ("policy of the runtime", [replicated("node", "trainer")], {"numNodes": 3}, {}, {"node": 3}),
    ("number of the job", [replicated("node", "trainer")], {"numNodes": 3}, {"numNodes": 2}, {"node": 2}),
    ("another name", [replicated("work", "trainer"), replicated("load", "dataset-initializer", parallelism=2)],
     {}, {"numNodes": 2}, {"work": 2, "load": 2}),
    ("MPI", [NODE, LAUNCHER], {**MPI, "numNodes": 1}, {"numNodes": 4}, {"node": 4, "launcher": 1}),
    ("launcher as node", [NODE, LAUNCHER], {**AS_NODE, "numNodes": 1}, {"numNodes": 4}, {"node": 3, "launcher": 1}),
    ("launcher as only node", [NODE, LAUNCHER], {**AS_NODE, "numNodes": 1}, {"numNodes": 1},
     {"node": 1, "launcher": 1}),
    ("MPI without a number", [NODE, LAUNCHER], {**AS_NODE, "numNodes": 2}, {}, {"node": 1, "launcher": 2}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("jobs", "policy", "trainer", "numbers"), [case[1:] for case in NODES], ids=[c[0] for c in NODES]
)
def test_jobs_have_the_nodes_of_the_policy(
    jobs: list[Any], policy: dict[str, Any], trainer: dict[str, Any], numbers: dict[str, int]
) -> None:
    found = expanded(train_job(trainer=trainer), runtime(*jobs, policy=policy))
    names = [name.split("-")[1] for name in pods_of(found)]
    assert (found.problems, {name: names.count(name) for name in names}) == ([], numbers)


def test_resources_of_a_job_are_added_to_those_of_the_runtime() -> None:
    trainer = {"resourcesPerNode": {"requests": {"cpu": "4"}, "limits": {"nvidia.com/gpu": 1}}}
    pods = pods_of(expanded(train_job(trainer=trainer), runtime(NODE, LAUNCHER, policy=AS_NODE)))
    resources = {name: (pod.spec.containers or [])[0].resources for name, pod in pods.items()}
    for each in resources.values():
        assert each is not None
        assert (each.requests, each.limits) == ({"cpu": "4", "memory": "1Gi"}, {"nvidia.com/gpu": 1})
    assert len(resources) == 2


def test_patches_change_the_templates_of_their_job() -> None:
    of_node = {
        "name": "node",
        "template": {
            "spec": {
                "template": {
                    "metadata": {"labels": {"team": "a"}},
                    "spec": {"nodeSelector": {"disk": "ssd"}, "priorityClassName": "urgent"},
                }
            }
        },
    }
    patch = {"manager": "m", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [of_node]}}}}
    found = pods_of(expanded(train_job(runtimePatches=[patch]), runtime(replicated("node", "trainer"), LAUNCHER)))
    pod, other = found["train-node-0-0"], found["train-launcher-0-0"]
    assert (pod.spec.node_selector, pod.spec.priority_class_name) == ({"disk": "ssd"}, "urgent")
    assert (pod.metadata.labels or {})["team"] == "a"
    assert (other.spec.node_selector, other.spec.priority_class_name) == (None, None)


def test_exclusive_topology_of_a_job_counts_for_its_job_set() -> None:
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    job = train_job(annotations={key: "rack"}, trainer={"numNodes": 2})
    found = pods_of(expanded(job, runtime(replicated("node", "trainer"))))
    assert list(found) == ["train-node-0-0"]
    assert (found["train-node-0-0"].metadata.annotations or {})[key] == "rack"
