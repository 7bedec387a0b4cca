"""Volcano's JobFlow and CronJob: Jobs from templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.kube.manifests.errors import ObjectError
from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.families.volcano.jobs import expand_volcano_job
from stromboli.workloads.templates import Kind

JOB_TEMPLATE: Kind = ("flow.volcano.sh", "JobTemplate")


def expand_job_flow(flow: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the Jobs of the flow that depend on no other; they are called `<flow>-<template>`."""
    found = Expansion()
    number = flow.length("spec.flows")
    if not number:
        raise flow.error("spec.flows", "is missing", "write at least one with the name of a JobTemplate")
    for place in range(number):
        path = f"spec.flows[{place}]"
        name = flow.text(f"{path}.name")
        targets = flow.length(f"{path}.dependsOn.targets")
        if targets:
            before = " and ".join(flow.text(f"{path}.dependsOn.targets[{each}]") for each in range(targets))
            found.notes.append(f"Job {name} is created after {before}")
        else:
            found.add(_job(flow, path, name, context))
    return found


def _job(flow: WorkloadDocument, path: str, name: str, context: ExpansionContext) -> Expansion:
    template = context.reference(flow, f"{path}.name", JOB_TEMPLATE, name)
    job = _created_job(flow, name, _patched(template.map("spec"), flow.map(f"{path}.patch.jobSpec")))
    try:
        return _without_fields(expand_volcano_job(job, context))
    except ObjectError as error:
        message = f"JobTemplate {name}: {error.field}: {error.message}"
        raise flow.error(f"{path}.name", message, error.remedy) from None


def expand_volcano_cron_job(cron_job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the Job of the next run, which is named like the CronJob here: its own name has the time of its run."""
    path = "spec.jobTemplate"
    job = WorkloadDocument(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {**cron_job.map(f"{path}.metadata"), **_identity(cron_job, cron_job.name)},
            "spec": cron_job.map(f"{path}.spec"),
        }
    )
    try:
        found = expand_volcano_job(job, context)
    except ObjectError as error:
        raise cron_job.error(f"{path}.{error.field}", error.message, error.remedy) from None
    found.pods = [each._replace(field=f"{path}.{each.field}") for each in found.pods]
    found.claims = [each._replace(field=f"{path}.{each.field}") for each in found.claims]
    found.notes.append(next_run_note(cron_job, context, "spec.timeZone"))
    return found


def _created_job(flow: WorkloadDocument, template: str, spec: Mapping[str, Any]) -> WorkloadDocument:
    """Return the Job of a template, which names both as its origin."""
    origin = {
        "volcano.sh/createdByJobTemplate": f"{flow.namespace}.{template}",
        "volcano.sh/createdByJobFlow": f"{flow.namespace}.{flow.name}",
    }
    metadata = {**_identity(flow, f"{flow.name}-{template}"), "labels": origin, "annotations": origin}
    document = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}
    return WorkloadDocument(document)


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


def _without_fields(found: Expansion) -> Expansion:
    """Fields of a JobTemplate are not fields of the flow."""
    found.pods = [each._replace(field="") for each in found.pods]
    found.claims = [each._replace(field="") for each in found.claims]
    return found
