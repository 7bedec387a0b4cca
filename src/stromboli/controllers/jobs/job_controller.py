"""The controller of Volcano Jobs: creates PodGroup and pods, and leads a Job through its phases.

Each run for a Job decides from its status and its pods (`decisions`), and carries the decision out. A change of phase
is written for the version of the Job that was read; everything else follows from the status that was written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from stromboli.controllers.commands import CommandInbox
from stromboli.controllers.jobs.decisions import COMMAND_ISSUED, JobDecision, JobView, Transition, decide, pods_after
from stromboli.controllers.jobs.groups import JobGroups
from stromboli.controllers.jobs.job_writer import JobWriter
from stromboli.controllers.jobs.members import JobPods
from stromboli.controllers.jobs.objects import (
    JobBlocked,
    PreparedObjects,
    controlled_resources,
    has_plugin_objects,
)
from stromboli.controllers.jobs.phases import PENDING, PHASES, SUSPENDED_PHASES, PodHandling
from stromboli.controllers.jobs.plugins.plugin import PluginArgumentError
from stromboli.controllers.jobs.pods import PENDING as POD_PENDING
from stromboli.controllers.jobs.pods import TaskPod
from stromboli.controllers.jobs.policies import Occurrence
from stromboli.controllers.jobs.specification import JobSpecification, document_of, specification_of
from stromboli.controllers.jobs.status import (
    counted_status,
    initial_status,
    records,
    status_after,
    target_of,
    with_problem,
    without_problem,
)
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.kube.objects.cluster import PriorityClass
from stromboli.kube.objects.event import ObjectReference
from stromboli.kube.objects.timestamps import seconds_of
from stromboli.kube.objects.volcano import PodGroup
from stromboli.kube.objects.volcano_jobs import VolcanoCommand, VolcanoJob
from stromboli.kube.watch.informer import GatedInformer, Informer
from stromboli.kube.work.work_queue import WorkQueue, namespace_of
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import pod_name

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

POD_DEBOUNCE_SECONDS = 0.1
"""Changes of pods within this many seconds are handled together."""
UNKNOWN_JOB_SECONDS = 30.0
"""The time after which evictions of pods are forgotten whose Job is not known."""
BLOCKED_SECONDS = 5.0
"""The delay before a Job is tried again whose pods cannot be created."""
CONFLICT_SECONDS = 0.5
COUNTS_SECONDS = 0.5
"""Counts of pods are written so long after their first change: a write costs as much as creating two pods."""
BUSY_JOBS = 32
BUSY_COUNTS_SECONDS = 30.0
"""The same while so many Jobs wait, or pods wait for their creation: these come first. Otherwise new pods are counted
at once.
"""
MAX_STEPS = 8
"""Changes of phase in one run; further ones follow in the next."""
NORMAL, WARNING = "Normal", "Warning"


class VolcanoJobController:
    """Runs all Jobs. Invalid ones get a message in their status and an event, and affect no others."""

    def __init__(
        self,
        client: Client,
        jobs: GatedInformer[VolcanoJob],
        pods: GatedInformer[TaskPod],
        groups: Informer[PodGroup],
        commands: Informer[VolcanoCommand],
        priorities: Informer[PriorityClass],
        recorder: EventRecorder,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._jobs, self._recorder, self._clock = jobs, recorder, clock or time.time
        self._synced = [each.synced for each in (jobs, pods, groups, commands, priorities)]
        self.work: WorkQueue[str] = WorkQueue(self._reconcile, name="jobs", workers=16, group=namespace_of)
        self._pods = JobPods(client, pods, self._pods_changed)
        self._groups = JobGroups(client, groups, priorities, self.work.add)
        self._objects, self._writer = PreparedObjects(client), JobWriter(client, jobs)
        self._inbox = CommandInbox(client, commands, VOLCANO_JOBS, self.work.add)
        #: By key: the specification of this uid and generation of a Job.
        self._specifications: dict[str, tuple[tuple[object, ...], JobSpecification]] = {}
        #: By key: the uid, generation and version for which claims and objects of plugins exist.
        self._prepared: dict[str, tuple[object, ...]] = {}
        #: By key: since when events last whose policy has a timeout.
        self._first_seen: dict[str, dict[Occurrence, float]] = {}
        #: By key: since when the counts of a Job wait.
        self._counted: dict[str, float] = {}
        jobs.listen(self._job_changed)

    async def run(self) -> None:
        """Work until cancelled."""
        for synced in self._synced:
            await synced.wait()
        await self.work.run()

    def _job_changed(self, old: VolcanoJob | None, new: VolcanoJob | None) -> None:
        if (job := new or old) is not None and not self._writer.is_own_status:
            self.work.add(job.key)

    def _pods_changed(self, key: str) -> None:
        """The watch of Jobs may be behind that of pods: evictions of pods of an unknown Job are kept for a while."""
        self.work.add_after(key, POD_DEBOUNCE_SECONDS if key in self._jobs.objects else UNKNOWN_JOB_SECONDS)

    # -- one run ------------------------------------------------------------------------------------------------

    async def _reconcile(self, key: str) -> float | None:
        job = self._jobs.objects.get(key)
        commands = await self._inbox.take(key, job)
        if job is None or job.metadata.deletion_timestamp is not None:
            self._forget(key)
            return None
        try:
            return await self._advance(job, commands)
        except (ObjectError, PluginArgumentError) as error:
            await self._report(key, "InvalidJob", str(error))
            return None
        except JobBlocked as error:
            await self._report(key, error.reason, str(error))
            return BLOCKED_SECONDS
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._writer.refresh(job)
            return CONFLICT_SECONDS

    async def _advance(self, job: VolcanoJob, commands: list[VolcanoCommand]) -> float | None:
        """Change the phase until nothing follows at once, then do what the phase requires."""
        spec = self._specification(job)
        is_fresh = False
        for _ in range(MAX_STEPS):
            view = self._view(job, spec, await self._next_command(job, commands))
            decision = decide(view)
            if decision.transition is None:
                return await self._carry_out(job, view, decision, is_fresh)
            is_fresh = True
            if not job.status.state.phase:
                job = await self._writer.write(job, initial_status(job.status, self._clock()))
                continue
            job = await self._change_phase(job, view, decision.transition)
            if decision.transition.reason == COMMAND_ISSUED:
                await self._inbox.consume(commands.pop(0))
        return 0.0

    async def _next_command(self, job: VolcanoJob, commands: list[VolcanoCommand]) -> str:
        """Return the action of the first Command that has an effect, and delete those before it.

        A Command is deleted when the phase that it leads to was written. No action has an effect in that phase, so that
        a Command whose deletion failed is not executed twice.
        """
        phase = job.status.state.phase or PENDING
        while commands:
            action = commands[0].action or ""
            if action in PHASES[phase].actions:
                return action
            if await self._inbox.consume(commands.pop(0)):
                self._record(job, WARNING, COMMAND_ISSUED, f"{action} has no effect on a Job in phase {phase}")
        return ""

    def _view(self, job: VolcanoJob, spec: JobSpecification, command: str) -> JobView:
        key, uid, status = job.key, job.metadata.uid, job.status
        group = self._groups.of(document_of(job))
        return JobView(
            name=job.metadata.name,
            spec=spec,
            phase=status.state.phase or PENDING,
            version=status.version or 0,
            retry_count=status.retry_count or 0,
            target=target_of(status),
            pods=self._pods.of(key, uid),
            evicted=self._pods.evicted(key, uid),
            taken=self._pods.taken_names(key, uid),
            group_phase=(group.status.phase or "") if group else "",
            command=command,
            phase_since=seconds_of(status.state.last_transition_time) or 0.0,
            now=self._clock(),
            since=lambda event: self._first_seen.setdefault(key, {}).setdefault(event, self._clock()),
        )

    async def _change_phase(self, job: VolcanoJob, view: JobView, transition: Transition) -> VolcanoJob:
        counted = counted_status(
            job.status, view.spec, pods_after(view, transition), job.status.controlled_resources or {}
        )
        began = seconds_of(job.metadata.creation_timestamp)
        written = await self._writer.write(job, status_after(counted, transition, began, self._clock()))
        self._forget_restarted(job.key, view, view)
        self._forget_restarted(job.key, view, transition)
        if transition.reason == COMMAND_ISSUED:
            once = "clean it up to make sure executed not more than once"
            note = f"Start to execute command {transition.action}, and {once}"
            self._record(job, NORMAL, COMMAND_ISSUED, note)
        if transition.action:
            self._record(job, NORMAL, "ExecuteAction", f"Start to execute action {transition.action}")
        return written

    # -- what a phase requires ----------------------------------------------------------------------------------

    async def _carry_out(self, job: VolcanoJob, view: JobView, decision: JobDecision, is_fresh: bool) -> float | None:
        if decision.is_expired:
            await self._writer.delete(job)
            return None
        document = document_of(job)
        self._keep_events(job.key, view, decision)
        runs = PHASES[view.phase].pods is PodHandling.RUN
        if not runs:
            await self._pods.delete(job.metadata.namespace, decision.delete)
        if not decision.wants_group:
            await self._clean_up(job, document, view.spec)
        elif runs:
            again = await self._run(job, document, view, decision, is_fresh)
            decision.wait = min(decision.wait or again, again) if again else decision.wait
        created = controlled_resources(document, view.spec, with_plugins=decision.wants_group)
        new = {pod_name(view.name, task.name, index) for task, index in decision.create} if not self._is_busy else set()
        if not new and records(job.status, created) and (later := self._counts_wait(job.key)):
            return min(decision.wait or later, later)
        await self._write_counts(document, view.spec, created, new)
        return decision.wait

    async def _run(
        self, job: VolcanoJob, document: WorkloadDocument, view: JobView, decision: JobDecision, is_fresh: bool
    ) -> float:
        """Create what is missing; return the seconds until another attempt, or 0. The objects of
        the Job follow fewer replicas before the superfluous pods are deleted: others must not look for these.

        No pod is created, and no object again, for a Job that may have been deleted: the watch of Jobs may be behind.
        """
        prepared = (job.metadata.uid, job.metadata.generation, view.version)
        is_prepared = self._prepared.get(job.key) == prepared
        creates_again = is_prepared and self._groups.of(document) is None
        if (decision.create or creates_again) and not (is_fresh or await self._writer.exists(job)):
            return CONFLICT_SECONDS
        if not is_prepared:
            await self._writer.name_claims(job, document)
            await self._objects.create(document, view.spec)
            self._prepared[job.key] = prepared
        await self._groups.create_or_update(document, view.spec)
        self._report_group(job, document)
        await self._pods.delete(job.metadata.namespace, decision.delete)
        if not decision.create:
            return 0.0
        conflicts = await self._pods.create(document, view.spec.plugins, decision.create)
        return CONFLICT_SECONDS if conflicts else 0.0

    async def _clean_up(self, job: VolcanoJob, document: WorkloadDocument, spec: JobSpecification) -> None:
        self._prepared.pop(job.key, None)
        await self._groups.delete(document, suspended=job.status.state.phase in SUSPENDED_PHASES)
        if has_plugin_objects(job.status.controlled_resources):
            await self._objects.delete(document, spec)

    def _forget_restarted(self, key: str, view: JobView, restart: JobView | Transition) -> None:
        """Forget the evicted pods that a restart replaces."""
        target, version, retry = restart.target, restart.version, restart.retry_count
        self._pods.forget_evicted(key, (pod.uid for pod in view.evicted if target.covers(pod, version, retry)))

    def _keep_events(self, key: str, view: JobView, decision: JobDecision) -> None:
        """Forget events that no policy waits for, and evictions that were part of a restart."""
        kept = {event: since for event, since in self._first_seen.pop(key, {}).items() if event in decision.waiting}
        if kept:
            self._first_seen[key] = kept
        handling = PHASES[view.phase].pods
        waiting = {event.uid for event in decision.waiting}
        if handling is PodHandling.RUN:
            self._pods.forget_evicted(key, (pod.uid for pod in view.evicted if pod.uid not in waiting))
        elif handling is PodHandling.REPLACE:
            self._forget_restarted(key, view, view)
        else:
            self._pods.forget_evicted(key)

    # -- the status of a Job ------------------------------------------------------------------------------------

    async def _write_counts(
        self, document: WorkloadDocument, spec: JobSpecification, created: Mapping[str, str], new: Collection[str]
    ) -> None:
        """Write the counts. The pods with these names are new: they count as pending although some may run already, as
        clients that wait for `pending` may see no other status with it.
        """
        job = self._jobs.objects.get(document.key)
        if job is not None and job.metadata.uid == document.uid:
            pods = self._pods.of(document.key, document.uid)
            pods = [pod._replace(phase=POD_PENDING) if pod.name in new else pod for pod in pods]
            status = initial_status(without_problem(job.status), self._clock())
            await self._writer.write(job, counted_status(status, spec, pods, created))

    @property
    def _is_busy(self) -> bool:
        return self.work.waiting >= BUSY_JOBS or self._pods.is_busy

    def _counts_wait(self, key: str) -> float:
        """Return the seconds after which the counts are written, or 0."""
        now = asyncio.get_running_loop().time()
        longest = BUSY_COUNTS_SECONDS if self._is_busy else COUNTS_SECONDS
        left = self._counted.setdefault(key, now) + longest - now
        if left <= 0:
            self._counted.pop(key)
        return max(left, 0.0)

    async def _report(self, key: str, reason: str, message: str) -> None:
        """Write a problem into the status of a Job, and record an event."""
        job = self._jobs.objects.get(key)
        if job is None:
            return
        self._record(job, WARNING, reason, message)
        try:
            await self._writer.write(job, with_problem(job.status, reason, message, self._clock()))
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._writer.refresh(job)
            self.work.add_after(key, CONFLICT_SECONDS)

    def _report_group(self, job: VolcanoJob, document: WorkloadDocument) -> None:
        """Record why the group of the Job is not scheduled."""
        group = self._groups.of(document)
        for condition in (group.status.conditions or ()) if group else ():
            if group and condition.type == "Unschedulable" and condition.status == "True":
                where = f"{group.metadata.namespace}:{group.metadata.name}"
                note = f"PodGroup {where} unschedule,reason: {condition.message or condition.reason}"
                self._record(job, WARNING, "PodGroupPending", note)

    def _record(self, job: VolcanoJob, type_: str, reason: str, note: str) -> None:
        metadata = job.metadata
        regarding = ObjectReference(VOLCANO_JOBS.api_version, "Job", metadata.namespace, metadata.name, metadata.uid)
        self._recorder.record(regarding, type=type_, reason=reason, note=note, action=reason)

    def _specification(self, job: VolcanoJob) -> JobSpecification:
        """Read the spec of a Job; once per generation, as it decodes every template. Raises ObjectError."""
        metadata = job.metadata
        version = metadata.uid, metadata.generation or metadata.resource_version
        known = self._specifications.get(job.key)
        if known is not None and known[0] == version:
            return known[1]
        spec = specification_of(document_of(job))
        self._specifications[job.key] = version, spec
        return spec

    def _forget(self, key: str) -> None:
        for kept in (self._specifications, self._prepared, self._first_seen, self._counted):
            kept.pop(key, None)
        self._groups.forget(key)
        self._pods.forget_evicted(key)
