"""Events in two groups: `v1` and `events.k8s.io/v1` serve the same objects with different field names."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.store import Object

EVENTS_GROUP = "events.k8s.io"
_API_VERSION = f"{EVENTS_GROUP}/v1"

#: Names of a field in the newer group, and in the stored form.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NEWER = {older: newer for newer, older in _NAMES.items()}


def to_core_event(body: Object) -> Object:
    """Convert an event of the newer group to the stored form."""
    return {**_renamed(body, _NAMES), "apiVersion": "v1"}


def from_core_event(body: Object) -> Object:
    """Convert a stored event to the newer group."""
    return {**_renamed(body, _NEWER), "apiVersion": _API_VERSION}


def _renamed(body: Object, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in body.items()}
