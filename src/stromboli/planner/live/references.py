"""Objects of a cluster that others name: those of workloads, such as the JobTemplates of a JobFlow, and of policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.fields.template_kinds import template_path
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.workloads.expansion import ReferenceDenied
from stromboli.workloads.templates import Kind


async def find_reference(client: Client, kind: Kind, namespace: str, name: str) -> Mapping[str, Any] | None:
    """Read an object; None if it, or its kind, does not exist. Raises ReferenceDenied, or RequestFailed."""
    try:
        found = msgspec.json.decode(await client.request("GET", template_path(kind, namespace, name)))
    except ApiError as error:
        if error.is_missing:
            return None
        if error.is_denied:
            message = f"{kind[1]} {name} may not be read in the cluster; ask for the ClusterRole stromboli-viewer"
            raise ReferenceDenied(message) from error
        raise
    return found if isinstance(found, dict) else None


async def read_config_maps(client: Client, keys: Sequence[str]) -> tuple[list[ConfigMap], list[str]]:
    """Read the ConfigMaps that a policy names; return warnings about missing ones, too. Raises RequestFailed."""
    found, warnings = [], []
    for key in keys:
        namespace, _, name = key.partition("/")
        try:
            found.append(await client.get(CONFIG_MAPS, name, namespace=namespace))
        except ApiError as error:
            if not (error.is_missing or error.is_denied):
                raise
            cause = "may not be read" if error.is_denied else "does not exist"
            warnings.append(f"ConfigMap {key}, which the policy names, {cause}; it counts as empty")
    return found, warnings
