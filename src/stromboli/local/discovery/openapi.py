"""OpenAPI documents, as far as clients use them.

`kubectl explain` prints them, and `kubectl apply`, `diff` and `create` look for the query parameters of writes. Custom
resources are described by their own schema, built-in kinds by the fields of their protobuf messages.

Content types of patches are omitted deliberately: a client that finds strategic merge patches here derives list keys
from these schemas, which do not have them, instead of its built-in rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.discovery.message_schemas import fields_below, referred_schemas
from stromboli.local.discovery.object_schemas import OBJECT_META, OBJECT_META_NAME, built_in_schema

_WRITE_PARAMETERS = {
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun",),
    "get": (),
}
#: The OpenAPI v2 document in protobuf, which kubectl requires before it accepts a `List`: it describes no kind, so that
#: clients validate and merge nothing by it. Its fields are the format version, and a title with a version.
BINARY_SWAGGER = b"\x0a\x032.0" + b"\x12\x10" + b"\x0a\x0aKubernetes" + b"\x12\x021." + b"\x42\x00"
BINARY_SWAGGER_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_IDENTITY = "x-kubernetes-group-version-kind"


def wants_json(accept: str) -> bool:
    """Report whether the client accepts OpenAPI v2 as JSON."""
    kinds = [choice.partition(";")[0].strip() for choice in accept.split(",")]
    return any(kind in ("", "application/json", "application/*", "*/*") for kind in kinds)


def index(resources: Iterable[ServedResource]) -> dict[str, Any]:
    """The response to `/openapi/v3`: the path of each group version's document, with a hash of its content."""
    grouped = _by_group_version(resources)
    return {
        "paths": {
            _base(group, version).strip("/"): {
                "serverRelativeURL": f"/openapi/v3{_base(group, version)}?hash={_fingerprint(served)}"
            }
            for (group, version), served in grouped.items()
        }
    }


def document(resources: Iterable[ServedResource], group: str, version: str) -> dict[str, Any] | None:
    """The response to `/openapi/v3/apis/<group>/<version>`; None if it is not served."""
    served = _by_group_version(resources).get((group, version))
    if not served:
        return None
    paths: dict[str, Any] = {}
    built_in = [(resource.api_version, resource.kind) for resource in served if not resource.is_custom]
    schemas: dict[str, Any] = {OBJECT_META_NAME: OBJECT_META, **referred_schemas(built_in)}
    for resource in served:
        paths.update(_paths(resource))
        schemas[_schema_name(resource)] = _deep_schema(resource)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "stromboli"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def swagger(resources: Iterable[ServedResource]) -> dict[str, Any]:
    """The response to `/openapi/v2`: all kinds in one document."""
    paths: dict[str, Any] = {}
    definitions: dict[str, Any] = {OBJECT_META_NAME: OBJECT_META}
    for resource in resources:
        paths.update(_paths(resource))
        definitions[_schema_name(resource)] = _schema(resource, references="#/definitions/")
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "stromboli"},
        "paths": paths,
        "definitions": definitions,
    }


def _by_group_version(resources: Iterable[ServedResource]) -> dict[tuple[str, str], list[ServedResource]]:
    grouped: dict[tuple[str, str], list[ServedResource]] = {}
    for resource in resources:
        grouped.setdefault((resource.group, resource.version), []).append(resource)
    return grouped


def _base(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _fingerprint(resources: list[ServedResource]) -> str:
    """Clients cache a document by its hash, so a changed schema needs another hash."""
    described = [(resource.plural, resource.kind, resource.schema) for resource in resources]
    return hashlib.sha256(msgspec.json.encode(described)).hexdigest().upper()


def _schema_name(resource: ServedResource) -> str:
    reverse = ".".join(reversed((resource.group or "core.api.k8s.io").split(".")))
    return f"{reverse}.{resource.version}.{resource.kind}"


def _schema(resource: ServedResource, references: str = "#/components/schemas/") -> dict[str, Any]:
    """The schema of an object, with the common schema of metadata."""
    declared = resource.schema or built_in_schema(resource.kind)
    metadata = {
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": f"{references}{OBJECT_META_NAME}"}],
        "default": {},
    }
    properties = {**(declared.get("properties") or {}), "metadata": metadata}
    return {**declared, "properties": properties, _IDENTITY: [_identity(resource)]}


def _deep_schema(resource: ServedResource) -> dict[str, Any]:
    """The schema with everything below the top-level fields, if known."""
    schema = _schema(resource)
    if resource.is_custom:
        return schema
    described = schema["properties"]
    below = {
        name: {"description": described[name]["description"], **field} if name in described else field
        for name, field in fields_below(resource.api_version, resource.kind).items()
    }
    return {**schema, "properties": {**described, **below}}


def _identity(resource: ServedResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(resource: ServedResource) -> dict[str, Any]:
    base = _base(resource.group, resource.version)
    collection = (
        f"{base}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{base}/{resource.plural}"
    )
    item = f"{collection}/{{name}}"
    paths = {
        collection: _operations(resource, {"get": "list", "post": "create"}),
        item: _operations(resource, {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}),
    }
    if resource.namespaced:
        paths[f"{base}/{resource.plural}"] = _operations(resource, {"get": "list"})
    return {path: operations for path, operations in paths.items() if operations}


def _operations(resource: ServedResource, methods: dict[str, str]) -> dict[str, Any]:
    return {method: _operation(resource, method, verb) for method, verb in methods.items() if verb in resource.verbs}


def _operation(resource: ServedResource, method: str, verb: str) -> dict[str, Any]:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _WRITE_PARAMETERS[method]]
    return {
        "operationId": f"{verb}{resource.version.capitalize()}{resource.kind}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "list" if verb == "list" else method,
        _IDENTITY: _identity(resource),
    }
