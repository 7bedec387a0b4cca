"""The Jobs that the controllers of CronJobs and JobFlows create, as documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.users import USER

#: Labels and annotations of the Jobs of flows, with `<namespace>.<name>`.
CREATED_BY_TEMPLATE, CREATED_BY_FLOW = "volcano.sh/createdByJobTemplate", "volcano.sh/createdByJobFlow"
_API_VERSION, _KIND = "batch.volcano.sh/v1alpha1", "Job"


def job_of_cron_job(cron_job: WorkloadDocument, name: str) -> WorkloadDocument:
    """Return the Job of a run, with this name."""
    template = "spec.jobTemplate"
    metadata = {**cron_job.map(f"{template}.metadata"), **_identity(cron_job, name)}
    return _job(metadata, cron_job.map(f"{template}.spec"))


def job_of_flow(flow: WorkloadDocument, place: int, template: Mapping[str, Any]) -> WorkloadDocument:
    """Return the Job of an entry in `spec.flows`, which names the spec of this template; it is called
    `<flow>-<template>` and names both as its origin. Its user is that of the flow.
    """
    path = f"spec.flows[{place}]"
    name = flow.text(f"{path}.name")
    origin = {
        CREATED_BY_TEMPLATE: f"{flow.namespace}.{name}",
        CREATED_BY_FLOW: f"{flow.namespace}.{flow.name}",
    }
    user = {USER: flow.annotations[USER]} if USER in flow.annotations else {}
    metadata = {**_identity(flow, f"{flow.name}-{name}"), "labels": origin, "annotations": {**origin, **user}}
    return _job(metadata, _patched(template, flow.map(f"{path}.patch.jobSpec")))


def _job(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> WorkloadDocument:
    return WorkloadDocument({"apiVersion": _API_VERSION, "kind": _KIND, "metadata": metadata, "spec": spec})


def _patched(spec: Mapping[str, Any], patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec of a template with the patch of the flow, which replaces the minimum in any case."""
    if not patch:
        return spec
    return {**_merged(spec, patch), "minAvailable": patch.get("minAvailable")}


def _merged(own: Any, other: Any) -> Any:
    """Merge maps by key, and lists of named entries by name; other values are replaced."""
    if isinstance(own, Mapping) and isinstance(other, Mapping):
        return {**own, **{key: _merged(own.get(key), value) for key, value in other.items() if value not in (None, "")}}
    if _is_named(own) and _is_named(other):
        changes = {each["name"]: each for each in other}
        names = {each["name"] for each in own}
        merged = [_merged(each, changes.get(each["name"], {})) for each in own]
        return [*merged, *(each for each in other if each["name"] not in names)]
    return other


def _is_named(value: Any) -> bool:
    entries = value if isinstance(value, list) else [None]
    return all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in entries)


def _identity(owner: WorkloadDocument, name: str) -> dict[str, str]:
    created = owner.text("metadata.creationTimestamp")
    return {"name": name, "namespace": owner.namespace, **({"creationTimestamp": created} if created else {})}
