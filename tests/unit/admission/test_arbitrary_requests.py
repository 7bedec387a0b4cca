"""Whatever is sent, there is an answer; and whatever we hand out as an example comes in as it is."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.admission.defaults import patch_for
from stromboli.admission.facts import Facts
from stromboli.admission.requests import (
    GroupKind,
    InvalidReview,
    Request,
    User,
    answer_patch,
    answer_verdict,
    read_review,
)
from stromboli.admission.review import review
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.kube import KubeQueue
from stromboli.kube.manifests.manifests import read_manifests
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.objects.kinds import KINDS
from stromboli.local.patching.patches import json_patch
from tests.testing.random_clusters.effort import examples
from tests.unit.admission.requests import ADMINISTRATOR, FACTS, POLICY, pod

#: All but a description of kinds, which is no object of a cluster.
EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[3] / "examples").glob("*/*.yaml"))
    if (path.parent.name, path.name) != ("kinds", "pipelines.yaml")
]
VOLCANO, NATIVE = "scheduling.volcano.sh", "scheduling.k8s.io"
TREE = {"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2"}
SUB_GROUP_POLICY = {
    "name": "a",
    "minSubGroups": 1,
    "subGroupSize": 2,
    "matchLabelKeys": ["p"],
    "labelSelector": {"matchLabels": {}},
}
SHARE = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}
TEMPLATE = pod(owner=("batch/v1", "Job"), labels={"volcano.sh/queue-name": "science"}, priorityClassName="low")
CONTAINER = {"name": "a", "image": "x", "resources": {"requests": {"cpu": 1}, "limits": {"cpu": "1"}},
             "volumeMounts": [{"name": "v", "mountPath": "/v"}], "ports": [{"containerPort": 22}]}  # fmt: skip
VOLCANO_JOB: dict[str, Any] = {
    "minAvailable": 2, "minSuccess": 1, "maxRetry": 3, "ttlSecondsAfterFinished": 9, "queue": "default",
    "schedulerName": "volcano", "priorityClassName": "low",
    "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    "plugins": {"mpi": ["--port=22"], "pytorch": ["--wait-master-enabled"], "ssh": ["--ssh-key-file-path", "/a"]},
    "policies": [{"events": ["PodFailed"], "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}],
    "volumes": [{"mountPath": "/d", "volumeClaimName": "d"}, {"mountPath": "/e", "volumeClaim": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
    "tasks": [
        {"name": "master", "replicas": 1, "topologyPolicy": "restricted", "template": {"spec": {
            "containers": [CONTAINER], "volumes": [{"name": "v", "emptyDir": {}}], "restartPolicy": "Never"}}},
        {"name": "worker", "replicas": 4, "minAvailable": 2, "maxRetry": 1, "template": TEMPLATE,
         "dependsOn": {"name": ["master"], "iteration": "any"},
         "policies": [{"event": "TaskCompleted", "action": "CompleteJob", "timeout": "1m"}],
         "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}}],
}  # fmt: skip
#: Valid objects with all fields that the rules read.
SOUND: list[tuple[str, str, Any]] = [
    (VOLCANO, "PodGroup", {"metadata": {"annotations": {"volcano.sh/preemptable": "true"}, "labels": {}}, "spec": {
        "minMember": 2, "queue": "science", "minTaskMember": {"a": 1}, "minResources": {"cpu": "1"},
        "priorityClassName": "low", "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        "subGroupPolicy": [SUB_GROUP_POLICY]}}),
    (NATIVE, "PodGroup", {"metadata": {"annotations": {}}, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}),
    (VOLCANO, "Queue", {"metadata": {"annotations": TREE}, "spec": {
        "weight": 1, "parent": "science", "capability": {"cpu": 2}, "deserved": {"cpu": 1},
        "guarantee": {"resource": {"cpu": 1}}}, "status": {"state": "Open"}}),
    ("topology.volcano.sh", "HyperNode", {"metadata": {}, "spec": {"tier": 1, "members": [
        {"type": "Node", "selector": {"regexMatch": {"pattern": "a"}}},
        {"type": "Node", "selector": {"labelMatch": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}}]}}),
    ("", "Pod", pod(
        group="gang", annotations=SHARE, labels={"volcano.sh/queue-name": "science"}, owner=("batch/v1", "Job"))),
    ("batch", "Job", {"metadata": {"annotations": {}}, "spec": {"template": TEMPLATE}}),
    ("batch", "CronJob", {"spec": {"jobTemplate": {"metadata": {}, "spec": {"template": TEMPLATE}}}}),
    ("apps", "Deployment", {"metadata": {"annotations": {}}, "spec": {"template": TEMPLATE}}),
    ("batch.volcano.sh", "Job", {"metadata": {"name": "train"}, "spec": VOLCANO_JOB}),
    ("batch.volcano.sh", "CronJob", {"metadata": {"name": "train"}, "spec": {
        "schedule": "0 3 * * *", "timeZone": "Europe/Rome", "concurrencyPolicy": "Forbid", "suspend": False,
        "successfulJobsHistoryLimit": 1, "jobTemplate": {"metadata": {"labels": {}}, "spec": VOLCANO_JOB}}}),
    ("flow.volcano.sh", "JobTemplate", {"metadata": {"name": "a"}, "spec": VOLCANO_JOB}),
    ("flow.volcano.sh", "JobFlow", {"metadata": {"name": "flow"}, "spec": {"jobRetainPolicy": "delete", "flows": [
        {"name": "a", "patch": {"jobSpec": VOLCANO_JOB}}, {"name": "b", "dependsOn": {"targets": ["a"]}}]}}),
    ("bus.volcano.sh", "Command", {"action": "OpenQueue", "target": {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "science", "uid": "7"}}),
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["volcano", "science", "shut", "root", "1", "-1", "1e999999999", "\x00", "a/b", "("]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["cpu", "a/b"]), parts, max_size=3),
    max_leaves=8,
)  # fmt: skip
DOCUMENTS = st.dictionaries(st.sampled_from(["metadata", "spec", "value"]), VALUES, max_size=3)

SHARING = replace(POLICY, plugins=(GpuSharingPlugin(),))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


@st.composite
def bent(draw: st.DrawFn, sound: Any) -> Any:
    """The document with one or two values replaced."""
    document = copy.deepcopy(sound)
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from([place for place in places(document) if place]))
        part = document
        for step in way:
            part = part[step]
        part[last] = draw(VALUES)
    return document


@examples(500)
@given(
    st.sampled_from(SOUND).flatmap(lambda case: st.tuples(st.just(case), bent(case[2]), st.none() | bent(case[2]))),
    st.sampled_from(["CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT"]),
    st.booleans(),
)
def test_every_review_gets_a_response(asks: tuple[Any, Any, Any], operation: str, trusted: bool) -> None:
    kind, document, before = asks
    user = ADMINISTRATOR if trusted else User("alice")
    asked = Request("1", GroupKind(kind[0], "v1", kind[1]), "sample", "lab", operation, "", user, document, before)
    facts = replace(FACTS, job_templates={"lab/b": VOLCANO_JOB})
    verdict = review(asked, facts, POLICY)
    review(asked, facts, SHARING)
    assert msgspec.json.decode(answer_verdict(asked, verdict))["response"]["allowed"] is verdict.is_allowed
    patch = patch_for(asked, FACTS, SHARING)
    answer_patch(asked, patch)
    asked.object = json_patch(document, patch)
    assert patch_for(asked, FACTS, SHARING) == [], "the patch is idempotent"


@examples(100)
@given(st.binary(max_size=200) | DOCUMENTS.map(msgspec.json.encode))
def test_body_that_is_not_a_review_raises_invalid_review(body: bytes) -> None:
    with pytest.raises(InvalidReview):
        read_review(body)


NO_REVIEWS = {
    "nothing": (b"", "not an AdmissionReview"),
    "an endless nesting": (b"[" * 100_000, "not an AdmissionReview"),
    "an early version": (
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}}',
        "expected admission.k8s.io/v1 AdmissionReview, got admission.k8s.io/v1beta1 AdmissionReview; use",
    ),
    "no question": (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "request.uid is missing"),
}


@pytest.mark.parametrize("title", NO_REVIEWS)
def test_invalid_review_is_described(title: str) -> None:
    body, message = NO_REVIEWS[title]
    with pytest.raises(InvalidReview) as refused:
        read_review(body)
    assert message in str(refused.value)


@pytest.mark.parametrize(("group", "kind", "document"), SOUND)
def test_base_requests_are_allowed(group: str, kind: str, document: Any) -> None:
    asked = Request("1", GroupKind(group, "v1", kind), "sample", "team", "CREATE", "", ADMINISTRATOR, document)
    assert review(asked, FACTS, POLICY).violations == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_example_manifest_is_admitted_unchanged(path: Path) -> None:
    queues = {each.key: each for each in read_manifests([str(path.parent)]).objects if isinstance(each, KubeQueue)}
    facts = Facts(queues={**FACTS.queues, **queues})
    for document in load_documents(path.read_text(), path.name):
        for item in document.get("items", [document]):  # type: ignore[attr-defined]
            group, kind = item["apiVersion"].rpartition("/")[0], item["kind"]
            known = KINDS.get((group, kind))
            namespace = item["metadata"].get("namespace", "default") if known is None or known.namespaced else ""
            name = item["metadata"].get("name", "")
            asked = Request("1", GroupKind(group, "", kind), name, namespace, "CREATE", "", ADMINISTRATOR, item)
            assert review(asked, facts, POLICY).violations == ()
            patch = patch_for(asked, facts, POLICY)
            assert [each["path"] for each in patch if each["path"] != "/spec/queue"] == []
