"""The PodGroup and the pods of a Volcano Job are those that Volcano's job controller creates."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.kube.objects.storage import PersistentVolumeClaim
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.groups import group_of
from stromboli.workloads.families.volcano.tasks import pod_of_task, tasks_of
from tests.unit.workloads.inputs import expanded, groups_of, messages_of, pods_of, template, workload

QUEUE_LABELS = {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "default", "volcano.sh/queue-name": "q"}


def job(*tasks: dict[str, Any], uid: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"uid": uid} if uid else {}
    return workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": list(tasks), **spec}, metadata=metadata)


def task(name: str = "worker", replicas: int = 2, cpu: str = "1", **fields: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": template(cpu), **fields}


def test_pod_of_a_task_has_the_labels_annotations_and_owner_of_the_controller() -> None:
    document = WorkloadDocument(
        job(task(topologyPolicy="single-numa-node"), uid="7f", queue="q", priorityClassName="p")
    )
    pod = pod_of_task(document, tasks_of(document)[0], 1)
    assert pod["metadata"] == {
        "name": "train-worker-1",
        "namespace": "default",
        "labels": {**QUEUE_LABELS, "volcano.sh/task-spec": "worker", "volcano.sh/task-index": "1"},
        "annotations": {
            "scheduling.k8s.io/group-name": "train-7f",
            "volcano.sh/job-name": "train",
            "volcano.sh/job-retry-count": "0",
            "volcano.sh/job-version": "0",
            "volcano.sh/numa-topology-policy": "single-numa-node",
            "volcano.sh/queue-name": "q",
            "volcano.sh/task-index": "1",
            "volcano.sh/task-spec": "worker",
            "volcano.sh/template-uid": "train-worker",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "7f",
                "controller": True, "blockOwnerDeletion": True,
            }
        ],
    }  # fmt: skip
    assert (pod["spec"]["schedulerName"], pod["spec"]["priorityClassName"]) == ("volcano", "p")


TOPOLOGY = {"mode": "hard", "highestTierAllowed": 2}
PARTITIONS = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1, "networkTopology": TOPOLOGY}
SUB_GROUP = {
    "name": "worker",
    "subGroupSize": 2,
    "minSubGroups": 1,
    "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
    "matchLabelKeys": ["volcano.sh/partition-id"],
    "networkTopology": TOPOLOGY,
}
GROUPS = [
    ("defaults", job(task()), {"minMember": 2, "minTaskMember": {"worker": 2}, "queue": "default"}),
    ("minimum of the job", job(task(), minAvailable=1), {"minMember": 1, "minTaskMember": {"worker": 2}}),
    ("minimums of tasks", job(task(minAvailable=1), task("ps", 1)),
     {"minMember": 2, "minTaskMember": {"worker": 1, "ps": 1}}),
    ("unnamed tasks", job({"replicas": 1, "template": template()}), {"minTaskMember": {"default0": 1}}),
    ("network topology", job(task(), networkTopology=TOPOLOGY), {"networkTopology": TOPOLOGY}),
    ("tier by name", job(task(), networkTopology={"mode": "soft", "highestTierName": "rack"}),
     {"networkTopology": {"mode": "soft", "highestTierName": "rack"}}),
    ("partitions", job(task(replicas=4, partitionPolicy=PARTITIONS)),
     {"minMember": 2, "minTaskMember": {"worker": 2}, "subGroupPolicy": [SUB_GROUP]}),
    ("queue and priority", job(task(), queue="q", priorityClassName="p"), {"queue": "q", "priorityClassName": "p"}),
]  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), [case[1:] for case in GROUPS], ids=[case[0] for case in GROUPS])
def test_group_of_a_job(document: dict[str, Any], expected: dict[str, Any]) -> None:
    spec = group_of(WorkloadDocument(document))["spec"]
    assert {key: spec.get(key) for key in expected} == expected


RESOURCES = [
    ("all tasks", job(task(cpu="1"), task("ps", 1, "4")), "6"),
    ("first by priority", job(task(), {"replicas": 1, "template": template("4", priorityClassName="high")},
                              minAvailable=1), "4"),
    ("minimums before others", job(task(replicas=4, minAvailable=1), task("ps", 1, "4"), minAvailable=3), "6"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "cpu"), [case[1:] for case in RESOURCES], ids=[case[0] for case in RESOURCES])
def test_minimum_of_resources_is_that_of_the_first_pods(document: dict[str, Any], cpu: str) -> None:
    amounts = group_of(WorkloadDocument(document), {"high": 10, "": 0}.__getitem__)["spec"]["minResources"]
    assert (amounts["cpu"], amounts["requests.cpu"]) == (cpu, cpu)


def test_tasks_that_depend_on_others_have_no_pods_yet() -> None:
    manifests = expanded(job(task("master", 1), task(dependsOn={"name": ["master"]}), minAvailable=1))
    assert list(pods_of(manifests)) == ["train-master-0"]
    assert groups_of(manifests)["train"].spec.min_task_member == {"master": 1, "worker": 2}
    assert messages_of(manifests) == ["Job default/train: the pods of task worker are created when task master runs"]


def test_volumes_are_mounted_and_their_claims_created() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"mountPath": "/data", "volumeClaimName": "data"}, {"mountPath": "/out", "volumeClaim": claim}]
    manifests = expanded(job(task(replicas=1), volumes=volumes))
    volumes_of_pod = pods_of(manifests)["train-worker-0"].spec.volumes or ()
    claims = [each.persistent_volume_claim for each in volumes_of_pod]
    assert [each.claim_name if each else "" for each in claims] == ["data", "train-pvc-1"]
    assert [each.key for each in manifests.objects if isinstance(each, PersistentVolumeClaim)] == [
        "default/train-pvc-1"
    ]


LONG_CLAIM = f"{'data.' * 15}example"
MOUNTED = [
    ("several paths of a claim", [("data", "/a"), ("data", "/b"), ("out", "/c")], ["data", "out"],
     {"/own": "data", "/a": "job-volume-0", "/b": "job-volume-0", "/c": "job-volume-2"}),
    ("a name that no volume can have", [(LONG_CLAIM, "/a")], [LONG_CLAIM], {"/own": "data", "/a": "job-volume-0"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("volumes", "claims", "paths"), [case[1:] for case in MOUNTED], ids=[case[0] for case in MOUNTED]
)
def test_claims_are_mounted_at_their_paths(
    volumes: list[tuple[str, str]], claims: list[str], paths: dict[str, str]
) -> None:
    """The template has a volume that is called like a claim."""
    container = {"name": "main", "image": "example/main", "volumeMounts": [{"name": "data", "mountPath": "/own"}]}
    pod_template = {"spec": {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}}
    document = WorkloadDocument(
        job(
            {"name": "worker", "replicas": 1, "template": pod_template},
            volumes=[{"volumeClaimName": claim, "mountPath": path} for claim, path in volumes],
        )
    )
    spec = pod_of_task(document, tasks_of(document)[0], 0)["spec"]
    names = {each["name"]: (each.get("persistentVolumeClaim") or {}).get("claimName") for each in spec["volumes"]}
    mounts = spec["containers"][0]["volumeMounts"]
    assert {each["mountPath"]: each["name"] for each in mounts} == paths
    assert [name for name in names.values() if name] == claims
    assert (len(names), {each["name"] for each in mounts}) == (len(spec["volumes"]), set(names))


FLOW = "flow.volcano.sh/v1alpha1"


def test_job_of_a_flow_names_its_origin_and_has_the_patch_of_the_flow() -> None:
    patch = {"jobSpec": {"queue": "q", "tasks": [{"name": "worker", "replicas": 3}, task("more", 1)]}}
    flow = workload(FLOW, "JobFlow", {"flows": [{"name": "a", "patch": patch}]})
    job_template = workload(FLOW, "JobTemplate", {"tasks": [task()], "minAvailable": 1}, metadata={"name": "a"})
    manifests = expanded(flow, job_template)
    (group,) = groups_of(manifests).values()
    assert (group.metadata.name, group.spec.queue, group.spec.min_member) == ("train-a", "q", 4)
    assert (group.metadata.labels or {})["volcano.sh/createdByJobFlow"] == "default.train"
    assert list(pods_of(manifests)) == [*(f"train-a-worker-{index}" for index in range(3)), "train-a-more-0"]


BAD = [
    ("no task", job(), "Job train: spec.tasks: No task specified in job spec; write at least one task with a template"),
    ("no template", job({"name": "a", "replicas": 1}),
     "spec.tasks[0].template.spec: is missing; write the spec of its pods"),
    ("type", job({**task(), "replicas": "2"}),
     "spec.tasks[0].replicas: expected an integer, got a string; write a whole number"),
    ("negative", job(task(replicas=-1)), "spec.tasks[0].replicas: 'replicas' < 0 in task: worker; write 0 or more"),
    ("duplicate", job(task(), task()),
     "spec.tasks[1].name: duplicated task name worker, spec.tasks[0] has it already; rename one of them"),
    ("minimum of a task", job(task(minAvailable=3)),
     "spec.tasks[0].minAvailable: 'minAvailable' is greater than 'replicas' in task: 3 is above 2"),
    ("minimum of the job", job(task(), minAvailable=3),
     "spec.minAvailable: job 'minAvailable' should not be greater than total replicas: 3 is above 2"),
    ("unknown task", job(task(dependsOn={"name": ["ps"]})),
     "doesn't form a directed acyclic graph(DAG): task 'ps' does not exist"),
    ("too many", job(task(replicas=20_000)), "spec.tasks: 20000 pods are more than 10000"),
    ("container", job({**task(), "template": {"spec": {"containers": [{"name": 1}]}}}),
     "spec.tasks[0].template.spec.containers[0].name: expected a string"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_invalid_job_is_reported_with_its_field(document: dict[str, Any], message: str) -> None:
    manifests = expanded(document)
    assert not manifests.objects
    assert message in str(manifests.problems[0])
