"""Jobs in manifests stand for their pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli import kube
from stromboli.kube.manifests.manifests import Manifests, read_manifests
from stromboli.kube.objects.meta import OwnerReference

TEMPLATE = {"metadata": {"annotations": {"a": "b"}}, "spec": {"containers": [{"name": "main"}]}}


def read(folder: Path, spec: dict[str, Any], **fields: Any) -> Manifests:
    metadata = {"name": "train", "annotations": {"scheduling.volcano.sh/queue-name": "q", "other": "x"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, **fields}
    (folder / "job.json").write_bytes(msgspec.json.encode(job))
    return read_manifests([str(folder)])


@pytest.mark.parametrize(
    ("spec", "number"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 3, "completions": 9}, 3),
        ({"parallelism": 0}, 0),
        ({"parallelism": 3, "suspend": True}, 0),
    ],
    ids=["default", "parallelism", "fewer completions", "more completions", "none", "suspended"],
)
def test_job_stands_for_the_pods_that_run_at_once(tmp_path: Path, spec: dict[str, Any], number: int) -> None:
    manifests = read(tmp_path, {**spec, "template": TEMPLATE})
    assert [pod.key for pod in manifests.objects] == [f"default/train-{index}" for index in range(number)]
    assert (manifests.problems, manifests.notes) == ([], [])


def test_pods_have_the_template_the_owner_and_its_scheduling_annotations(tmp_path: Path) -> None:
    (pod,) = read(tmp_path, {"template": TEMPLATE}).objects
    assert isinstance(pod, kube.Pod)
    assert pod.metadata.annotations == {"a": "b", "scheduling.volcano.sh/queue-name": "q"}
    (owner,) = pod.metadata.owner_references or [OwnerReference()]
    assert (owner.kind, owner.name, owner.controller, owner.uid) == ("Job", "train", True, "Job/train")
    assert [container.name for container in pod.spec.containers or ()] == ["main"]


def test_job_of_a_cluster_is_left_out(tmp_path: Path) -> None:
    manifests = read(tmp_path, {"template": TEMPLATE}, status={"active": 1})
    assert (manifests.objects, manifests.problems) == ([], [])


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
