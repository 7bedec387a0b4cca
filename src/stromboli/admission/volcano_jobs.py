"""Rules for Volcano's Jobs, CronJobs, JobTemplates, JobFlows and Commands.

What such an object must satisfy is decided by the tables that controllers and plans use, too. Queue and priority class
are checked as those of other workloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
#: Maximum number of violations, and of warnings, in an answer.
_MAX_MESSAGES = 50


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
    found = list(findings)
    violations = _first_of([str(each) for each in found if not each.is_warning])
    warnings = _first_of([str(each) for each in found if each.is_warning])
    return GOOD.plus(refused(*map(Violation, violations)), warned(*warnings))


def _first_of(messages: Sequence[str]) -> Sequence[str]:
    """Return the first messages and the number of the others: an object may have any number of mistakes."""
    more = len(messages) - _MAX_MESSAGES
    return messages if more <= 1 else (*messages[:_MAX_MESSAGES], f"{more} more problems")
