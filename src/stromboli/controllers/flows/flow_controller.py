"""The controller of JobFlows: creates the Job of each entry when what it depends on holds.

Names of Jobs follow from the flow and the template, so that a run that is repeated after a crash creates no second Job.
A Job that has ended is not created again, also after it was deleted; one that was deleted before its end is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.controllers.flows.flow_status import FAILED, SUCCEED, TERMINATING, in_phase, states_of, status_of
from stromboli.controllers.flows.probe_tasks import ProbeAnswer, ProbeKey, ProbeTasks
from stromboli.controllers.flows.probes import ProbeRunner, statuses_hold
from stromboli.controllers.flows.steps import FlowStep, steps_of
from stromboli.controllers.job_creation import JobCreator, JobNotCreated
from stromboli.controllers.jobs.phases import COMPLETED
from stromboli.controllers.owned_jobs import JobsOfOwner, OwnedJobs
from stromboli.controllers.status_patches import StatusPatcher
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import JOB_FLOWS
from stromboli.kube.objects.event import reference_to
from stromboli.kube.objects.volcano_jobs import JobFlow, JobFlowStatus, JobTemplate, VolcanoJob
from stromboli.kube.watch.informer import GatedInformer, Informer
from stromboli.kube.work.work_queue import WorkQueue, namespace_of
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.created_jobs import job_of_flow
from stromboli.workloads.families.volcano.rules.findings import raise_first
from stromboli.workloads.families.volcano.rules.flows import flow_findings
from stromboli.workloads.pod_documents import owner_of

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

BLOCKED_SECONDS = 10.0
"""The delay before a Job is tried again that could not be created."""
CONFLICT_SECONDS = 0.5
_DELETE = "delete"
_NORMAL, _WARNING = "Normal", "Warning"


class JobFlowController:
    """Runs all flows. Invalid ones get the phase Failed and an event, and affect no others."""

    def __init__(
        self,
        client: Client,
        flows: GatedInformer[JobFlow],
        templates: Informer[JobTemplate],
        jobs: GatedInformer[VolcanoJob],
        recorder: EventRecorder,
        probes: ProbeRunner | None = None,
    ) -> None:
        self._recorder = recorder
        self._flows, self._templates, self._jobs = flows, templates, jobs
        self._probes = probes or ProbeRunner(client)
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="jobflows", group=namespace_of)
        self._probe_tasks = ProbeTasks(lambda namespace, flow: self.work.add(f"{namespace}/{flow}"))
        self._owned = OwnedJobs(jobs, flows, self.work.add)
        self._writer, self._creator = StatusPatcher(client, flows), JobCreator(client, jobs)
        flows.listen(self._flow_changed)
        templates.listen(self._template_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        for informer in (self._flows, self._templates, self._jobs):
            await informer.synced.wait()
        try:
            await self.work.run()
        finally:
            self._probe_tasks.close()

    def _flow_changed(self, old: JobFlow | None, new: JobFlow | None) -> None:
        if old is not None and (new is None or _probed_version(new) != _probed_version(old)):
            self._probe_tasks.forget(old.metadata.namespace, old.metadata.name)
        if new is not None:
            self.work.add(new.key)

    def _template_changed(self, old: JobTemplate | None, new: JobTemplate | None) -> None:
        """Flows whose templates were missing, or made invalid Jobs, are tried again."""
        if new is None or (old is not None and old.spec == new.spec):
            return
        for flow in self._flows.objects.values():
            if flow.metadata.namespace == new.metadata.namespace:
                self.work.add(flow.key)

    # -- one run ------------------------------------------------------------------------------------------------

    async def _reconcile(self, key: str) -> float | None:
        flow = self._flows.objects.get(key)
        if flow is None:
            self._probe_tasks.forget(*key.split("/", 1))
            return None
        try:
            if flow.metadata.deletion_timestamp is not None:
                await self._write(flow, in_phase(flow.status, TERMINATING))
                return None
            return await self._advance(flow)
        except ObjectError as error:
            self._record(flow, _WARNING, "InvalidJobFlow", str(error))
            await self._write(flow, in_phase(flow.status, FAILED))
            return None
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._writer.live(flow)
            return CONFLICT_SECONDS

    async def _advance(self, flow: JobFlow) -> float | None:
        """Write the status, then create the Jobs whose turn it is, or delete those of a flow that has succeeded."""
        document = document_of_flow(flow)
        jobs = self._owned.of(flow.metadata.uid)
        if flow.status.state.phase == SUCCEED:
            await self._clean_up(flow, document, jobs)
            return None
        raise_first(document, flow_findings(document))
        steps = steps_of(document)
        status = status_of(flow.status, [step.job for step in steps], jobs.all)
        flow = await self._write(flow, status)
        self._owned.recorded(flow.metadata.uid, jobs)
        if status.state.phase in (SUCCEED, FAILED):
            return None  # The write of the phase starts another run, which deletes the Jobs.
        return await self._create_jobs(flow, document, steps, jobs.present)

    async def _clean_up(self, flow: JobFlow, document: WorkloadDocument, jobs: JobsOfOwner) -> None:
        if document.text("spec.jobRetainPolicy") != _DELETE:
            return
        for job in jobs.present.values():
            if await self._creator.delete(job):
                note = f"deleted Job {job.metadata.name}: the flow has succeeded"
                self._record(flow, _NORMAL, "SuccessfulDelete", note)

    # -- Jobs ---------------------------------------------------------------------------------------------------

    async def _create_jobs(
        self, flow: JobFlow, document: WorkloadDocument, steps: Sequence[FlowStep], present: Mapping[str, VolcanoJob]
    ) -> float | None:
        """Create the Jobs whose turn it is; return the seconds until another attempt."""
        states = states_of(flow.status)
        waits: list[float] = []
        for step in steps:
            if step.job in states:
                continue
            answer = self._is_due(flow, step, states, present)
            waits.append(await self._create_job(flow, document, step) if answer.passed else answer.wait)
        return min((seconds for seconds in waits if seconds), default=None)

    def _is_due(
        self, flow: JobFlow, step: FlowStep, states: Mapping[str, str], present: Mapping[str, VolcanoJob]
    ) -> ProbeAnswer:
        """Report whether a Job is to be created, or when to ask again; events report what is not known yet."""
        probe = step.probe
        if probe is None or not step.targets:
            return ProbeAnswer(all(states.get(name) == COMPLETED for name in step.targets))
        targets = [present[name] for name in step.targets if name in present]
        if not all(name in states for name in step.targets) or not statuses_hold(probe, targets):
            return ProbeAnswer(passed=False)
        if not probe.uses_network:
            return ProbeAnswer(passed=True)
        key = ProbeKey(flow.metadata.namespace, flow.metadata.name, step.job)
        phases = tuple((job.metadata.uid, job.metadata.generation, job.status.state.phase) for job in targets)
        return self._probe_tasks.ask(key, (_probed_version(flow), phases), partial(self._probes.passes, probe, targets))

    async def _create_job(self, flow: JobFlow, document: WorkloadDocument, step: FlowStep) -> float:
        """Create a Job; return the seconds until another attempt, 0 if it exists."""
        template = self._templates.objects.get(f"{flow.metadata.namespace}/{step.template}")
        if template is None:
            note = f"JobTemplate {step.template} does not exist; create it, and Job {step.job} follows"
            self._record(flow, _WARNING, "MissingJobTemplate", note)
            return 0.0
        if await self._writer.live(flow) is None:
            return 0.0
        try:
            is_new = await self._creator.create(_created(document, step, template.spec), flow.metadata.uid)
        except JobNotCreated as error:
            self._record(flow, _WARNING, "FailedCreate", str(error))
            return BLOCKED_SECONDS
        if is_new:
            self._record(flow, _NORMAL, "Created", f"created Job {step.job}")
        return 0.0

    # -- the flow -----------------------------------------------------------------------------------------------

    async def _write(self, flow: JobFlow, status: JobFlowStatus) -> JobFlow:
        return await self._writer.write(flow, flow.status, status)

    def _record(self, flow: JobFlow, type_: str, reason: str, note: str) -> None:
        self._recorder.record(reference_to(JOB_FLOWS, flow), type=type_, reason=reason, note=note)


def _probed_version(flow: JobFlow) -> tuple[object, ...]:
    """Return what identifies the probes of a flow."""
    metadata = flow.metadata
    return metadata.uid, metadata.generation, metadata.deletion_timestamp is not None


def document_of_flow(flow: JobFlow) -> WorkloadDocument:
    """Return a flow as the functions read it that make its Jobs."""
    document: dict[str, Any] = {**msgspec.to_builtins(flow), "apiVersion": JOB_FLOWS.api_version, "kind": "JobFlow"}
    return WorkloadDocument(document)


def _created(flow: WorkloadDocument, step: FlowStep, template: Mapping[str, Any]) -> dict[str, Any]:
    job = dict(job_of_flow(flow, step.place, template).document)
    metadata = {key: value for key, value in job["metadata"].items() if key != "creationTimestamp"}
    return {**job, "metadata": {**metadata, "ownerReferences": [owner_of(flow)]}}
