"""Workloads of a cluster are not counted twice: their pods are objects of their own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.inputs import expanded, groups_of, messages_of, pods_of, template, workload

UID = {"uid": "7f"}
RUNNING = {"replicas": 2, "readyReplicas": 2}


def owned(kind: str, name: str, by: dict[str, Any] | None, *, uid: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"uid": uid} if uid else {}), "ownerReferences": [by] if by else []}
    return {"apiVersion": "v1", "kind": kind, **fields, "metadata": {**fields.get("metadata", {}), **metadata}}


def reference(kind: str, name: str, uid: str = "7f") -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def pod(name: str, by: dict[str, Any] | None, **metadata: Any) -> dict[str, Any]:
    return owned("Pod", name, by, metadata=metadata, spec=template()["spec"])


JOB = {"parallelism": 2, "template": template()}
PRESENT, SUBMITTED = workload("batch/v1", "Job", JOB, metadata=UID), workload("batch/v1", "Job", JOB)
LABELLED = {"replicas": 2, "template": {**template(), "metadata": {"labels": {"app": "web"}}}}
DEPLOYMENT = workload("apps/v1", "Deployment", LABELLED, metadata=UID, status=RUNNING)
REPLICA_SET = {
    **workload("apps/v1", "ReplicaSet", LABELLED, metadata={"name": "train-5d", "uid": "rs"}, status=RUNNING),
}
REPLICA_SET["metadata"]["ownerReferences"] = [reference("Deployment", "train")]
VOLCANO = workload(
    "batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "a", "replicas": 1, "template": template()}]}, metadata=UID
)
GROUP = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "train-7f"},
    "spec": {"minMember": 1, "queue": "own"},
}
CASES = [
    ("pod by uid", [PRESENT, pod("x", reference("Job", "train"))], ["x"]),
    ("pod of an earlier object", [PRESENT, pod("x", reference("Job", "train", "1"))], ["train-0", "train-1", "x"]),
    ("pod by name", [SUBMITTED, pod("x", reference("Job", "train"))], ["x"]),
    ("pod of another job", [SUBMITTED, pod("x", reference("Job", "other"))], ["train-0", "train-1", "x"]),
    ("pod with the same name", [SUBMITTED, pod("train-0", None)], ["train-0", "train-1"]),
    ("replica set and its pods", [DEPLOYMENT, REPLICA_SET, pod("a", reference("ReplicaSet", "train-5d", "rs"))], ["a"]),
    ("pods without their replica set",
     [DEPLOYMENT, pod("a", reference("ReplicaSet", "gone", "rs"), labels={"app": "web"})], ["a"]),
    ("counted pods", [workload("batch/v1", "Job", JOB, status={"active": 1})], []),
    ("started at once", [workload("batch/v1", "Job", JOB, status={"active": 0})], ["train-0", "train-1"]),
    ("ended by condition",
     [workload("batch/v1", "Job", JOB, status={"conditions": [{"type": "Failed", "status": "True"}]})], []),
    ("ended by state", [{**VOLCANO, "status": {"state": {"phase": "Completed"}}}], []),
    ("cron job of a cluster",
     [workload("batch/v1", "CronJob", {"jobTemplate": {"spec": JOB}}, status={"lastScheduleTime": "x"})], []),
    ("unknown kind with pods",
     [workload("example.com/v1", "Foo", JOB, metadata=UID), pod("x", reference("Foo", "train"))], ["x"]),
]  # fmt: skip


@pytest.mark.parametrize(("documents", "pods"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_pods_are_counted_once(documents: list[dict[str, Any]], pods: list[str]) -> None:
    found = expanded(*documents)
    assert (sorted(pods_of(found)), found.problems, found.unjudged) == (pods, [], [])


def test_group_in_the_input_replaces_the_one_of_the_workload() -> None:
    found = expanded(VOLCANO, GROUP)
    assert list(pods_of(found)) == ["train-a-0"]
    assert {name: each.spec.queue for name, each in groups_of(found).items()} == {"train-7f": "own"}


def test_workloads_whose_pods_have_the_same_names_are_named_by_kind() -> None:
    found = expanded(workload("batch/v1", "Job", JOB), workload("apps/v1", "StatefulSet", LABELLED))
    assert sorted(pods_of(found)) == ["train-0", "train-1", "train-statefulset-0", "train-statefulset-1"]
    assert any("it is shown as train-statefulset, because Job default/train" in each for each in messages_of(found))


def test_of_two_workloads_with_the_same_name_the_later_counts() -> None:
    found = expanded(workload("batch/v1", "Job", JOB), workload("batch/v1", "Job", {**JOB, "parallelism": 1}))
    assert list(pods_of(found)) == ["train-0"]
    assert any("Job default/train replaces the one in" in each for each in found.notes)


RUN_TIME = "scheduling.stromboli.dev/run-time"
ARRIVAL = "scheduling.stromboli.dev/arrives-after"
TIMES = [
    ("deadline of a Job", workload("batch/v1", "Job", {**JOB, "activeDeadlineSeconds": 90}), {RUN_TIME: "90s"}),
    ("estimate of a Volcano Job", {**VOLCANO, "spec": {**VOLCANO["spec"], "runningEstimate": "1h"}}, {RUN_TIME: "1h"}),
    ("annotations", workload("batch/v1", "Job", {**JOB, "activeDeadlineSeconds": 90},
                             metadata={"annotations": {RUN_TIME: "5m", ARRIVAL: "1h"}}),
     {RUN_TIME: "5m", ARRIVAL: "1h"}),
]  # fmt: skip


@pytest.mark.parametrize(("document", "times"), [case[1:] for case in TIMES], ids=[case[0] for case in TIMES])
def test_pods_have_the_times_that_their_workload_declares(document: dict[str, Any], times: dict[str, str]) -> None:
    found = expanded(document)
    for each in pods_of(found).values():
        annotations = each.metadata.annotations or {}
        assert {key: annotations.get(key) for key in (RUN_TIME, ARRIVAL) if key in annotations} == times
