"""Volcano's JobFlow and CronJob: Jobs from templates."""

from __future__ import annotations

from stromboli.kube.manifests.errors import ObjectError
from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion, ExpansionContext
from stromboli.workloads.families.volcano.created_jobs import job_of_cron_job, job_of_flow
from stromboli.workloads.families.volcano.jobs import expand_volcano_job
from stromboli.workloads.families.volcano.rules.cron_jobs import CRON_JOB_RULES
from stromboli.workloads.families.volcano.rules.findings import findings_by, raise_first
from stromboli.workloads.families.volcano.rules.flows import flow_findings
from stromboli.workloads.families.volcano.templates import JOB_TEMPLATE


def expand_job_flow(flow: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the Jobs of the flow that depend on no other; they are called `<flow>-<template>`."""
    found = Expansion()
    raise_first(flow, flow_findings(flow))
    number = flow.length("spec.flows")
    if not number:
        raise flow.error("spec.flows", "is missing", "write at least one with the name of a JobTemplate")
    for place in range(number):
        path = f"spec.flows[{place}]"
        name = flow.text(f"{path}.name")
        targets = flow.length(f"{path}.dependsOn.targets")
        if targets:
            context.named.add((JOB_TEMPLATE, f"{flow.namespace}/{name}"))
            before = " and ".join(flow.text(f"{path}.dependsOn.targets[{each}]") for each in range(targets))
            found.notes.append(f"Job {name} is created after {before}")
            context.named.add((JOB_TEMPLATE, f"{flow.namespace}/{name}"))
        else:
            found.add(_job(flow, place, name, context))
    return found


def _job(flow: WorkloadDocument, place: int, name: str, context: ExpansionContext) -> Expansion:
    path = f"spec.flows[{place}]"
    template = context.reference(flow, f"{path}.name", JOB_TEMPLATE, name)
    try:
        return _without_fields(expand_volcano_job(job_of_flow(flow, place, template.map("spec")), context))
    except ObjectError as error:
        message = f"JobTemplate {name}: {error.field}: {error.message}"
        raise flow.error(f"{path}.name", message, error.remedy) from None


def expand_volcano_cron_job(cron_job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the Job of the next run, which is named like the CronJob here: its own name has the time of its run."""
    path = "spec.jobTemplate"
    raise_first(cron_job, findings_by(CRON_JOB_RULES, cron_job))
    try:
        found = expand_volcano_job(job_of_cron_job(cron_job, cron_job.name), context)
    except ObjectError as error:
        raise cron_job.error(f"{path}.{error.field}", error.message, error.remedy) from None
    found.pods = [each._replace(field=f"{path}.{each.field}") for each in found.pods]
    found.claims = [each._replace(field=f"{path}.{each.field}") for each in found.claims]
    found.notes.append(next_run_note(cron_job, context, "spec.timeZone"))
    return found


def _without_fields(found: Expansion) -> Expansion:
    """Fields of a JobTemplate are not fields of the flow."""
    found.pods = [each._replace(field="") for each in found.pods]
    found.claims = [each._replace(field="") for each in found.claims]
    return found
