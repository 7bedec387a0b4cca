"""Columns of nodes, namespaces, priority classes, leases, quotas, roles and configuration."""

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

_ROLE_PREFIX = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node_status(node: Object, now: datetime) -> Cell:
    ready = next((c for c in items(node, "status", "conditions") if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if at(node, "spec", "unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


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
