"""Binding of pods to nodes."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.errors import StatusError, bad_request, conflict
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.api_server.write_options import WriteOptions
from stromboli.local.api_server.writes import Writes
from stromboli.local.kinds.pods.defaults import topology_labels, with_labels
from stromboli.local.kinds.pods.pods import with_condition
from stromboli.local.kinds.validation.types import BindingTypes, check_type

_SCHEDULED = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}


def bind(
    store: Store, writes: Writes, pods: ServedResource, entry: StoreEntry, binding: Any, options: WriteOptions
) -> StoreEntry:
    """Bind the pod, and set the binding's annotations and labels in the same write."""
    check_type(binding, BindingTypes, "Binding")
    metadata = binding.get("metadata") or {}
    _check_place(entry, metadata)
    node = _target(binding.get("target") or {})
    _check(pods, entry, metadata)
    pod = entry.body
    status = {key: value for key, value in (pod.get("status") or {}).items() if key != "nominatedNodeName"}
    body = {
        **pod,
        "metadata": with_labels(_merged_metadata(pod["metadata"], metadata), topology_labels(store, node)),
        "spec": {**pod["spec"], "nodeName": node},
        "status": with_condition(status, _SCHEDULED),
    }
    return writes.store_marked(pods, entry, body, options)


def _check_place(entry: StoreEntry, metadata: Object) -> None:
    if metadata.get("name") != entry.key[1]:
        raise bad_request("name in URL does not match name in Binding object")
    if metadata.get("namespace") not in (None, "", entry.key[0]):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _target(target: Object) -> str:
    if target.get("kind") not in (None, "", "Node"):
        why = f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"'
        raise StatusError(500, "", f"target.kind: {why}")
    if not target.get("name"):
        raise StatusError(500, "", "target.name: Required value")
    return str(target["name"])


def _check(pods: ServedResource, entry: StoreEntry, binding: Object) -> None:
    name, found = entry.key[1], entry.metadata
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if binding.get(field) and binding[field] != found[field]:
            why = f"{label} in precondition: {binding[field]}, {label} in object meta: {found[field]}"
            raise conflict(pods, name, f"Precondition failed: {why}")
    if "deletionTimestamp" in found:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node := entry.body["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{node}"'
    elif entry.body["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise conflict(pods, name, why, subresource="binding")


def _merged_metadata(found: Object, binding: Object) -> Object:
    merged = dict(found)
    for part in ("annotations", "labels"):
        if binding.get(part):
            merged[part] = {**(found.get(part) or {}), **binding[part]}
    return merged
