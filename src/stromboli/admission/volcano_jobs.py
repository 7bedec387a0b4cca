"""Rules for Volcano's Jobs, CronJobs, JobTemplates, JobFlows and Commands.

What such an object must satisfy is decided by the tables that controllers and plans use, too. Queue and priority class
are checked as those of other workloads.
"""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.admission.requests import Document
from stromboli.admission.verdict import GOOD, AdmissionVerdict, QueueUse, Violation, refused, warned
from stromboli.controllers.jobs.plugins.registry import JobPlugins
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.commands import QUEUE, command_findings, target_of
from stromboli.workloads.families.volcano.rules.cron_jobs import cron_job_findings
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.flows import flow_findings
from stromboli.workloads.families.volcano.rules.jobs import job_findings
from stromboli.workloads.families.volcano.rules.updates import update_findings
from stromboli.workloads.families.volcano.templates import CRON_JOB, JOB_FLOW, JOB_TEMPLATE
from stromboli.workloads.templates import VOLCANO_JOB, Kind

VOLCANO_WORKLOADS: tuple[Kind, ...] = (VOLCANO_JOB, CRON_JOB, JOB_TEMPLATE, JOB_FLOW)
#: The verb on queues that opens and closes them.
_CHANGE = "update"


def validate_volcano_workload(kind: Kind, document: Document, plugins: JobPlugins) -> AdmissionVerdict:
    """Validate an object independently of the user and of other objects."""
    workload = WorkloadDocument(document)
    if kind == JOB_FLOW:
        return _verdict(flow_findings(workload))
    rules = (plugins.findings,)
    return _verdict(cron_job_findings(workload, rules) if kind == CRON_JOB else job_findings(workload, rules))


def validate_job_update(before: Document, after: Document, plugins: JobPlugins) -> AdmissionVerdict:
    return _verdict(update_findings(WorkloadDocument(before), WorkloadDocument(after), plugins.required_by))


def review_command(document: Document) -> AdmissionVerdict:
    """Commands on queues have the effect of a change, so that the user must be allowed to change the queue."""
    command = WorkloadDocument(document)
    verdict = _verdict(command_findings(command))
    if verdict.is_allowed and target_of(command) == QUEUE:
        return verdict.plus(AdmissionVerdict(uses=(QueueUse(command.text("target.name"), "target.name", _CHANGE),)))
    return verdict


def _verdict(findings: Iterable[RuleFinding]) -> AdmissionVerdict:
    verdict = GOOD
    for each in findings:
        verdict = verdict.plus(warned(str(each)) if each.is_warning else refused(Violation(str(each))))
    return verdict
