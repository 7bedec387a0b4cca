"""Events in two groups: `v1` and `events.k8s.io/v1` name the same fields differently and show the same objects."""

from __future__ import annotations

from typing import Any

from stromboli.local.api_server.store import Object

EVENTS_GROUP = "events.k8s.io"
_API_VERSION = f"{EVENTS_GROUP}/v1"

#: The newer name of a field, and the one under which it is kept.
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
    """An event of the newer group in the form in which events are kept."""
    return {**_renamed(body, _NAMES), "apiVersion": "v1"}


def from_core_event(body: Object) -> Object:
    """A kept event as the newer group shows it."""
    return {**_renamed(body, _NEWER), "apiVersion": _API_VERSION}


def _renamed(body: Object, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in body.items()}
