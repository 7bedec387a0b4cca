"""CRDs have descriptions for `kubectl explain` and printer columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stromboli.kube.crds.install import crd_documents

KINDS = {document["spec"]["names"]["kind"]: document["spec"] for document in crd_documents()}


def unexplained(schema: dict[str, Any], path: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}"
        if "description" not in field and place != ".metadata":
            yield place
        for part in (field, field.get("items"), field.get("additionalProperties")):
            if isinstance(part, dict):
                yield from unexplained(part, place)


@pytest.mark.parametrize("kind", KINDS)
def test_every_crd_field_is_described(kind: str) -> None:
    (version,) = KINDS[kind]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"]
    assert list(unexplained(schema, "")) == []


COLUMNS = {
    "PodGroup": ["STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"],
    "Queue": ["PARENT", "STATE", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "AGE"],
    "HyperNode": ["Tier", "TierName", "NodeCount", "Age"],
    "Numatopology": ["Policy", "Age"],
    "NodeShard": ["Nodes", "Waits for", "Gives up", "In use", "Desired", "Updated", "Age"],
    "BindRequest": ["Pod group", "Pods", "Phase", "Attempts", "Reason", "Age"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_crd_has_printer_columns(kind: str) -> None:
    (version,) = KINDS[kind]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == COLUMNS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_every_crd_rule_has_message(kind: str) -> None:
    """A rule without a message would show its expression."""
    (version,) = KINDS[kind]["versions"]
    for rule in rules(version["schema"]["openAPIV3Schema"]):
        assert "; " in rule["message"], rule["rule"]


def rules(schema: Any) -> Iterator[dict[str, str]]:
    if isinstance(schema, dict):
        yield from schema.get("x-kubernetes-validations", ())
        for part in schema.values():
            yield from rules(part)
