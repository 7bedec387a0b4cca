"""Objects with a prefix instead of a name."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from stromboli.kube.manifests.manifests import read_manifests


def pod(metadata: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}


CASES: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    ("one", [{"generateName": "train-"}], ["default/train"]),
    ("two", [{"generateName": "train-"}, {"generateName": "train-"}], ["default/train", "default/train-2"]),
    ("two namespaces", [{"generateName": "a", "namespace": each} for each in "xy"], ["x/a", "y/a"]),
    ("with a name", [{"name": "train-x", "generateName": "train-"}], ["default/train-x"]),
]


@pytest.mark.parametrize(("metadata", "keys"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_objects_with_a_prefix_are_distinct(metadata: list[dict[str, Any]], keys: list[str]) -> None:
    found = read_manifests(["-"], io.StringIO("\n---\n".join(json.dumps(pod(each)) for each in metadata)))
    assert ([each.key for each in found.objects], found.problems, found.notes) == (keys, [], [])


@pytest.mark.parametrize("metadata", [{}, {"generateName": ""}, {"generateName": "-"}, {"generateName": 3}])
def test_object_without_a_name_is_reported(metadata: dict[str, Any]) -> None:
    found = read_manifests(["-"], io.StringIO(json.dumps(pod(metadata))))
    assert (found.objects, "metadata.name" in str(found.problems[0])) == ([], True)
