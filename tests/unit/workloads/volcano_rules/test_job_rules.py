"""Every rule for Volcano Jobs: one damaged Job, and the finding with field and remedy."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stromboli.kube.manifests.origins import path_of
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.jobs import job_findings

MISSING = object()


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "main", "image": "busybox", **fields}


def template(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers) or [container()], **spec}}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def job() -> dict[str, Any]:
    tasks = [
        {"name": "ps", "replicas": 1, "template": template()},
        {
            "name": "worker",
            "replicas": 4,
            "minAvailable": 2,
            "dependsOn": {"name": ["ps"], "iteration": "any"},
            "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
            "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
            "template": template(restartPolicy="OnFailure"),
        },
    ]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team"},
        "spec": {
            "minAvailable": 3,
            "minSuccess": 1,
            "maxRetry": 0,
            "policies": [
                {"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"},
                {"event": "PodPending", "action": "AbortJob", "timeout": "1h30m"},
                {"exitCode": 3, "action": "TerminateJob"},
            ],
            "volumes": [
                {"mountPath": "/data", "volumeClaimName": "data"},
                {"mountPath": "/out", "volumeClaim": CLAIM},
            ],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
            "tasks": tasks,
        },
    }  # fmt: skip


def changed(document: dict[str, Any], changes: dict[str, Any]) -> WorkloadDocument:
    """Set values by path; MISSING removes them."""
    document = copy.deepcopy(document)
    for path, value in changes.items():
        *above, last = path_of(path)
        part: Any = document
        for step in above:
            part = part.setdefault(step, {}) if isinstance(part, dict) else part[step]
        if value is MISSING:
            del part[last]
        else:
            part[last] = value
    return WorkloadDocument(document)


def findings_after(changes: dict[str, Any]) -> list[RuleFinding]:
    return job_findings(changed(job(), changes))


def test_valid_job_has_no_findings() -> None:
    assert findings_after({}) == []
    assert findings_after({"spec.tasks[0].maxRetry": -1}) == []


WORKER, POLICY = "spec.tasks[1]", "spec.policies[0]"
MAIN = "spec.tasks[0].template.spec.containers[0]"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "long name": ({"metadata.name": "a" * 64}, "metadata.name: is longer than 63 characters, and the pods could not"),
    "name": ({"metadata.name": "Train"}, "metadata.name: 'Train': a lowercase RFC 1123 subdomain must consist of"),
    "name that makes names of pods too long": (
        {"metadata.name": "a" * 60, WORKER: MISSING, "spec.minAvailable": 1},
        f"spec.tasks[0].name: the name of its last pod, {'a' * 60}-ps-0, is longer than 63 characters; write a shorter",
    ),
    "generated name that makes names of pods too long": (
        {"metadata.name": "", "metadata.generateName": "a" * 58, WORKER: MISSING, "spec.minAvailable": 1},
        "spec.tasks[0].name: the name of its last pod, *-ps-0, is longer than 63 characters",
    ),
    "no tasks": ({"spec.tasks": [], "spec.minAvailable": 0, "spec.minSuccess": MISSING}, "spec.tasks: No task specifi"),
    "name of a task": ({"spec.tasks[1].name": "Work_er"}, "spec.tasks[1].name: 'Work_er': a lowercase RFC 1123 label"),
    "equal names of tasks": (
        {"spec.tasks[0].name": "worker", "spec.tasks[1].dependsOn": MISSING},
        "spec.tasks[1].name: duplicated task name worker, spec.tasks[0] has it already; rename one of them",
    ),
    "name equal to a default": (
        {"spec.tasks[0].name": "", "spec.tasks[1].name": "default0", "spec.tasks[1].dependsOn": MISSING},
        "spec.tasks[1].name: duplicated task name default0",
    ),
    "negative replicas": ({"spec.tasks[0].replicas": -1}, "spec.tasks[0].replicas: 'replicas' < 0 in task: ps; write"),
    "replicas beyond a number of 32 bits": (
        {"spec.tasks[0].replicas": 2**31}, "spec.tasks[0].replicas: must be from 0 to 2147483647, got 2147483648",
    ),
    "negative minimum of a task": (
        {"spec.tasks[0].minAvailable": -1}, "spec.tasks[0].minAvailable: 'minAvailable' < 0 in task: ps; write 0 or mo",
    ),
    "negative minimum of the job": ({"spec.minAvailable": -1}, "spec.minAvailable: job 'minAvailable' must be >= 0; w"),
    "minimum of a task": (
        {"spec.tasks[0].minAvailable": 2}, "spec.tasks[0].minAvailable: 'minAvailable' is greater than 'replicas' in t",
    ),
    "minimum of the job": (
        {"spec.minAvailable": 6}, "spec.minAvailable: job 'minAvailable' should not be greater than total replicas: 6",
    ),
    "more replicas than pods of a cluster": (
        {"spec.tasks[0].replicas": 149_997}, "spec.tasks: the replicas of all tasks are 150001, above 150000, the most",
    ),
    "too many successes": ({"spec.minSuccess": 6}, "spec.minSuccess: 6 is not from 1 to the total replicas, 5"),
    "no success": ({"spec.minSuccess": 0}, "spec.minSuccess: 0 is not from 1 to the total replicas, 5"),
    "negative retries": ({"spec.maxRetry": -1}, "spec.maxRetry: 'maxRetry' cannot be less than zero; write 0 or more"),
    "negative retries of a task": ({"spec.tasks[0].maxRetry": -2}, "spec.tasks[0].maxRetry: must be from 0 to"),
    "negative ttl": (
        {"spec.ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished: 'ttlSecondsAfterFinished' cannot be less",
    ),
    "type of a limit": ({"spec.maxRetry": "3"}, "spec.maxRetry: expected an integer, got a string; write a whole numb"),
    "unknown dependency": (
        {"spec.tasks[1].dependsOn.name": ["lost"]}, "spec.tasks[1].dependsOn.name[0]: job has dependencies between tas",
    ),
    "dependency on itself": (
        {"spec.tasks[1].dependsOn.name": ["worker"]},
        "spec.tasks: job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG): "
        "worker depends on worker; remove one of these dependencies",
    ),
    "circular dependencies": (
        {"spec.tasks[0].dependsOn": {"name": ["worker"]}}, "spec.tasks: job has dependencies between tasks, but doesn'",
    ),
    "iteration": ({"spec.tasks[1].dependsOn.iteration": "some"}, "spec.tasks[1].dependsOn.iteration: 'some' is neithe"),
    "event and exit code": (
        {f"{POLICY}.exitCode": 1}, "spec.policies[0]: must not specify event and exitCode simultaneously; write two",
    ),
    "neither event nor exit code": (
        {f"{POLICY}.events": []}, "spec.policies[0]: either event and exitCode should be specified; write one of both",
    ),
    "event of the controller": (
        {f"{POLICY}.events": ["CommandIssued"]}, "spec.policies[0].event: 'CommandIssued' is an invalid policy event",
    ),
    "action of the controller": (
        {f"{POLICY}.action": "SyncJob"}, "spec.policies[0].action: 'SyncJob' is an invalid policy action; use one of",
    ),
    "action of a policy for an exit code": (
        {"spec.policies[2].action": "CloseQueue"}, "spec.policies[2].action: 'CloseQueue' is an invalid policy action",
    ),
    "no action": ({"spec.policies[2].action": MISSING}, "spec.policies[2].action: is missing; use one of AbortJob"),
    "equal events": (
        {"spec.policies[1].event": "PodFailed"},
        "spec.policies[1].event: duplicate event PodFailed: spec.policies[0] has it already; remove one of them",
    ),
    "any event and others": (
        {f"{POLICY}.events": ["*"]}, "spec.policies[0]: if there's * here, no other policy should be here, because",
    ),
    "success as exit code": ({"spec.policies[2].exitCode": 0}, "spec.policies[2].exitCode: 0 is not a valid error cod"),
    "equal exit codes": (
        {f"{POLICY}.events": [], f"{POLICY}.exitCode": 3}, "spec.policies[2].exitCode: duplicate exitCode 3: spec.poli",
    ),
    "policy of a task": ({"spec.tasks[1].policies[0].action": "x"}, "spec.tasks[1].policies[0].action: 'x' is an inva"),
    "timeout": ({"spec.policies[1].timeout": "soon"}, "spec.policies[1].timeout: 'soon' is not a duration; write one"),
    "no path of a volume": ({"spec.volumes[0].mountPath": ""}, "spec.volumes[0].mountPath: mountPath is required; wri"),
    "equal paths of volumes": (
        {"spec.volumes[1].mountPath": "/data"}, "spec.volumes[1].mountPath: duplicated mountPath: /data, spec.volumes[",
    ),
    "path with a colon": ({"spec.volumes[0].mountPath": "c:/data"}, "spec.volumes[0].mountPath: 'c:/data' contains ':"),
    "no claim": (
        {"spec.volumes[0].volumeClaimName": ""}, "spec.volumes[0]: either VolumeClaim or VolumeClaimName must be speci",
    ),
    "name of a claim": (
        {"spec.volumes[0].volumeClaimName": "my data"}, "spec.volumes[0].volumeClaimName: 'my data': a lowercase",
    ),
    "claim without access modes": (
        {"spec.volumes[1].volumeClaim.accessModes": []}, "spec.volumes[1].volumeClaim.accessModes: is missing; write a",
    ),
    "claim without size": (
        {"spec.volumes[1].volumeClaim.resources": MISSING}, "spec.volumes[1].volumeClaim.resources.requests.storage: i",
    ),
    "partitions that are not the replicas": (
        {"spec.tasks[1].partitionPolicy.totalPartitions": 3},
        "spec.tasks[1].partitionPolicy: 3 partitions of 2 pods are 6 pods, but the task has 4 replicas; write",
    ),
    "no partitions": (
        {"spec.tasks[1].partitionPolicy.totalPartitions": 0, "spec.tasks[1].partitionPolicy.minPartitions": 0},
        "spec.tasks[1].partitionPolicy.totalPartitions: must be greater than 0; write at least 1",
    ),
    "more partitions than all": (
        {"spec.tasks[1].partitionPolicy.minPartitions": 3, "spec.tasks[1].minAvailable": 4},
        "spec.tasks[1].partitionPolicy.minPartitions: 3 is more than totalPartitions, 2",
    ),
    "minimum that is not that of the partitions": (
        {"spec.tasks[1].minAvailable": 3}, "spec.tasks[1].minAvailable: is 3, but 1 partitions of 2 pods are 2; remove",
    ),
    "mode of the topology": (
        {"spec.networkTopology.mode": "firm"}, "spec.networkTopology.mode: 'firm' is not a mode; use one of hard, soft",
    ),
    "tier by number and by name": (
        {"spec.networkTopology.highestTierName": "rack"},
        "spec.networkTopology: both a tier number and a tier name are set; keep highestTierAllowed or highestTierName",
    ),
    "tier of partitions": (
        {"spec.tasks[1].partitionPolicy.networkTopology": {"mode": 3}},
        "spec.tasks[1].partitionPolicy.networkTopology.mode: expected a string, got an integer",
    ),
    "NUMA policy": ({"spec.tasks[0].topologyPolicy": "tight"}, "spec.tasks[0].topologyPolicy: 'tight' is not a policy"),
    "NUMA policy without whole processors": (
        {"spec.tasks[0].topologyPolicy": "restricted", f"{MAIN}.resources": {"limits": {"cpu": "500m"}}},
        f"{MAIN}.resources.requests.cpu: the cpu request isn't an integer: 500m; write a whole number",
    ),
    "NUMA policy without limit": (
        {"spec.tasks[0].topologyPolicy": "restricted", f"{MAIN}.resources": {"requests": {"cpu": 2}}},
        f"{MAIN}.resources.limits.cpu: the cpu request is not equal to the limit; write 2",
    ),
    "no template": ({"spec.tasks[0].template": MISSING}, "spec.tasks[0].template.spec: is missing; write the spec of"),
    "no containers": (
        {"spec.tasks[0].template.spec.containers": []}, "spec.tasks[0].template.spec.containers: is missing; write at",
    ),
    "no image": ({f"{MAIN}.image": MISSING}, f"{MAIN}.image: is missing; write the image of the container"),
    "no name of a container": ({f"{MAIN}.name": ""}, f"{MAIN}.name: is missing; write a name"),
    "name of a container": ({f"{MAIN}.name": "Main"}, f"{MAIN}.name: 'Main': a lowercase RFC 1123 label must"),
    "equal names of containers": (
        {"spec.tasks[0].template.spec.initContainers": [container()]},
        f"{MAIN}.name: spec.tasks[0].template.spec.initContainers[0] is called main, too; rename one of them",
    ),
    "restart policy": (
        {"spec.tasks[0].template.spec.restartPolicy": "Sometimes"},
        "spec.tasks[0].template.spec.restartPolicy: 'Sometimes' is not a restart policy; use one of Always, OnFailure,",
    ),
    "mount of an unknown volume": (
        {f"{MAIN}.volumeMounts": [{"name": "cache", "mountPath": "/cache"}]},
        f"{MAIN}.volumeMounts[0].name: volume 'cache' does not exist; add it to the template's volumes",
    ),
    "mount of a claim by its name": (
        {
            "spec.volumes": [{"mountPath": "/data", "volumeClaimName": "data"}],
            f"{MAIN}.volumeMounts": [{"name": "data", "mountPath": "/cache"}],
        },
        f"{MAIN}.volumeMounts[0].name: volume 'data' does not exist; add it to the template's volumes",
    ),
    "negative request": (
        {f"{MAIN}.resources": {"requests": {"memory": "-1"}, "limits": {"memory": "1Gi"}}},
        f"{MAIN}.resources.requests.memory: \"-1\" is negative; a quantity is zero or more",
    ),
    "negative limit": (
        {f"{MAIN}.resources": {"requests": {"cpu": 1}, "limits": {"cpu": -1}}},
        f"{MAIN}.resources.limits.cpu: the number is negative; a quantity is zero or more",
    ),
    "request above the limit": (
        {f"{MAIN}.resources": {"requests": {"cpu": 2}, "limits": {"cpu": "1500m"}}},
        f"{MAIN}.resources.requests.cpu: 2 is more than the limit, 1500m; lower it, or raise the limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=CASES)
def test_invalid_job_has_one_finding_with_field_and_remedy(changes: dict[str, Any], expected: str) -> None:
    found = findings_after(changes)
    assert [str(each)[: len(expected)] for each in found] == [expected], list(map(str, found))
    assert not found[0].is_warning
    assert found[0].remedy


WARNINGS: dict[str, tuple[dict[str, Any], str]] = {
    "event without effect": (
        {f"{POLICY}.events": ["OutOfSync"]}, "spec.policies[0].event: policies for OutOfSync have no effect: the"),
    "pending without timeout": ({"spec.policies[1].timeout": ""}, "spec.policies[1].timeout: is missing, so that"),
    "named claim with template": (
        {"spec.volumes[1].volumeClaimName": "out"}, "spec.volumes[1].volumeClaim: is not used: the volume is that of c",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), WARNINGS.values(), ids=WARNINGS)
def test_suspicious_job_has_a_warning(changes: dict[str, Any], expected: str) -> None:
    found = findings_after(changes)
    assert [(str(each)[: len(expected)], each.is_warning) for each in found] == [(expected, True)]


def test_all_findings_are_reported_at_once() -> None:
    changes = {"spec.minSuccess": 9, "spec.tasks[0].name": 3, "spec.policies[0].action": "x", f"{MAIN}.image": ""}
    fields = {each.field for each in findings_after(changes)}
    assert fields == {"spec.minSuccess", "spec.tasks[0].name", "spec.policies[0].action", f"{MAIN}.image"}
