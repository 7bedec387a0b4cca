"""The JobTemplates that a JobFlow names: the Jobs of the flow have their queues and priority classes.

They are read when a flow is reviewed, and not watched: a template may be as large as a Job, and flows are rare.
Templates that cannot be read count as missing ones, whose flow waits for them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from stromboli.admission.requests import Request
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.workloads.families.volcano.templates import JOB_FLOW

_log = logging.getLogger("stromboli.admission")

JobTemplateSpecs = Mapping[str, Mapping[str, Any]]


class _Metadata(msgspec.Struct):
    name: str = ""


class _Template(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: dict[str, Any] = msgspec.field(default_factory=dict)


class _Templates(msgspec.Struct):
    items: list[_Template] = msgspec.field(default_factory=list)


def needs_templates(request: Request) -> bool:
    return (request.kind.group, request.kind.kind) == JOB_FLOW and request.operation != "DELETE"


async def read_templates(client: Client, namespace: str) -> JobTemplateSpecs:
    """Return the specs of the JobTemplates of a namespace by key."""
    try:
        answer = await client.request("GET", f"/apis/flow.volcano.sh/v1alpha1/namespaces/{namespace}/jobtemplates")
        found = msgspec.json.decode(answer, type=_Templates).items
    except (RequestFailed, msgspec.DecodeError) as error:
        if not (isinstance(error, ApiError) and error.is_missing):
            _log.warning("job templates not listed", extra={"namespace": namespace, "error": str(error)})
        return {}
    return {f"{namespace}/{each.metadata.name}": each.spec for each in found}
