"""The pod templates of Volcano's kinds, with the queue and the priority class of the group that their pods get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stromboli.kube.objects.volcano_jobs import BATCH_GROUP
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.created_jobs import job_of_cron_job, job_of_flow
from stromboli.workloads.templates import VOLCANO_JOB, Kind, WorkloadTemplate, templates_of

CRON_JOB: Kind = (BATCH_GROUP, "CronJob")
JOB_TEMPLATE: Kind = ("flow.volcano.sh", "JobTemplate")
JOB_FLOW: Kind = ("flow.volcano.sh", "JobFlow")

#: Returns the spec of a JobTemplate by its key; None if it does not exist.
JobTemplateSpecs = Callable[[str], Mapping[str, Any] | None]


def volcano_templates_of(kind: Kind, document: Mapping[str, Any], specs: JobTemplateSpecs) -> list[WorkloadTemplate]:
    """Return the pod templates of a Job, CronJob, JobTemplate or JobFlow. Raises ObjectError for invalid ones."""
    if kind in (VOLCANO_JOB, JOB_TEMPLATE):
        return templates_of(VOLCANO_JOB, document)
    workload = WorkloadDocument(document)
    if kind == CRON_JOB:
        job = job_of_cron_job(workload, workload.name)
        return [_below("spec.jobTemplate", each) for each in templates_of(VOLCANO_JOB, job.document)]
    return list(_of_flow(workload, specs))


def _of_flow(flow: WorkloadDocument, specs: JobTemplateSpecs) -> Iterator[WorkloadTemplate]:
    """A flow patches its templates. Of a template that does not exist yet, only the patch is known."""
    for place in range(flow.length("spec.flows")):
        path = f"spec.flows[{place}]"
        job = job_of_flow(flow, place, specs(f"{flow.namespace}/{flow.text(f'{path}.name')}") or {})
        patch = f"{path}.patch.jobSpec"
        for template in templates_of(VOLCANO_JOB, job.document):
            names_queue = bool(flow.text(f"{patch}.queue"))
            yield replace(
                template,
                field=f"{path}: {template.field}",
                queue=template.queue._replace(field=f"{patch}.queue" if names_queue else f"{path}.name"),
                group_class_field=f"{patch if flow.text(f'{patch}.priorityClassName') else path}.priorityClassName",
            )


def _below(path: str, template: WorkloadTemplate) -> WorkloadTemplate:
    queue = template.queue
    return replace(
        template,
        field=f"{path}.{template.field}",
        queue=queue._replace(field=f"{path}.{queue.field}") if queue.field else queue,
        group_class_field=f"{path}.{template.group_class_field}",
    )
