"""A world of cluster state alone: whole jobs are entered into the state of the cache, without objects and watches.

The nodes, queues and all other objects are those of a cluster, and are decoded once. The first job of a shape passes
through the decoders as objects; its class and its facts serve all jobs of that shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf

from stromboli import kube
from stromboli.cluster.objects.pods.pods import PodRecord
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.cluster.state.usage_meter import named_amounts
from stromboli.core.model.devices.shared_devices import Backend
from stromboli.core.model.jobs.job import Job, JobSpec
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.usage.ledger import UsageLedger
from stromboli.core.model.usage.past_usage import Account
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.simulator.traced.jobs import NAMESPACE, ActiveJob
from stromboli.simulator.traced.objects import TracedJobObjects, pod_name, pod_uid, queue_object
from stromboli.simulator.worlds.world import RUNNING_PHASE, AppliedDecisions
from stromboli.traces.trace import TraceError

UNSHARED = "fractions of GPUs are not limited: no configured plugin shares GPUs; add gpusharing to the configuration"


@dataclass(frozen=True, slots=True)
class JobShape:
    """The decoded facts of all jobs of one shape."""

    spec: JobSpec
    task: Task
    record: PodRecord
    #: The account of its pods, if usage is accounted.
    account: int = 0


@dataclass(slots=True)
class EnteredJob:
    """A job in the state, and where its pods are."""

    spec: JobSpec
    tasks: dict[str, Task]
    #: Placed tasks with their nodes.
    placed: dict[str, int]
    template: JobShape
    #: Placed pods with shared devices, and their nodes.
    devices: dict[str, tuple[PodRecord, str]] = field(default_factory=dict)


class FastWorld:
    def __init__(
        self,
        program: Program,
        objects: Sequence[kube.KubeObject],
        *,
        scheduler_names: Sequence[str],
        seed: int,
        now: float,
    ) -> None:
        self.now = now
        self._program = program
        self._seed = seed
        self.cluster = Cluster(scheduler_names, program.class_labels, program.class_annotations, seed=seed)
        self._ledger = self.cluster.past_usage = UsageLedger() if program.reads_past_usage else None
        for entry in (*standard_queues(), *objects):
            self.cluster.apply(entry)
        self.warnings: list[str] = []
        self._objects = TracedJobObjects(scheduler_names[0])
        self._templates: dict[tuple[object, ...], JobShape] = {}
        self._jobs: dict[str, EnteredJob] = {}
        self._nominated: Mapping[str, str] = {}
        self._cycle = 0
        self._last: Session | None = None
        self._state = self.cluster.cluster_state()

    # -- jobs ---------------------------------------------------------------------------------------------------

    @property
    def node_names(self) -> Sequence[str]:
        return self._state.table.names

    @property
    def has_pending_jobs(self) -> bool:
        return bool(self._state.waiting)

    def submit(self, active: ActiveJob) -> None:
        if active.queue not in self.cluster.queues.entries:
            self.cluster.apply(queue_object(active.queue))
            self._follow_layout()
        template = self._template(active)
        spec = copy(template.spec)
        spec.key, spec.uid, spec.name = active.key, f"g{active.number}", active.name
        spec.created, spec.min_available = self.now, active.job.pods
        entered = EnteredJob(spec, {}, {}, template)
        self._jobs[active.key] = entered
        self._add_pods(active, entered, "Pending")

    def _add_pods(self, active: ActiveJob, entered: EnteredJob, phase: str) -> None:
        tasks = self._tasks(active, entered.template.task)
        entered.tasks = {task.uid: task for task in tasks}
        self._state.add_waiting(entered.spec, phase, tasks)
        self._touch(active.key)

    def _tasks(self, active: ActiveJob, model: Task) -> list[Task]:
        estimate, allocate = active.remaining_estimate, self._state.columns.allocate
        run_time, key, now = inf if estimate is None else estimate, active.key, self.now
        return [
            Task(
                pod_uid(active, index), NAMESPACE, pod_name(active, index), key, allocate(TaskStatus.PENDING, -1),
                model.task_class, model.priority, now, preemptable=model.preemptable,
                never_preempts=model.never_preempts, priority_class=model.priority_class, run_time=run_time,
                task_priority=model.task_priority, checkpoint_interval=model.checkpoint_interval,
            )
            for index in range(active.job.pods)
        ]  # fmt: skip

    def restart(self, active: ActiveJob) -> None:
        entered = self._jobs[active.key]
        phase = self._state.jobs[active.key].phase
        self._remove_pods(active.key, entered)
        entered.placed, entered.devices = {}, {}
        self._add_pods(active, entered, phase)

    def finish(self, active: ActiveJob) -> None:
        self._remove_pods(active.key, self._jobs.pop(active.key))

    def _remove_pods(self, key: str, entered: EnteredJob) -> None:
        self._state.drop_whole(key, entered.placed)
        if self._ledger is not None:
            for _ in entered.placed:
                self._ledger.ended(entered.template.account, self.now)
        for uid in entered.devices:
            self.cluster.accounting.devices.forget(uid)

    def _touch(self, key: str) -> None:
        self.cluster.accounting.touched.add(key)

    # -- shapes -------------------------------------------------------------------------------------------------

    def _template(self, active: ActiveJob) -> JobShape:
        job = active.job
        shape = (job.cpu, job.memory, job.gpu, job.gpu_models, job.user, active.queue, active.interval)
        template = self._templates.get(shape)
        if template is None:
            if job.gpu % 1000 and not self.warnings and Backend.GPU_FRACTIONS not in self.cluster.decoder.backends:
                self.warnings.append(UNSHARED)
            template = self._templates[shape] = self._decode(active)
        return template

    def _decode(self, active: ActiveJob) -> JobShape:
        """Pass the job through the decoders as a PodGroup and one pod, and remove both again."""
        group, pod = self._objects.group(active), self._objects.pods(active)[0]
        self.cluster.apply(group)
        self.cluster.apply(pod)
        self._follow_layout()
        job = self._state.jobs[active.key]
        if job.spec.fault or not job.tasks:
            raise TraceError(f"job {active.job.name}: {job.spec.fault or 'its pods are invalid'}")
        task = next(iter(job.tasks.values()))
        template = JobShape(job.spec, task, self.cluster.pods.records[pod.metadata.uid], self._account_of(job, task))
        self.cluster.remove(pod)
        self.cluster.remove(group)
        self._follow_layout()
        return template

    def _account_of(self, job: Job, task: Task) -> int:
        if self._ledger is None:
            return 0
        requests = named_amounts(task.task_class.request, self.cluster.axis)
        return self._ledger.account(Account(job.queue, NAMESPACE, job.spec.user, requests))

    def _follow_layout(self) -> None:
        """Apply changes of objects. A changed layout builds new state, into which all jobs are entered again."""
        state = self.cluster.cluster_state()
        if state is self._state:
            return
        before, self._state = self._state, state
        for key, entered in self._jobs.items():
            for task in entered.tasks.values():
                task.row = state.columns.allocate(TaskStatus.PENDING, -1)
            state.add_waiting(entered.spec, before.jobs[key].phase, list(entered.tasks.values()))
            if entered.placed:
                tasks = [entered.tasks[uid] for uid in entered.placed]
                state.place_waiting(key, tasks, list(entered.placed.values()))
            state.settle_job(key)
            for record, node in entered.devices.values():
                self.cluster.accounting.devices.enter(record, node, {}, leaving=False)
        state.flush()

    # -- cycles -------------------------------------------------------------------------------------------------

    def decide(self) -> Session:
        self._cycle += 1
        self._state.flush()
        session = Session(self.cluster.snapshot(self.now), self._program, uid=f"cycle-{self._cycle}", seed=self._seed)
        session.run()
        return session

    def apply(self, session: Session) -> AppliedDecisions:
        state = self._state
        for key, status in session.statuses.items():
            if state.jobs[key].phase != status.phase:
                state.set_phase(key, status.phase)
                state.settle_job(key)
                self._touch(key)
        carryover = session.carryover()
        self.cluster.assumptions.remember(carryover)
        self._nominate(carryover.nominations)
        applied = AppliedDecisions()
        for statement in session.decisions.binds:
            self._bind(statement, applied)
        applied.evicted = list(dict.fromkeys(eviction.task.job for eviction in session.decisions.evictions))
        if self._last is not None:
            self._last.release()
        self._last = session
        return applied

    def _bind(self, statement: Sequence[Placement], applied: AppliedDecisions) -> None:
        state, key = self._state, statement[0].job
        entered, index = self._jobs[key], state.table.index
        nodes = [index[placement.node] for placement in statement]
        tasks = [entered.tasks[placement.uid] for placement in statement]
        for task in tasks:
            task.placed_at = self.now
        entered.placed.update((task.uid, node) for task, node in zip(tasks, nodes, strict=True))
        state.place_waiting(key, tasks, nodes)
        if self._ledger is not None:
            for _ in tasks:
                self._ledger.started(entered.template.account, self.now)
        if len(entered.placed) == len(entered.tasks):
            state.set_phase(key, RUNNING_PHASE)
        state.settle_job(key)
        self._touch(key)
        applied.place(key, statement, nodes)
        for placement in statement:
            if placement.annotations:
                self._enter_devices(entered, placement)

    def _nominate(self, nodes: Mapping[str, str]) -> None:
        """Set the nodes of pods that wait for evictions, and reset those of the cycle before."""
        for uid in {*self._nominated, *nodes}:
            task = self._find(uid)
            if task is not None:
                task.nominated_node = nodes.get(uid, "")
        self._nominated = nodes

    def _find(self, uid: str) -> Task | None:
        entered = self._jobs.get(f"{NAMESPACE}/job-{uid[1:].partition('.')[0]}")
        return entered.tasks.get(uid) if entered is not None else None

    # -- devices ------------------------------------------------------------------------------------------------

    def _enter_devices(self, entered: EnteredJob, placement: Placement) -> None:
        """Count the shared devices that plugins assigned with the binding."""
        labels = entered.template.record.pod.metadata.labels
        metadata = ObjectMeta(placement.name, placement.namespace, placement.uid, labels, dict(placement.annotations))
        record = PodRecord(kube.Pod(metadata=metadata), placement.job, entered.template.record.facts)
        self.cluster.accounting.devices.enter(record, placement.node, {}, leaving=False)
        entered.devices[placement.uid] = record, placement.node
