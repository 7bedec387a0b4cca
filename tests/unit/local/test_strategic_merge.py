"""Strategic merge patches: keyed lists, directives, and no unrelated change."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.patching.patches import MalformedPatch
from stromboli.local.patching.strategic_merge import strategic_merge


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def containers(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "image": image} for name, image in pairs]


def merged_spec(target: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategic_merge(pod(**target), {"spec": patch})["spec"]


SPECS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a container is found by name": (
        {"containers": containers(("a", "1"), ("b", "1"))},
        {"containers": [{"name": "b", "image": "2"}]},
        {"containers": containers(("a", "1"), ("b", "2"))},
    ),
    "a new container comes first": (
        {"containers": containers(("a", "1"))},
        {"containers": [{"name": "b", "image": "2"}]},
        {"containers": containers(("b", "2"), ("a", "1"))},
    ),
    "a container is deleted": (
        {"containers": containers(("a", "1"), ("b", "1"))},
        {"containers": [{"name": "a", "$patch": "delete"}]},
        {"containers": containers(("b", "1"))},
    ),
    "all containers are replaced": (
        {"containers": containers(("a", "1"), ("b", "1"))},
        {"containers": [{"name": "c", "image": "3"}, {"$patch": "replace"}]},
        {"containers": containers(("c", "3"))},
    ),
    "order is as asked": (
        {"containers": containers(("a", "1"), ("b", "1"))},
        {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": containers(("c", "3"))},
        {"containers": containers(("c", "3"), ("a", "1"), ("b", "1"))},
    ),
    "environment by name, below a container by name": (
        {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "1"}]}]},
        {"containers": [{"name": "a", "env": [{"name": "X", "value": "2"}, {"name": "Y", "$patch": "delete"}]}]},
        {"containers": [{"name": "a", "env": [{"name": "X", "value": "2"}]}]},
    ),
    "container ports by their port": (
        {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]},
        {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 81}]}]},
        {
            "containers": [
                {
                    "name": "a",
                    "ports": [{"containerPort": 80, "name": "http", "protocol": "UDP"}, {"containerPort": 81}],
                }
            ]
        },
    ),
    "service ports by their port": (
        {"ports": [{"port": 80, "targetPort": 1}]},
        {"ports": [{"port": 80, "targetPort": 2}, {"port": 90}]},
        {"ports": [{"port": 80, "targetPort": 2}, {"port": 90}]},
    ),
    "mounts by their path": (
        {"containers": [{"name": "a", "volumeMounts": [{"mountPath": "/x", "name": "v"}]}]},
        {"containers": [{"name": "a", "volumeMounts": [{"mountPath": "/x", "readOnly": True}]}]},
        {"containers": [{"name": "a", "volumeMounts": [{"mountPath": "/x", "name": "v", "readOnly": True}]}]},
    ),
    "a volume changes its kind": (
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
    ),
    "tolerations are one value": (
        {"tolerations": [{"key": "a"}]},
        {"tolerations": [{"key": "b"}]},
        {"tolerations": [{"key": "b"}]},
    ),
    "taints are one value": (
        {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        {"taints": [{"key": "b", "effect": "NoExecute"}]},
        {"taints": [{"key": "b", "effect": "NoExecute"}]},
    ),
    "null removes": ({"nodeName": "n", "hostNetwork": True}, {"nodeName": None}, {"hostNetwork": True}),
    "a map is replaced": (
        {"nodeSelector": {"a": "1", "b": "2"}},
        {"nodeSelector": {"c": "3", "$patch": "replace"}},
        {"nodeSelector": {"c": "3"}},
    ),
    "a map is deleted": ({"nodeSelector": {"a": "1"}, "x": 1}, {"nodeSelector": {"$patch": "delete"}}, {"x": 1}),
    "image pull secrets by name": (
        {"imagePullSecrets": [{"name": "a"}]},
        {"imagePullSecrets": [{"name": "b"}]},
        {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]},
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_spec(name: str) -> None:
    target, patch, expected = SPECS[name]
    kept = copy.deepcopy((target, patch))
    assert merged_spec(target, patch) == expected
    assert (target, patch) == kept


def test_conditions_merge_by_type() -> None:
    old = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "False"}]}}
    new = strategic_merge(old, {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})
    assert [entry["status"] for entry in new["status"]["conditions"]] == ["True", "True"]


METADATA: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "finalizers are a set": ({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}, {"finalizers": ["a", "b"]}),
    "a finalizer is taken out": (
        {"finalizers": ["a", "b"]},
        {"$deleteFromPrimitiveList/finalizers": ["a"]},
        {"finalizers": ["b"]},
    ),
    "finalizers in order": (
        {"finalizers": ["a", "b"]},
        {"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]},
        {"finalizers": ["c", "b", "a"]},
    ),
    "owners by uid": (
        {"ownerReferences": [{"uid": "1", "name": "x"}]},
        {"ownerReferences": [{"uid": "1", "controller": True}, {"uid": "2", "name": "y"}]},
        {"ownerReferences": [{"uid": "1", "name": "x", "controller": True}, {"uid": "2", "name": "y"}]},
    ),
    "a label is removed": ({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None}}, {"labels": {"b": "2"}}),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata(name: str) -> None:
    target, patch, expected = METADATA[name]
    assert strategic_merge({"metadata": target}, {"metadata": patch}) == {"metadata": expected}


MALFORMED = {
    "an item without its key": {"spec": {"containers": [{"image": "x"}]}},
    "an unknown directive": {"spec": {"$patch": "shuffle"}},
    "no object": [1],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    with pytest.raises(MalformedPatch):
        strategic_merge(pod(containers=containers(("a", "1"))), MALFORMED[name])


CONTAINER_NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(CONTAINER_NAMES, CONTAINER_NAMES, CONTAINER_NAMES)
def test_unnamed_fields_are_unchanged(live: list[str], patched: list[str], order: list[str]) -> None:
    target = pod(containers=containers(*((name, "old") for name in live)), priority=7)
    patch = {
        "$setElementOrder/containers": [{"name": name} for name in order],
        "containers": containers(*((name, "new") for name in patched)),
    }
    merged = strategic_merge(target, {"spec": patch})
    images = {entry["name"]: entry["image"] for entry in merged["spec"]["containers"]}
    assert images == {**dict.fromkeys(live, "old"), **dict.fromkeys(patched, "new")}
    assert merged["spec"]["priority"] == 7
    assert merged["metadata"] == target["metadata"]
    placed = [name for name in images if name in order]
    assert placed == [name for name in order if name in images]
