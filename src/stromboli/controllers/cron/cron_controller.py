"""The controller of Volcano's CronJobs: creates a Job at each time of a schedule.

The name of a Job follows from its time, and the last time is read from the server before a Job is created, so that a
run is created once, also when the controller is restarted after any write or the watch is behind. Ended Jobs are
deleted after the time of the last run was written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stromboli.controllers.cron.runs import FORBID, REPLACE, CronSpecification, cron_specification, superfluous
from stromboli.controllers.job_creation import JobCreator, JobNotCreated
from stromboli.controllers.jobs.phases import COMPLETED
from stromboli.controllers.owned_jobs import JobsOfOwner, OwnedJobs
from stromboli.controllers.status_patches import StatusPatcher
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import VOLCANO_CRON_JOBS, VOLCANO_JOBS
from stromboli.kube.objects.event import reference_to
from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.kube.objects.volcano_jobs import VolcanoCronJob, VolcanoCronJobStatus, VolcanoJob
from stromboli.kube.watch.informer import GatedInformer
from stromboli.kube.work.work_queue import WorkQueue, namespace_of
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.created_jobs import job_of_cron_job
from stromboli.workloads.families.volcano.rules.cron_jobs import CRON_JOB_RULES
from stromboli.workloads.families.volcano.rules.findings import findings_by, raise_first
from stromboli.workloads.pod_documents import owner_of

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

SCHEDULED_TIME = "volcano.sh/cronjob-scheduled-timestamp"
"""The annotation of a Job with the time of its run."""
MAX_WAIT_SECONDS = 60.0
"""Schedules are compared with the clock at least this often: it may be set, or stand still while a machine sleeps."""
BLOCKED_SECONDS = 10.0
"""The delay before a Job is tried again that was rejected."""
CONFLICT_SECONDS = 0.5
_NORMAL, _WARNING = "Normal", "Warning"


class CronJobController:
    """Runs all CronJobs. Invalid ones get an event, and affect no others."""

    def __init__(
        self,
        client: Client,
        cron_jobs: GatedInformer[VolcanoCronJob],
        jobs: GatedInformer[VolcanoJob],
        recorder: EventRecorder,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._recorder, self._clock = recorder, clock or time.time
        self._cron_jobs, self._jobs = cron_jobs, jobs
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="cronjobs", group=namespace_of)
        self._owned = OwnedJobs(jobs, cron_jobs, self.work.add)
        self._writer, self._creator = StatusPatcher(client, cron_jobs), JobCreator(client, jobs)
        cron_jobs.listen(self._cron_job_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._cron_jobs.synced.wait()
        await self._jobs.synced.wait()
        await self.work.run()

    def _cron_job_changed(self, old: VolcanoCronJob | None, new: VolcanoCronJob | None) -> None:
        if new is not None:
            self.work.add(new.key)

    # -- one run ------------------------------------------------------------------------------------------------

    async def _reconcile(self, key: str) -> float | None:
        cron_job = self._cron_jobs.objects.get(key)
        if cron_job is None or cron_job.metadata.deletion_timestamp is not None:
            return None
        try:
            return await self._advance(cron_job)
        except ObjectError as error:
            self._record(cron_job, _WARNING, "InvalidSchedule", str(error))
            return None
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._writer.live(cron_job)
            return CONFLICT_SECONDS

    async def _advance(self, cron_job: VolcanoCronJob) -> float | None:
        """Write the status, delete ended Jobs above the limits, and create the Job that is due."""
        uid = cron_job.metadata.uid
        jobs = self._owned.of(uid)
        cron_job = await self._write(cron_job, status_of(cron_job.status, jobs))
        self._owned.recorded(uid, jobs)
        document = document_of_cron_job(cron_job)
        raise_first(document, findings_by(CRON_JOB_RULES, document))
        spec = cron_specification(document)
        await self._delete(cron_job, superfluous(spec, self._recorded_jobs(cron_job, spec, jobs)))
        if spec.is_suspended:
            return None
        now = self._clock()
        due = spec.last_due(_since(cron_job), now)
        if due is None:
            return self._until_next(spec, now)
        if spec.is_too_late(due, now):
            note = f"the run of {spec.timestamp(due)} is more than {spec.deadline} s late and was left out"
            self._record(cron_job, _WARNING, "MissSchedule", note)
            return self._until_next(spec, now)
        return await self._run(cron_job, document, spec, due)

    def _recorded_jobs(
        self, cron_job: VolcanoCronJob, spec: CronSpecification, jobs: JobsOfOwner
    ) -> Sequence[VolcanoJob]:
        """Return the Jobs of this CronJob but that of a run whose time is not written yet: it would be repeated."""
        due = spec.last_due(_since(cron_job), self._clock())
        unrecorded = spec.job_name(due) if due is not None else ""
        return [job for name, job in jobs.present.items() if name != unrecorded]

    def _until_next(self, spec: CronSpecification, now: float) -> float | None:
        following = spec.schedule.next_after(now)
        return None if following is None else min(max(following - now, 0.0) + 0.1, MAX_WAIT_SECONDS)

    # -- Jobs ---------------------------------------------------------------------------------------------------

    async def _run(
        self, cron_job: VolcanoCronJob, document: WorkloadDocument, spec: CronSpecification, due: float
    ) -> float | None:
        """Create the Job of a run, unless it exists, and write its time; return the seconds until the next run."""
        live = await self._writer.live(cron_job)
        if live is None:
            return None
        if live.status.last_schedule_time != cron_job.status.last_schedule_time or live.spec != cron_job.spec:
            return 0.0
        try:
            if not await self._start(live, document, spec, due):
                return self._until_next(spec, self._clock())
        except JobNotCreated as error:
            self._record(live, _WARNING, "FailedCreate", str(error))
            return BLOCKED_SECONDS
        jobs = self._owned.of(live.metadata.uid)
        status = msgspec.structs.replace(status_of(live.status, jobs), last_schedule_time=stamp(due))
        await self._write(live, status)
        return self._until_next(spec, self._clock())

    async def _start(
        self, cron_job: VolcanoCronJob, document: WorkloadDocument, spec: CronSpecification, due: float
    ) -> bool:
        """Create the Job of a run, unless it exists; report whether it does. Raises JobNotCreated."""
        jobs, name = self._owned.of(cron_job.metadata.uid), spec.job_name(due)
        if name in jobs.all:
            return True
        if jobs.active and spec.concurrency == FORBID:
            note = f"the run of {spec.timestamp(due)} waits: Job {jobs.active[0].metadata.name} has not ended"
            self._record(cron_job, _WARNING, "ForbidConcurrent", note)
            return False
        if spec.concurrency == REPLACE:
            await self._delete(cron_job, jobs.active)
        if await self._creator.create(_created(document, spec, due), cron_job.metadata.uid):
            self._record(cron_job, _NORMAL, "SuccessfulCreate", f"created Job {name}")
        return True

    async def _delete(self, cron_job: VolcanoCronJob, jobs: Sequence[VolcanoJob]) -> None:
        for job in jobs:
            if await self._creator.delete(job):
                self._record(cron_job, _NORMAL, "SuccessfulDelete", f"deleted Job {job.metadata.name}")

    # -- the CronJob --------------------------------------------------------------------------------------------

    async def _write(self, cron_job: VolcanoCronJob, status: VolcanoCronJobStatus) -> VolcanoCronJob:
        return await self._writer.write(cron_job, cron_job.status, status)

    def _record(self, cron_job: VolcanoCronJob, type_: str, reason: str, note: str) -> None:
        self._recorder.record(reference_to(VOLCANO_CRON_JOBS, cron_job), type=type_, reason=reason, note=note)


def status_of(before: VolcanoCronJobStatus, jobs: JobsOfOwner) -> VolcanoCronJobStatus:
    """Return the status with the Jobs that have not ended, and the last success."""
    active = [reference_to(VOLCANO_JOBS, job) for job in jobs.active]
    successes = [
        job.status.state.last_transition_time
        for job in jobs.all.values()
        if job.status.state.phase == COMPLETED and job.status.state.last_transition_time
    ]
    last = max(
        [*successes, *filter(None, [before.last_successful_time])],
        key=lambda each: seconds_of(each) or 0.0,
        default=None,
    )
    return msgspec.structs.replace(before, active=active or None, last_successful_time=last)


def document_of_cron_job(cron_job: VolcanoCronJob) -> WorkloadDocument:
    """Return a CronJob as the functions read it that make its Jobs."""
    identity = {"apiVersion": VOLCANO_CRON_JOBS.api_version, "kind": VOLCANO_CRON_JOBS.kind}
    return WorkloadDocument({**msgspec.to_builtins(cron_job), **identity})


def _since(cron_job: VolcanoCronJob) -> float:
    """Return the time after which runs are due: the last one, or the creation."""
    status, metadata = cron_job.status, cron_job.metadata
    return seconds_of(status.last_schedule_time) or seconds_of(metadata.creation_timestamp) or 0.0


def _created(cron_job: WorkloadDocument, spec: CronSpecification, due: float) -> dict[str, Any]:
    """Return the Job of a run: labels and annotations of the template, and the time of the run."""
    job = dict(job_of_cron_job(cron_job, spec.job_name(due)).document)
    metadata = job["metadata"]
    annotations = {**(metadata.get("annotations") or {}), SCHEDULED_TIME: spec.timestamp(due)}
    return {
        **job,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "annotations": annotations,
            "ownerReferences": [owner_of(cron_job)],
        },
    }
