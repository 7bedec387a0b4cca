"""Documents are decoded to typed objects, or to an error with object, field and remedy."""

import operator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli.kube import KINDS, KubeObject, ObjectError, PodGroup, Unknown, decode
from stromboli.kube.manifests.yaml import load_documents

EVERY_FIELD: list[Any] = load_documents(Path(__file__).with_name("every_field.yaml").read_text(), "every_field.yaml")


def test_every_decoded_kind_has_sample() -> None:
    assert {document["kind"] for document in EVERY_FIELD} == {kind for _, kind in KINDS}


@pytest.mark.parametrize("document", EVERY_FIELD, ids=operator.itemgetter("kind"))
def test_every_decoded_field_survives_round_trip(document: dict[str, Any]) -> None:
    assert msgspec.to_builtins(decode(document)) == document


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind_name)
def test_nulls_and_unknown_fields_are_ignored(kind: type[KubeObject]) -> None:
    document: dict[str, Any] = {"apiVersion": f"{kind.group}/v9".lstrip("/"), "kind": kind.kind_name}
    bare = decode(document)
    for part in msgspec.structs.fields(kind)[2:]:
        assert decode(document | {part.encode_name: None}) == bare
        if isinstance(nested := getattr(bare, part.name), msgspec.Struct):
            nulls = dict.fromkeys(field.encode_name for field in msgspec.structs.fields(nested))
            assert decode(document | {part.encode_name: nulls | {"unheardOf": [1]}}) == bare


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1"])
def test_any_version_of_group_is_decoded(version: str) -> None:
    decoded = decode({"apiVersion": f"scheduling.volcano.sh/{version}", "kind": "PodGroup"})
    assert isinstance(decoded, PodGroup)


def test_kind_of_other_group_is_unknown() -> None:
    document = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    assert decode(document) == Unknown("scheduling.x-k8s.io/v1alpha1", "PodGroup")


VERSIONS = {kind: f"{group}/v1".lstrip("/") for group, kind in KINDS}
WRONG: list[tuple[str, str, dict[str, object], str]] = [
    ("text for a number", "PodGroup", {"spec": {"minMember": "3"}},
     "spec.minMember: expected an integer, got a string; write a whole number"),
    ("fraction for a number", "PodGroup", {"spec": {"minMember": 2.5}},
     "spec.minMember: expected an integer, got a number; write a whole number"),
    ("too many members", "PodGroup", {"spec": {"minTaskMember": {"worker": 2**40}}},
     "spec.minTaskMember: expected an integer of at most 2147483647; write a smaller number"),
    ("far too few members", "PodGroup", {"spec": {"minMember": -(10**30)}},
     "spec.minMember: expected an integer of at least -2147483648; write a larger number"),
    ("number for a selector", "Pod", {"spec": {"nodeSelector": {"disk": "ssd", "rank": 1}}},
     "spec.nodeSelector[rank]: expected a string, got an integer; put the value in quotes"),
    ("empty value", "Pod", {"spec": {"nodeSelector": {"disk": None}}},
     "spec.nodeSelector[disk]: expected a string, got null; write a value or remove the line"),
    ("map for text", "Pod", {"spec": {"nodeName": {}}},
     "spec.nodeName: expected a string, got a map; write a single value"),
    ("map for a list", "Pod", {"spec": {"containers": {}}},
     "spec.containers: expected a list, got a map; write a list, one item per dash"),
    ("boolean quantity", "Pod", {"spec": {"containers": [{}, {"resources": {"requests": {"cpu": True}}}]}},
     "spec.containers[1].resources.requests[cpu]: expected a quantity, got a boolean; "
     "write a quantity such as 500m, 2 or 4Gi"),
    ("list for a budget", "PodDisruptionBudget", {"spec": {"minAvailable": []}},
     "spec.minAvailable: expected an integer or a string, got a list; "
     "write a whole number, or a percentage in quotes"),
    ("text for a boolean", "Queue", {"spec": {"reclaimable": "no"}},
     "spec.reclaimable: expected a boolean, got a string; write true or false"),
    ("text for a spec", "Queue", {"spec": "x"},
     "spec: expected a map, got a string; write a map of keys and values"),
    ("no version", "Pod", {"apiVersion": None},
     "apiVersion: is missing; write one, for example apiVersion: v1"),
    ("numeric version", "Pod", {"apiVersion": 1},
     "apiVersion: expected a string, got an integer; write one, for example apiVersion: v1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "sentence"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_invalid_field_is_reported(kind: str, change: dict[str, object], sentence: str) -> None:
    metadata = {"name": "train", "namespace": "team-a"}
    with pytest.raises(ObjectError) as refusal:
        decode({"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, **change})
    assert str(refusal.value) == f"{kind} team-a/train: {sentence}"


def test_error_message_is_printable() -> None:
    metadata = {"name": "\x1b[31m" + "x" * 1000, "labels": {"\n": 1}}
    with pytest.raises(ObjectError) as refusal:
        decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 500


def test_missing_kind_is_reported() -> None:
    with pytest.raises(ObjectError, match="object a: kind: is missing; write one, for example kind: Pod"):
        decode({"apiVersion": "v1", "metadata": {"name": "a"}})
