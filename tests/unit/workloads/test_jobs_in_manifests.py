"""Jobs in manifests stand for their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli import kube
from stromboli.kube.manifests.manifests import Manifests
from stromboli.kube.objects.meta import OwnerReference
from stromboli.workloads.reading import read_with_workloads

TEMPLATE: dict[str, Any] = {"metadata": {"annotations": {"a": "b"}}, "spec": {"containers": [{"name": "main"}]}}
OURS = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "schedulerName": "volcano"}}


def read(folder: Path, spec: dict[str, Any], **fields: Any) -> Manifests:
    metadata = {"name": "train", "annotations": {"scheduling.volcano.sh/queue-name": "q", "other": "x"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, **fields}
    (folder / "job.json").write_bytes(msgspec.json.encode(job))
    return read_with_workloads([str(folder)], scheduler_names=["volcano"])


@pytest.mark.parametrize(
    ("spec", "number"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 3, "completions": 9}, 3),
        ({"parallelism": 0}, 0),
    ],
    ids=["default", "parallelism", "fewer completions", "more completions", "none"],
)
def test_job_stands_for_the_pods_that_run_at_once(tmp_path: Path, spec: dict[str, Any], number: int) -> None:
    manifests = read(tmp_path, {**spec, "template": TEMPLATE})
    assert [pod.key for pod in manifests.objects] == [f"default/train-{index}" for index in range(number)]
    assert (manifests.problems, manifests.notes) == ([], [])


def test_pods_have_the_template_and_the_owner(tmp_path: Path) -> None:
    (pod,) = read(tmp_path, {"template": TEMPLATE}).objects
    assert isinstance(pod, kube.Pod)
    assert pod.metadata.annotations == {"a": "b"}
    (owner,) = pod.metadata.owner_references or [OwnerReference()]
    assert (owner.kind, owner.name, owner.controller, owner.uid) == ("Job", "train", True, "train")
    assert [container.name for container in pod.spec.containers or ()] == ["main"]


def test_group_of_our_pods_has_the_scheduling_annotations_of_the_job(tmp_path: Path) -> None:
    group, pod = read(tmp_path, {"template": OURS}).objects
    assert isinstance(group, kube.PodGroup)
    assert (group.key, group.spec.queue, group.spec.min_member) == ("default/podgroup-train", "q", 1)
    assert (pod.metadata.annotations or {})["scheduling.k8s.io/group-name"] == "podgroup-train"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"status": {"active": 1}}, "it has pods already, which are not in the input; add them"),
        ({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, ""),
        ({"spec": {"template": TEMPLATE, "suspend": True}}, "it is suspended and creates no pods"),
    ],
    ids=["running", "complete", "suspended"],
)
def test_job_without_further_pods_adds_none(tmp_path: Path, fields: dict[str, Any], note: str) -> None:
    manifests = read(tmp_path, **{"spec": {"template": TEMPLATE}, **fields})
    assert (manifests.objects, manifests.problems) == ([], [])
    assert [line.partition(": Job default/train: ")[2] for line in manifests.notes] == [note] * bool(note)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"parallelism": "3", "template": TEMPLATE}, "spec.parallelism: expected an integer"),
        ({"parallelism": 2_000_000, "template": TEMPLATE}, "spec.parallelism: 2000000 pods are more than 10000"),
        ({"template": {}}, "spec.template.spec: is missing; write the spec of its pods"),
        ({"template": {"spec": {"containers": [{"name": 1}]}}}, "spec.containers[0].name: expected a string"),
    ],
    ids=["type", "number", "no template", "invalid template"],
)
def test_invalid_job_is_reported_with_its_field(tmp_path: Path, spec: dict[str, Any], message: str) -> None:
    manifests = read(tmp_path, spec)
    assert manifests.objects == []
    assert message in str(manifests.problems[0])
