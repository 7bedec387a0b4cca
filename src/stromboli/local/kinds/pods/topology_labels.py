"""Topology labels of pods, copied from their node at binding."""

from __future__ import annotations

from stromboli.local.api_server.store import Object, Store

_COPIED = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def topology_labels(store: Store, node: str) -> dict[str, str]:
    """The labels that a pod on this node gets; none if the node is unknown."""
    entry = store.collection("", "nodes").get(("", node))
    labels = (entry.metadata.get("labels") or {}) if entry is not None else {}
    return {name: labels[name] for name in _COPIED if name in labels}


def with_labels(metadata: Object, labels: dict[str, str]) -> Object:
    """The metadata with these labels added."""
    return {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}} if labels else metadata
