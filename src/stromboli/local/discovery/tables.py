"""Tables for `kubectl get`, rendered by the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from stromboli.local.api_server.registry import ServedResource
from stromboli.local.discovery.printers import cluster, storage, workloads
from stromboli.local.discovery.printers.columns import AGE, NAME, Cell, Field
from stromboli.local.discovery.printers.custom_columns import custom_columns
from stromboli.local.discovery.printers.durations import UNKNOWN
from stromboli.local.discovery.printers.pods import PODS

NAME_AND_AGE: tuple[Field, ...] = (NAME, AGE)

#: By group and plural.
BUILT_IN_COLUMNS: Mapping[tuple[str, str], tuple[Field, ...]] = {
    ("", "configmaps"): cluster.CONFIG_MAPS,
    ("", "events"): cluster.EVENTS,
    ("", "namespaces"): cluster.NAMESPACES,
    ("", "nodes"): cluster.NODES,
    ("", "persistentvolumeclaims"): storage.VOLUME_CLAIMS,
    ("", "persistentvolumes"): storage.VOLUMES,
    ("", "pods"): PODS,
    ("", "resourcequotas"): cluster.RESOURCE_QUOTAS,
    ("", "secrets"): cluster.SECRETS,
    ("", "serviceaccounts"): cluster.SERVICE_ACCOUNTS,
    ("", "services"): workloads.SERVICES,
    ("apiextensions.k8s.io", "customresourcedefinitions"): cluster.DEFINITIONS,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("batch", "cronjobs"): workloads.CRON_JOBS,
    ("batch", "jobs"): workloads.JOBS,
    ("coordination.k8s.io", "leases"): cluster.LEASES,
    ("events.k8s.io", "events"): cluster.EVENTS,
    ("policy", "poddisruptionbudgets"): workloads.DISRUPTION_BUDGETS,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): cluster.ROLE_BINDINGS,
    ("rbac.authorization.k8s.io", "clusterroles"): cluster.ROLES,
    ("rbac.authorization.k8s.io", "rolebindings"): cluster.ROLE_BINDINGS,
    ("rbac.authorization.k8s.io", "roles"): cluster.ROLES,
    ("resource.k8s.io", "resourceclaims"): storage.RESOURCE_CLAIMS,
    ("resource.k8s.io", "resourceslices"): storage.RESOURCE_SLICES,
    ("scheduling.k8s.io", "priorityclasses"): cluster.PRIORITY_CLASSES,
    ("storage.k8s.io", "csidrivers"): storage.CSI_DRIVERS,
    ("storage.k8s.io", "csinodes"): storage.CSI_NODES,
    ("storage.k8s.io", "csistoragecapacities"): storage.CSI_CAPACITIES,
    ("storage.k8s.io", "storageclasses"): storage.STORAGE_CLASSES,
    ("storage.k8s.io", "volumeattachments"): storage.VOLUME_ATTACHMENTS,
}


def wants_table(accept: str) -> bool:
    """Report whether the client prefers a table to objects; the first supported media type decides."""
    for choice in accept.split(","):
        parts = [part.strip() for part in choice.split(";")]
        if "as=Table" in parts and "g=meta.k8s.io" in parts and parts[0] in ("application/json", "*/*"):
            if "v=v1" in parts:
                return True
        elif parts[0] in ("application/json", "*/*", "application/*"):
            return False
    return False


def table(
    resource: ServedResource,
    objects: Iterable[dict[str, Any]],
    *,
    now: datetime,
    include_object: str = "Metadata",
    with_columns: bool = True,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A table with a row per object. `metadata` is that of the list: version, continuation.

    All columns are included with their priority: the client selects those that fit. A watch sends the column
    definitions with its first event only.
    """
    fields = _fields(resource)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [_definition(field) for field in fields] if with_columns else [],
        "rows": [_row(fields, entry, now, include_object) for entry in objects],
    }


def _fields(resource: ServedResource) -> tuple[Field, ...]:
    if resource.is_custom:
        return custom_columns(resource.columns)
    return BUILT_IN_COLUMNS.get((resource.group, resource.plural), NAME_AND_AGE)


def _definition(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.type,
        "format": field.format,
        "description": field.description,
        "priority": field.priority,
    }


def _row(fields: tuple[Field, ...], entry: dict[str, Any], now: datetime, include_object: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [_cell(field, entry, now) for field in fields]}
    if include_object == "Object":
        row["object"] = entry
    elif include_object != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": entry.get("metadata") or {},
        }
    return row


def _cell(field: Field, entry: dict[str, Any], now: datetime) -> Cell:
    """The cell of a field; a field of the wrong type is an unknown cell, not an error."""
    try:
        return field.read(entry, now)
    except (AttributeError, TypeError, ValueError):
        return UNKNOWN
