"""Columns of events of both groups: `message` of the core group is `note` in the newer one."""

from __future__ import annotations

from datetime import datetime

from stromboli.local.discovery.printers.columns import Cell, Field, Object, at, text
from stromboli.local.discovery.printers.durations import UNKNOWN, age


def _last_seen(event: Object, now: datetime) -> Cell:
    first = _first_time(event)
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("deprecatedLastTimestamp") or first
    count = series.get("count") or _count(event)
    seen = age(last, now)
    return f"{seen} (x{count} over {age(first, now)})" if count > 1 and seen != UNKNOWN else seen


def _first_time(event: Object) -> object:
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    return first or event.get("eventTime") or at(event, "metadata", "creationTimestamp")


def _count(event: Object) -> int:
    return int(event.get("count") or event.get("deprecatedCount") or at(event, "series", "count") or 1)


def _about(event: Object) -> Object:
    return event.get("involvedObject") or event.get("regarding") or {}


def _event_object(event: Object, now: datetime) -> Cell:
    about = _about(event)
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_source(event: Object, now: datetime) -> Cell:
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    host = source.get("host")
    return f"{component}, {host}" if component and host else component


EVENTS = (
    Field("Last Seen", _last_seen),
    Field("Type", text("type")),
    Field("Reason", text("reason")),
    Field("Object", _event_object),
    Field("Subobject", lambda event, now: _about(event).get("fieldPath", ""), priority=1),
    Field("Source", _event_source, priority=1),
    Field("Message", lambda event, now: (event.get("message") or event.get("note") or "").strip()),
    Field("First Seen", lambda event, now: age(_first_time(event), now), priority=1),
    Field("Count", lambda event, now: _count(event), type="string", priority=1),
    Field("Name", text("metadata", "name"), format="name", priority=1),
)
