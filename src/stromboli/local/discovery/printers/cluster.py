"""Columns of nodes, namespaces, priority classes, leases, quotas, roles, configuration and events.

Events are served by two groups: `message` of the core group is `note` in the newer one.
"""

from __future__ import annotations

from datetime import datetime

from stromboli.local.discovery.printers.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Cell,
    Field,
    Object,
    at,
    items,
    number,
    size,
    text,
)
from stromboli.local.discovery.printers.durations import UNKNOWN, age

_ROLE_PREFIX = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node_status(node: Object, now: datetime) -> Cell:
    ready = next((c for c in items(node, "status", "conditions") if c.get("type") == "Ready"), None)
    states = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if at(node, "spec", "unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _node_roles(node: Object, now: datetime) -> Cell:
    labels = at(node, "metadata", "labels") or {}
    roles = {name.removeprefix(_ROLE_PREFIX) for name in labels if name.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(role for role in roles if role)) or NONE


def _address(kind: str) -> Field:
    def read(node: Object, now: datetime) -> Cell:
        addresses = items(node, "status", "addresses")
        return next((entry.get("address") for entry in addresses if entry.get("type") == kind), NONE)

    return Field("Internal-IP" if kind == "InternalIP" else "External-IP", read, priority=1)


def _node_fact(name: str, field: str) -> Field:
    return Field(name, text("status", "nodeInfo", field, default=_UNKNOWN), priority=1)


NODES = (
    NAME,
    Field("Status", _node_status, description="Whether the node accepts pods."),
    Field("Roles", _node_roles),
    AGE,
    Field("Version", text("status", "nodeInfo", "kubeletVersion")),
    _address("InternalIP"),
    _address("ExternalIP"),
    _node_fact("OS-Image", "osImage"),
    _node_fact("Kernel-Version", "kernelVersion"),
    _node_fact("Container-Runtime", "containerRuntimeVersion"),
)

NAMESPACES = (NAME, Field("Status", text("status", "phase")), AGE)

PRIORITY_CLASSES = (
    NAME,
    Field("Value", number("value"), type="integer"),
    Field("Global-Default", lambda entry, now: bool(entry.get("globalDefault")), type="boolean"),
    AGE,
    Field("PreemptionPolicy", text("preemptionPolicy", default="PreemptLowerPriority")),
)

LEASES = (NAME, Field("Holder", text("spec", "holderIdentity")), AGE)


def _quota(name: str, *, limits: bool) -> Field:
    def read(quota: Object, now: datetime) -> Cell:
        hard, used = at(quota, "status", "hard") or at(quota, "spec", "hard") or {}, at(quota, "status", "used") or {}
        amounts = sorted(amount for amount in hard if amount.startswith("limits.") == limits)
        return ", ".join(f"{amount}: {used.get(amount, '0')}/{hard[amount]}" for amount in amounts)

    return Field(name, read)


RESOURCE_QUOTAS = (NAME, _quota("Request", limits=False), _quota("Limit", limits=True), AGE)

CONFIG_MAPS = (
    NAME,
    Field("Data", lambda entry, now: len(entry.get("data") or ()) + len(entry.get("binaryData") or ()), type="string"),
    AGE,
)
SECRETS = (NAME, Field("Type", text("type")), Field("Data", size("data"), type="string"), AGE)
SERVICE_ACCOUNTS = (NAME, Field("Secrets", size("secrets"), type="string"), AGE)

ROLES = (NAME, CREATED_AT)


def _role(binding: Object, now: datetime) -> Cell:
    return f"{at(binding, 'roleRef', 'kind')}/{at(binding, 'roleRef', 'name')}"


ROLE_BINDINGS = (NAME, Field("Role", _role), AGE)
DEFINITIONS = (NAME, CREATED_AT)


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
