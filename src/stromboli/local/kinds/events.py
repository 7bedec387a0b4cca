"""Events: validation, and the two groups `v1` and `events.k8s.io/v1`, which serve the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.validation.field_errors import required, wrong
from stromboli.local.kinds.validation.names import qualified_problem

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


#: Fields that Kubernetes serves even when they are empty; `kubectl get --sort-by` needs them.
_ALWAYS_SERVED: dict[str, Any] = {
    "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None, "reportingComponent": "",
    "reportingInstance": "",
}  # fmt: skip


def set_empty_fields(body: Object) -> None:
    """Set the fields that are served even when they are empty, in the form of the body's group."""
    names = _NEWER if body.get("apiVersion") == _API_VERSION else {}
    for field, empty in _ALWAYS_SERVED.items():
        body.setdefault(names.get(field, field), empty)


def to_core_event(body: Object) -> Object:
    """Convert an event of the newer group to the stored form."""
    return {**_renamed(body, _NAMES), "apiVersion": "v1"}


def from_core_event(body: Object) -> Object:
    """Convert a stored event to the newer group."""
    return {**_renamed(body, _NEWER), "apiVersion": _API_VERSION}


def _renamed(body: Object, names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in body.items()}


_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_NEEDED = ("reportingInstance", "action", "reason")
_ELSEWHERE = "does not match event.namespace"
_TYPES = ("Normal", "Warning")
#: Fields that only the core group may set.
_OLDER = ("firstTimestamp", "lastTimestamp", "count", "source")
#: Namespaces of events about cluster-scoped objects.
_COMMON_NAMESPACES = ("default", "kube-system")
_SETTLED = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reportingComponent",
    "reportingInstance", "action", "related", "type", "eventTime",
)  # fmt: skip


def core_event_causes(event: Object) -> Iterator[Cause]:
    """Rules of the core group: an event without an event time is in the namespace of its object."""
    about, namespace = _namespaces(event)
    if event.get("eventTime"):
        yield from _reported_causes(event, "reportingComponent")
    elif about != namespace and (about or namespace != "default"):
        yield wrong("involvedObject.namespace", about, _ELSEWHERE)


def _namespaces(event: Object) -> tuple[str, str]:
    return (event.get("involvedObject") or {}).get("namespace") or "", event["metadata"].get("namespace", "")


def event_causes(event: Object) -> Iterator[Cause]:
    """Rules of the events.k8s.io group."""
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in _TYPES:
        yield wrong("type", "", f"has invalid value: {event.get('type') or ''}")
    yield from _reported_causes(event, "reportingController")
    yield from (wrong(field, "", "needs to be unset") for field in _OLDER if event.get(field))
    yield from series_causes(event.get("series"))


def _reported_causes(event: Object, reporter_field: str) -> Iterator[Cause]:
    about, namespace = _namespaces(event)
    if not about and namespace not in _COMMON_NAMESPACES:
        yield wrong("involvedObject.namespace", about, _ELSEWHERE)
    yield from _reporter_causes(reporter_field, event.get("reportingComponent") or "")
    for field, limit in _LIMITS.items():
        text = event.get(field) or ""
        if not text and field in _NEEDED:
            yield required(field)
        if len(text.encode()) > limit:
            yield wrong(field, "", f"can have at most {limit} characters")


def _reporter_causes(field: str, reporter: str) -> Iterator[Cause]:
    if not reporter:
        yield required(field)
    if problem := qualified_problem(reporter):
        yield wrong(field, reporter, problem)


def series_causes(series: Object | None) -> Iterator[Cause]:
    """A series has at least two occurrences."""
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield wrong("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def changed_causes(old: Object, new: Object) -> Iterator[Cause]:
    """Events are immutable, except for their series."""
    for field in _SETTLED:
        if (old.get(field) or None) != (value := new.get(field) or None):
            yield wrong(field, value, "field is immutable")
