"""Groups of pods with a domain of nodes to themselves: labels, annotations and affinity of the operators' webhooks."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from stromboli import kube
from stromboli.kube.manifests.manifests import Manifests
from tests.unit.workloads.inputs import expanded, messages_of, pods_of, template, workload

ALPHA, JOB_SET = "alpha.jobset.sigs.k8s.io", "jobset.sigs.k8s.io"
LWS = "leaderworkerset.sigs.k8s.io"


def hash_of(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def job_set(
    annotations: dict[str, str] | None = None, of_job: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    job = {"metadata": {"annotations": of_job or {}}, "spec": {"parallelism": 2, "template": template()}}
    jobs = [{"name": "a", "replicas": 2, "template": job}, {"name": "b", "template": job}]
    fields = {"replicatedJobs": jobs, **spec}
    metadata = {"annotations": annotations or {}}
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", fields, metadata=metadata)


def leader_worker_set(size: int, annotations: dict[str, str], **fields: Any) -> dict[str, Any]:
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": size, "workerTemplate": template(), **fields}}
    metadata = {"annotations": annotations}
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, metadata=metadata)


def domains_of(pod: kube.Pod) -> list[tuple[str, str, str | None]]:
    """Return kind, label and topology of each required term of a pod."""
    affinity = pod.spec.affinity
    kinds = {"with": affinity and affinity.pod_affinity, "without": affinity and affinity.pod_anti_affinity}
    return [
        (kind, (term.label_selector.match_expressions or [])[0].key or "", term.topology_key)
        for kind, part in kinds.items()
        for term in (part.required if part else None) or ()
        if term.label_selector is not None
    ]


def labels_of(found: Manifests, key: str) -> dict[str, str | None]:
    return {name: (pod.metadata.labels or {}).get(key) for name, pod in pods_of(found).items()}


EXCLUSIVE = {f"{ALPHA}/exclusive-topology": "rack"}
BY_SELECTOR = {**EXCLUSIVE, f"{ALPHA}/node-selector": "true"}


def test_pods_of_job_sets_have_the_keys_of_their_job() -> None:
    found = expanded(job_set(coordinator={"replicatedJob": "a", "jobIndex": 1}))
    assert labels_of(found, f"{JOB_SET}/job-global-index") == {
        "train-a-0-0": "0", "train-a-0-1": "0", "train-a-1-0": "1", "train-a-1-1": "1", "train-b-0-0": "2",
        "train-b-0-1": "2"}  # fmt: skip
    pod = pods_of(found)["train-a-1-0"]
    keys = {f"{JOB_SET}/group-name": "default", f"{JOB_SET}/group-replicas": "3", f"{JOB_SET}/job-group-index": "1"}
    assert keys.items() <= (pod.metadata.labels or {}).items()
    keys = {f"{JOB_SET}/job-key": hash_of("default/train-a-1"), f"{JOB_SET}/coordinator": "train-a-1-0.train"}
    assert keys.items() <= (pod.metadata.labels or {}).items()
    assert keys.items() <= (pod.metadata.annotations or {}).items()
    assert (pod.metadata.labels or {})["batch.kubernetes.io/job-completion-index"] == "0"
    assert domains_of(pod) == []


@pytest.mark.parametrize(
    ("fields", "pods"),
    [
        ({"annotations": EXCLUSIVE}, {"train-a-0-0": "rack", "train-a-1-0": "rack", "train-b-0-0": "rack"}),
        ({"annotations": {f"{ALPHA}/exclusive-topology": "zone"}, "of_job": EXCLUSIVE},
         {"train-a-0-0": "rack", "train-a-1-0": "rack", "train-b-0-0": "rack"}),
    ],
    ids=["of the JobSet", "of its Jobs"],
)  # fmt: skip
def test_first_pods_of_exclusive_jobs_come_first_with_a_domain_of_their_own(
    fields: dict[str, Any], pods: dict[str, str]
) -> None:
    found = expanded(job_set(**fields))
    key = f"{JOB_SET}/job-key"
    expected = {name: [("with", key, topology), ("without", key, topology)] for name, topology in pods.items()}
    assert {name: domains_of(pod) for name, pod in pods_of(found).items()} == expected
    note = "the further pods of each Job of a are created when the first one has a node, for nodes with the same rack"
    assert any(note in message for message in messages_of(found))


def test_nodes_that_are_labeled_for_jobs_are_selected_by_all_pods() -> None:
    found = pods_of(expanded(job_set(BY_SELECTOR)))
    assert len(found) == 6
    pod = found["train-a-1-1"]
    assert pod.spec.node_selector == {f"{ALPHA}/namespaced-job": "default_train-a-1"}
    assert [each.key for each in pod.spec.tolerations or ()] == [f"{ALPHA}/no-schedule"]
    assert domains_of(pod) == []


SUB_GROUPS = [
    ("leader in the first", 4, {"subGroupSize": 2}, ["0", "0", "1", "1"]),
    ("leader is one too many", 5, {"subGroupSize": 2}, ["0", "0", "0", "1", "1"]),
    ("leader in none", 5, {"subGroupSize": 2, "type": "LeaderExcluded"}, [None, "0", "0", "1", "1"]),
]


@pytest.mark.parametrize(
    ("size", "policy", "numbers"), [case[1:] for case in SUB_GROUPS], ids=[c[0] for c in SUB_GROUPS]
)
def test_pods_of_leader_worker_sets_have_the_number_and_the_domain_of_their_sub_group(
    size: int, policy: dict[str, Any], numbers: list[str | None]
) -> None:
    annotations = {f"{LWS}/subgroup-exclusive-topology": "rack"}
    found = expanded(leader_worker_set(size, annotations, subGroupPolicy=policy))
    assert list(labels_of(found, f"{LWS}/subgroup-index").values()) == numbers
    for (name, pod), number in zip(pods_of(found).items(), numbers, strict=True):
        key = f"{LWS}/subgroup-key"
        assert domains_of(pod) == ([("with", key, "rack"), ("without", key, "rack")] if number else []), name
        assert (pod.metadata.labels or {}).get(key) == (hash_of(f"train-0/{number}") if number else None)


def test_workers_of_an_exclusive_leader_wait_for_its_node() -> None:
    found = expanded(leader_worker_set(3, {f"{LWS}/exclusive-topology": "rack"}))
    key = f"{LWS}/group-key"
    assert {name: domains_of(pod) for name, pod in pods_of(found).items()} == {
        "train-0": [("with", key, "rack"), ("without", key, "rack")]
    }
    assert "its workers are created when their leader has a node, for nodes with the same rack" in str(
        messages_of(found)
    )


def test_slices_of_a_disaggregated_set_have_domains_of_their_own() -> None:
    roles = [{"name": "decode", "spec": {"leaderWorkerTemplate": {"size": 1, "workerTemplate": template()}}}]
    policy = {"type": "ExclusiveTopology", "topology": "rack"}
    spec = {"slices": 2, "placementPolicy": policy, "roles": roles}
    pods = pods_of(expanded(workload("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", spec)))
    inline = [{"name": "decode", "leaderWorkerTemplate": {"size": 1, "leaderTemplate": template()}}]
    first = workload("disaggregatedset.x-k8s.io/v1alpha1", "DisaggregatedSet", {**spec, "roles": inline})
    assert pods.keys() == pods_of(expanded(first)).keys()
    name = "disaggregatedset.x-k8s.io/name"
    assert {each: domains_of(pod) for each, pod in pods.items()} == {
        each: [("with", name, "rack"), ("without", name, "rack"), ("without", name, "rack")]
        for each in ("train-0-decode-0", "train-1-decode-0")
    }
