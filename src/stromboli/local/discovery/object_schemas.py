"""Top-level schemas of built-in kinds, for `kubectl explain`."""

from __future__ import annotations

from typing import Any

OBJECT_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_STRING = {"type": "string"}
_STRING_MAP = {"type": "object", "additionalProperties": _STRING}


def _described(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, **schema}


OBJECT_META: dict[str, Any] = {
    "description": "ObjectMeta is metadata that all persisted resources must have.",
    "type": "object",
    "properties": {
        "annotations": _described("Unstructured values set by tools, not meant for selection.", _STRING_MAP),
        "creationTimestamp": _described("When the server created this object.", {**_STRING, "format": "date-time"}),
        "deletionGracePeriodSeconds": _described("Seconds allowed for graceful termination.", {"type": "integer"}),
        "deletionTimestamp": _described("When this object will be gone.", {**_STRING, "format": "date-time"}),
        "finalizers": _described("Must be empty before the object is removed.", {"type": "array", "items": _STRING}),
        "generateName": _described("Prefix of a unique name that the server generates.", _STRING),
        "generation": _described("Counts changes of the desired state.", {"type": "integer"}),
        "labels": _described("Keys and values by which objects are selected.", _STRING_MAP),
        "managedFields": _described("Which manager set which field.", {"type": "array", "items": {"type": "object"}}),
        "name": _described("Unique within a namespace; cannot be changed.", _STRING),
        "namespace": _described("The space within which the name is unique.", _STRING),
        "ownerReferences": _described(
            "Objects this object depends on.", {"type": "array", "items": {"type": "object"}}
        ),
        "resourceVersion": _described("Opaque version of this object for concurrency and watches.", _STRING),
        "uid": _described("Unique in time and space; set by the server.", _STRING),
    },
}

_SPEC = _described("The desired state of the object.", {"type": "object"})
_STATUS = _described("The observed state of the object. Read-only for users.", {"type": "object"})

#: Top-level fields of kinds without spec and status.
_OTHER_FIELDS: dict[str, dict[str, dict[str, Any]]] = {
    "ConfigMap": {
        "binaryData": _described("Configuration data that is not text, in base64.", _STRING_MAP),
        "data": _described("The configuration data.", _STRING_MAP),
        "immutable": _described("Whether the data can no longer be changed.", {"type": "boolean"}),
    },
    "Secret": {
        "data": _described("The secret data in base64.", _STRING_MAP),
        "immutable": _described("Whether the data can no longer be changed.", {"type": "boolean"}),
        "stringData": _described("The secret data as plain text, for writing only.", _STRING_MAP),
        "type": _described("What programs expect of the data.", _STRING),
    },
    "PriorityClass": {
        "description": _described("When this class should be used.", _STRING),
        "globalDefault": _described("Whether pods without a class get this one.", {"type": "boolean"}),
        "preemptionPolicy": _described("Whether pods may preempt: PreemptLowerPriority or Never.", _STRING),
        "value": _described("The priority that pods of this class get.", {"type": "integer", "format": "int32"}),
    },
    "StorageClass": {
        "allowVolumeExpansion": _described("Whether volumes can grow.", {"type": "boolean"}),
        "parameters": _described("Parameters for the provisioner.", _STRING_MAP),
        "provisioner": _described("The provisioner of the volumes.", _STRING),
        "reclaimPolicy": _described("What happens to a released volume.", _STRING),
        "volumeBindingMode": _described("Immediate or WaitForFirstConsumer.", _STRING),
    },
    "Event": {
        "action": _described("What action was taken.", _STRING),
        "count": _described("How often this event occurred.", {"type": "integer"}),
        "involvedObject": _described("The object that this event is about.", {"type": "object"}),
        "message": _described("A description of what happened.", _STRING),
        "reason": _described("The reason, in one word.", _STRING),
        "type": _described("Normal or Warning.", _STRING),
    },
}


def built_in_schema(kind: str) -> dict[str, Any]:
    """The schema of a built-in kind, with its top-level fields only."""
    fields = _OTHER_FIELDS.get(kind) or {"spec": _SPEC, "status": _STATUS}
    return {
        "description": f"{kind} is a built-in kind of the Kubernetes API.",
        "type": "object",
        "properties": {
            "apiVersion": _described("The versioned schema of this representation of an object.", _STRING),
            "kind": _described("The resource that this object represents.", _STRING),
            **fields,
        },
    }
