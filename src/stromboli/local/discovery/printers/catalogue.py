"""Columns of the built-in kinds; other kinds show name and age."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.local.discovery.printers import cluster, storage, workloads
from stromboli.local.discovery.printers.columns import AGE, NAME, Field
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
