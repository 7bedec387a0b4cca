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
    "Job": ["STATUS", "minAvailable", "RUNNINGS", "AGE", "QUEUE"],
    "CronJob": ["SCHEDULE", "SUSPEND", "LAST SCHEDULE", "AGE"],
    "JobFlow": ["Status", "Age"],
    "JobTemplate": ["QUEUE", "AGE"],
    "Command": ["ACTION", "KIND", "TARGET", "AGE"],
    "BindRequest": ["Pod group", "Pods", "Phase", "Attempts", "Reason", "Age"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_crd_has_printer_columns(kind: str) -> None:
    (version,) = KINDS[kind]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == COLUMNS[kind]


def spec_of(kind: str, *path: str) -> dict[str, Any]:
    """The schema of a field, without defaults."""
    (version,) = KINDS[kind]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    for name in path:
        schema = schema["properties"][name]
        schema = schema.get("items", schema)
    fields: dict[str, Any] = without_defaults(schema["properties"])
    return fields


def without_defaults(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_defaults(value) for key, value in schema.items() if key != "default"}
    return [without_defaults(each) for each in schema] if isinstance(schema, list) else schema


JOB_SPECS = {
    "CronJob": ("spec", "jobTemplate", "spec"),
    "JobTemplate": ("spec",),
    "JobFlow": ("spec", "flows", "patch", "jobSpec"),
}


@pytest.mark.parametrize("kind", JOB_SPECS)
def test_schemas_of_job_specs_are_equal(kind: str) -> None:
    assert spec_of(kind, *JOB_SPECS[kind]) == spec_of("Job", "spec")


def test_patch_of_flow_has_no_defaults() -> None:
    """A patch must not set what it does not name."""
    (version,) = KINDS["JobFlow"]["versions"]
    patch = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["flows"]["items"]["properties"][
        "patch"
    ]
    assert without_defaults(patch) == patch


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
