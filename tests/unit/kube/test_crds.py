"""CRDs agree with Volcano's, and describe every field."""

from collections.abc import Iterator
from typing import Any

import pytest

from stromboli.kube.crds.install import crd_documents
from stromboli.kube.objects.catalogue import (
    BIND_REQUESTS,
    HYPER_NODES,
    NUMA_TOPOLOGIES,
    POD_GROUPS,
    QUEUES,
    VOLCANO_JOBS,
)
from stromboli.kube.objects.resources import Resource

DEFINITIONS = {document["metadata"]["name"]: document for document in crd_documents()}


def version(resource: Resource[Any]) -> dict[str, Any]:
    served: dict[str, Any] = DEFINITIONS[resource.name]["spec"]["versions"][0]
    return served


OURS = [POD_GROUPS, QUEUES, HYPER_NODES, NUMA_TOPOLOGIES, BIND_REQUESTS]


@pytest.mark.parametrize("resource", OURS, ids=lambda one: one.kind)
def test_catalogue_and_crds_agree(resource: Resource[Any]) -> None:
    spec = DEFINITIONS[resource.name]["spec"]
    assert (spec["group"], spec["names"]["kind"], spec["names"]["plural"]) == (
        resource.group,
        resource.kind,
        resource.plural,
    )
    assert (spec["scope"] == "Namespaced") == resource.namespaced
    assert version(resource)["name"] == resource.version


NAMES: list[tuple[Resource[Any], list[str], list[str], bool]] = [
    (POD_GROUPS, ["pg", "podgroup-v1beta1"], ["STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"], False),
    (QUEUES, ["q", "queue-v1beta1"], ["PARENT", "STATE", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "AGE"], True),
    (HYPER_NODES, ["hn"], ["Tier", "TierName", "NodeCount", "Age"], True),
    (NUMA_TOPOLOGIES, ["numatopo"], ["Policy", "Age"], False),
    (BIND_REQUESTS, ["br"], ["Pod group", "Pods", "Phase", "Attempts", "Reason", "Age"], True),
]


@pytest.mark.parametrize(("resource", "short", "columns", "status"), NAMES, ids=[case[0].kind for case in NAMES])
def test_printer_columns(resource: Resource[Any], short: list[str], columns: list[str], status: bool) -> None:
    assert DEFINITIONS[resource.name]["spec"]["names"]["shortNames"] == short
    assert [column["name"] for column in version(resource)["additionalPrinterColumns"]] == columns
    assert ("status" in version(resource).get("subresources", {})) is status


@pytest.mark.parametrize("name", DEFINITIONS)
def test_schemas_are_structural_and_every_field_is_described(name: str) -> None:
    schema = DEFINITIONS[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, part, is_field in walk(schema, name, True):
        assert "type" in part or part.get("x-kubernetes-int-or-string"), path
        if is_field and not path.endswith(".metadata"):
            assert part.get("description", "").endswith("."), path
        for required in part.get("required", ()):
            assert required in part["properties"], path


@pytest.mark.parametrize("name", DEFINITIONS)
def test_no_field_has_alternative_schemas(name: str) -> None:
    """The server makes validators of each alternative again for each value of each write."""
    schema = DEFINITIONS[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert [path for path, part, _ in walk(schema, name, True) if {"anyOf", "oneOf", "allOf"} & part.keys()] == []


#: Maps that one field manager writes as a whole: the server records and compares one owner instead of one per entry.
OWNED_AS_A_WHOLE: list[tuple[Resource[Any], str, list[str]]] = [
    (POD_GROUPS, "spec", ["minResources", "minTaskMember"]),
    (VOLCANO_JOBS, "status", ["controlledResources", "state", "taskStatusCount"]),
]


@pytest.mark.parametrize(
    ("resource", "part", "fields"), OWNED_AS_A_WHOLE, ids=[case[0].kind for case in OWNED_AS_A_WHOLE]
)
def test_maps_of_one_writer_are_atomic(resource: Resource[Any], part: str, fields: list[str]) -> None:
    properties = version(resource)["schema"]["openAPIV3Schema"]["properties"][part]["properties"]
    atomic = [name for name, field in properties.items() if field.get("x-kubernetes-map-type") == "atomic"]
    assert sorted(atomic) == fields


def walk(schema: dict[str, Any], path: str, is_field: bool) -> Iterator[tuple[str, dict[str, Any], bool]]:
    yield path, schema, is_field
    for key, part in schema.get("properties", {}).items():
        yield from walk(part, f"{path}.{key}", True)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from walk(schema[key], f"{path}[]", False)
