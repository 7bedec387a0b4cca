"""Where in the topology a pod runs: it learns that from the labels of its node in the moment it gets one."""

from __future__ import annotations

from stromboli.local.api_server.store import Object, Store

_COPIED = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def topology_labels(store: Store, node: str) -> dict[str, str]:
    """The labels that a pod on this node takes over; none when nobody knows the node."""
    entry = store.collection("", "nodes").get(("", node))
    labels = (entry.metadata.get("labels") or {}) if entry is not None else {}
    return {name: labels[name] for name in _COPIED if name in labels}


def with_labels(metadata: Object, labels: dict[str, str]) -> Object:
    """The metadata with these labels over the ones that are there."""
    return {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}} if labels else metadata
