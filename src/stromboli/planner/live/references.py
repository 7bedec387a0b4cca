"""Objects of a cluster that workloads of files refer to, such as the JobTemplates of a JobFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.fields.template_kinds import template_path
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
