"""Discovery and OpenAPI documents."""

import re
from typing import Any

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.discovery import discovery, openapi

PODS = ServedResource(
    "",
    "v1",
    "pods",
    "pod",
    "Pod",
    "PodList",
    True,
    short_names=("po",),
    categories=("all",),
    subresources=("status", "binding", "eviction"),
)
NODES = ServedResource("", "v1", "nodes", "node", "Node", "NodeList", False)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A group of pods that run together or not at all.",
    "properties": {"spec": {"type": "object", "properties": {"minMember": {"type": "integer"}}}},
}


def thing(version: str, schema: dict[str, object] | None = None) -> ServedResource:
    return ServedResource("x.io", version, "things", "thing", "Thing", "ThingList", True, schema=schema, is_custom=True)


RESOURCES = [PODS, NODES, thing("v1alpha1"), thing("v1", SCHEMA), thing("v2beta1")]


def test_most_stable_and_newest_version_comes_first() -> None:
    group = discovery.api_groups(RESOURCES)["groups"][0]
    assert [version["version"] for version in group["versions"]] == ["v1", "v2beta1", "v1alpha1"]
    assert group["preferredVersion"] == {"groupVersion": "x.io/v1", "version": "v1"}


def test_group_served_and_not_served() -> None:
    found = discovery.api_group(RESOURCES, "x.io")
    assert found is not None
    assert found["kind"] == "APIGroup"
    assert discovery.api_group(RESOURCES, "y.io") is None
    assert discovery.resource_list(RESOURCES, "x.io", "v3") is None


def test_subresources_of_pod_have_kinds() -> None:
    listed = discovery.resource_list(RESOURCES, "", "v1")
    assert listed is not None
    entries = {entry["name"]: entry for entry in listed["resources"]}
    assert list(entries) == ["pods", "pods/status", "pods/binding", "pods/eviction", "nodes"]
    assert entries["pods"]["shortNames"] == ["po"]
    assert entries["pods/status"]["kind"] == "Pod"
    assert "group" not in entries["pods/status"]
    eviction = entries["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
    assert eviction["verbs"] == ["create"]


def test_aggregated_discovery() -> None:
    core = discovery.aggregated(RESOURCES, core=True)["items"]
    assert [entry["resource"] for entry in core[0]["versions"][0]["resources"]] == ["pods", "nodes"]
    assert core[0]["versions"][0]["resources"][1]["scope"] == "Cluster"
    others = discovery.aggregated(RESOURCES, core=False)["items"]
    assert [entry["metadata"]["name"] for entry in others] == ["x.io"]
    assert [version["version"] for version in others[0]["versions"]] == ["v1", "v2beta1", "v1alpha1"]


def test_accept_header_of_aggregated_discovery() -> None:
    assert discovery.wants_aggregated(f"{discovery.AGGREGATED_TYPE},application/json")
    assert not discovery.wants_aggregated("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList")
    assert not discovery.wants_aggregated("application/json")


def test_schemas_are_found_by_path_and_kind() -> None:
    document = openapi.document(RESOURCES, "x.io", "v1")
    assert document is not None
    operations = document["paths"]["/apis/x.io/v1/namespaces/{namespace}/things/{name}"]
    kind = {"group": "x.io", "version": "v1", "kind": "Thing"}
    assert operations["patch"]["x-kubernetes-group-version-kind"] == kind
    names = {parameter["name"] for parameter in operations["patch"]["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names
    schema = document["components"]["schemas"]["io.x.v1.Thing"]
    assert schema["x-kubernetes-group-version-kind"] == [kind]
    assert schema["properties"]["spec"]["properties"] == {"minMember": {"type": "integer"}}
    assert "metadata" not in SCHEMA["properties"]
    assert openapi.document(RESOURCES, "x.io", "v9") is None


def test_built_in_kinds_are_described_in_depth() -> None:
    document = openapi.document(RESOURCES, "", "v1")
    assert document is not None
    schemas = document["components"]["schemas"]
    assert {"apiVersion", "kind", "metadata", "spec", "status"} <= schemas["io.k8s.api.core.v1.Pod"][
        "properties"
    ].keys()
    containers = schemas["io.k8s.api.PodSpec"]["properties"]["containers"]
    assert containers == {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.Container"}]}}
    assert schemas["io.k8s.api.Volume"]["properties"]["name"] == {"type": "string"}
    assert "emptyDir" in schemas["io.k8s.api.Volume"]["properties"]
    references = set(re.findall(r"#/components/schemas/([\w.]+)", str(document)))
    assert references <= schemas.keys()


def test_changed_schema_changes_index() -> None:
    before = openapi.index(RESOURCES)["paths"]
    after = openapi.index([*RESOURCES[:3], thing("v1", {"type": "object"}), RESOURCES[4]])["paths"]
    assert list(before) == ["api/v1", "apis/x.io/v1alpha1", "apis/x.io/v1", "apis/x.io/v2beta1"]
    assert before["api/v1"] == after["api/v1"]
    assert before["apis/x.io/v1"] != after["apis/x.io/v1"]


def test_openapi_v2_contains_all_kinds() -> None:
    document = openapi.swagger(RESOURCES)
    assert {"io.k8s.api.core.v1.Pod", "io.x.v1.Thing"} <= document["definitions"].keys()
