"""The JobTemplates that a JobFlow names: the Jobs of the flow have their queues and priority classes.

They are read when a flow is reviewed, and not watched: a template may be as large as a Job, and flows are rare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.admission.requests import Request
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import JOB_TEMPLATES
from stromboli.workloads.families.volcano.templates import JOB_FLOW


def needs_templates(request: Request) -> bool:
    return (request.kind.group, request.kind.kind) == JOB_FLOW and request.operation != "DELETE"


async def read_templates(client: Client, namespace: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the specs of the JobTemplates of a namespace by key. Raises RequestFailed."""
    try:
        listing = await client.list(JOB_TEMPLATES, namespace=namespace)
    except ApiError as error:
        if error.is_missing:
            return {}
        raise
    return {each.key: each.spec for each in listing.items}
