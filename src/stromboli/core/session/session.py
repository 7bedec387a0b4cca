"""A session: one scheduling cycle over one snapshot, with its plugins opened.

Actions query the session; the session queries the plugins by the rules of the extension points and keeps decisions and
refusals. It has no side effects: the caller reads `decisions` when the session is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stromboli.core.config.plugin import PluginFailure
from stromboli.core.config.plugin_errors import describe_error
from stromboli.core.config.spelling import nearest
from stromboli.core.model.devices.shared_gpus import SharedGpus
from stromboli.core.model.jobs.carryover import CycleCarryover, PastEviction
from stromboli.core.model.jobs.job import Job, role_ready
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.queues.guarantees import affordable
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import Amounts, Request, add_request, exceeding
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.topology.hypernodes import BY_LABELS
from stromboli.core.model.usage.budgets import BudgetState
from stromboli.core.model.usage.decay import UsageDecay
from stromboli.core.model.usage.fair_shares import FairShares
from stromboli.core.model.usage.past_usage import PastUsage
from stromboli.core.model.usage.weighting import UsageWeighting
from stromboli.core.search.node_search import NodeSearch
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.decisions import Decisions
from stromboli.core.session.impossible_requests import ImpossibleRequests
from stromboli.core.session.measurements import Measurements, Stopwatch
from stromboli.core.session.nominations import NominatedCapacity
from stromboli.core.session.program import Program
from stromboli.core.session.questions import Questions
from stromboli.core.session.refusal_log import RefusalLog
from stromboli.core.session.refusals import JobRefusal
from stromboli.core.session.statement import Statement
from stromboli.core.session.status import COMPLETED, JobStatus, statuses_of
from stromboli.core.session.time_budget import TimeBudget, TimeBudgetExceeded
from stromboli.core.topology.domain_capacity import DomainCapacity
from stromboli.core.topology.previous_domains import previous_domain_warnings, topology_label
from stromboli.core.topology.sub_jobs import has_topology_constraints

if TYPE_CHECKING:
    from stromboli.core.session.job_order import JobOrder


class AttributedErrors:
    """Names the plugin or the action that raised an error."""

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: str, name: str) -> None:
        self._kind = kind
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, PluginFailure | LedgerInconsistency):
            described = describe_error(error, with_owner=False)
            raise PluginFailure(f"{self._kind} {self._name} failed: {described}") from error


class Session(Questions):
    """One cycle. The plugins are open when the constructor returns."""

    def __init__(
        self,
        snapshot: Snapshot,
        program: Program,
        *,
        uid: str = "",
        seed: int = 0,
        stopwatch: Stopwatch = lambda: 0.0,
        time_budget: TimeBudget | None = None,
        records: DecisionRecords | None = None,
    ) -> None:
        super().__init__(program)
        self.uid = uid
        self.seed = seed
        self.snapshot = snapshot
        self.now = snapshot.now
        self.axis = snapshot.axis
        self.nodes = snapshot.nodes
        self.ledger = Ledger(snapshot)
        self.jobs = self.ledger.jobs
        #: The time that the cycle and each job in it may take; unlimited where results must not depend on time.
        self.time_budget = time_budget or TimeBudget()
        self.search = NodeSearch(program, self.ledger, snapshot.axis, self.time_budget.check)
        self.measurements = Measurements(stopwatch)
        self.decisions = Decisions()
        #: The collected eviction and domain search records, if requested.
        self.records = records
        #: Additional description of an eviction by its action, by task uid.
        self.eviction_notes: dict[str, Callable[[], str]] = {}
        self.kept: list[Statement] = []
        self.warnings: list[str] = list(snapshot.warnings)
        #: Why jobs and queues wait.
        self.refusals = RefusalLog(snapshot.nodes.names, self.warnings, program, self.time_budget)
        self.statuses: dict[str, JobStatus] = {}
        #: Why jobs are to be set aside, by key: they took more time than they may.
        self.too_expensive: dict[str, str] = {}
        #: Handlers of the plugins for placed tasks.
        self.on_allocate = program.flat["on_allocate"]
        #: Handlers of the plugins for removed tasks.
        self.on_deallocate = program.flat["on_deallocate"]
        #: Functions of the plugins that add annotations to a binding.
        self.bind_contexts = program.flat["bind_context"]
        self._cycle_states: dict[str, dict[str, Any]] = {}
        #: Budgets with what is used of them, if a plugin measures them.
        self.budgets: Sequence[BudgetState] = ()
        #: Returns what follows from past usage for queues, with their users if wanted; None if it does not count.
        self.fair_shares: Callable[[bool], FairShares] | None = None
        self._past_usage: dict[UsageDecay, PastUsage] = {}
        #: How plugins that divide resources among queues let past usage count; None for not at all.
        self.usage_weighting: UsageWeighting | None = None
        self._unknown_queues: dict[str, Reason] = {}
        self.total: Amounts = snapshot.amounts[self.ledger.layout.allocatable :].sum(axis=1).tolist()
        #: What jobs and queues share: the total without what pods of no queue hold.
        self.shareable: Amounts = exceeding(self.total, snapshot.unqueued)
        #: Guarantees that were cut because all together exceed the cluster, as messages by queue.
        self.queues, self.reduced_guarantees = affordable(snapshot.queues, self.total, snapshot.axis)
        for name, message in self.reduced_guarantees.items():
            self.warnings.append(f"Queue {name}: spec.guarantee.resource: {message}")
        self.total_guarantee = self._sum_over_queues(queue.guarantee for queue in self.queues.values())
        self.total_deserved = self._sum_over_queues(queue.deserved for queue in self.queues.values())
        #: Message about gangs below their minimum, by job key; empty for gangs that have recovered.
        self.stale: dict[str, str] = {}
        #: Jobs whose tasks are never evicted for others, as plugins decide when they open.
        self.protected_jobs: set[str] = set()
        #: What is left of shared GPUs, if a plugin assigns fractions of them.
        self.shared_gpus: SharedGpus | None = None
        #: Whether idle capacity is being lent to queues beyond their share.
        self.lending = False
        #: The job that is being served, or was last.
        self.served: Job | None = None
        #: The order in which the current action serves jobs; None before the first one.
        self.job_order: JobOrder | None = None
        #: Jobs whose status is computed at the end although none of their tasks was waiting.
        self.dirty_jobs: set[str] = set()
        #: Jobs with valid objects: they may be admitted, with or without pods.
        self.admissible: list[Job] = []
        #: Admissible jobs that can be scheduled now.
        self.waiting: list[Job] = []
        self._open()

    def _sum_over_queues(self, requests: Iterable[Request]) -> Amounts:
        total = [0] * self.snapshot.size
        for request in requests:
            add_request(total, request)
        return total

    # -- lifecycle ---------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        for name, plugin in self.program.plugins.items():
            with self.measurements.measure("plugin", name, "open"), AttributedErrors("plugin", name):
                plugin.open(self)
        for key in self.snapshot.waiting:
            self._admit(self.jobs[key])
        self.time_budget.end()

    def _admit(self, job: Job) -> None:
        """Add a job to the cycle, or refuse it with a reason. A completed job with new tasks must be admitted again."""
        if job.phase == COMPLETED and job.scheduled_count < job.min_available:
            job.phase = "Pending"
        self.time_budget.current = job
        fault = self._fault_of(job)
        if fault is not None:
            self.refusals.add(job, fault)
            return
        self.admissible.append(job)
        self._warn_of_topology(job)
        try:
            invalid = self.job_valid(job)
        except Exception as error:
            self.refusals.report_error(job, error)
            return
        if invalid is None:
            self.waiting.append(job)
        else:
            self.refusals.add(job, invalid)

    def _warn_of_topology(self, job: Job) -> None:
        """Warn about topology constraints that no configured plugin supports."""
        if job.spec.topology is None and not job.spec.policies and not job.spec.previous_domains:
            return
        if has_topology_constraints(job) and not self.program.flat["hyper_node_gradient_for_job"]:
            warning = f"{topology_label(job)} has no effect: no configured plugin supports network domains"
            self.warnings.append(f"PodGroup {job.key}: {warning}")
        self.warnings += [f"PodGroup {job.key}: {warning}" for warning in previous_domain_warnings(self, job)]

    def _fault_of(self, job: Job) -> Reason | None:
        if job.spec.fault:
            return Reason(Code.INVALID_OBJECT, job.spec.fault)
        if job.spec.is_being_deleted:
            return Reason(Code.GROUP_BEING_DELETED, f"PodGroup {job.key} is being deleted; no further pod is placed")
        if job.spec.key in self.snapshot.set_aside:
            return Reason(Code.TOO_EXPENSIVE, self.snapshot.set_aside[job.spec.key])
        if job.queue not in self.queues:
            return self._unknown_queue(job.queue)
        if job.spec.network.startswith(BY_LABELS) and not self.program.flat["hyper_node_gradient_for_job"]:
            labels = job.spec.network.removeprefix(BY_LABELS)
            detail = f"pods cannot be kept within one {labels}: no configured plugin supports network domains"
            return Reason(Code.UNKNOWN_TIER, f"{detail}; add network-topology-aware to the configuration")
        return None

    def _unknown_queue(self, name: str) -> Reason:
        """Return the reason for a missing queue, with the name that was probably meant: computed once per name."""
        known = self._unknown_queues.get(name)
        if known is None:
            meant = nearest(name, self.queues)
            hint = f"; did you mean {meant}?" if meant else ""
            known = self._unknown_queues[name] = Reason(Code.QUEUE_UNKNOWN, f"queue {name!r} does not exist{hint}")
        return known

    def run(self) -> None:
        """Execute every action of the configuration, in order, and close."""
        for action in self.program.actions:
            with self.measurements.measure("action", action.name), AttributedErrors("action", action.name):
                try:
                    action.initialize(self)
                    action.execute(self)
                except TimeBudgetExceeded as error:
                    self.warnings.append(f"action {action.name} ended early: {error}")
                finally:
                    self.time_budget.end()
                    action.uninitialize(self)
        self.close()

    def close(self) -> None:
        """Close plugins in reverse order, then compute the status of every job that was considered."""
        for name, plugin in reversed(self.program.plugins.items()):
            with self.measurements.measure("plugin", name, "close"), AttributedErrors("plugin", name):
                plugin.close(self)
        self._refuse_beyond_budget()
        considered = *self.snapshot.waiting, *sorted({*self.dirty_jobs, *self.snapshot.touched})
        self.statuses = statuses_of(self, considered)
        self.measurements.seconds[("cycle",)] = self.measurements.stopwatch() - self.measurements.began

    def _refuse_beyond_budget(self) -> None:
        """Refuse jobs that took too much time, and those that had no turn because the cycle's time was spent."""
        budget = self.time_budget
        culprits = budget.culprits() if budget.spent else []
        self.too_expensive = {key: budget.describe(key) for key in culprits if self.jobs[key].pending_count}
        for key, detail in self.too_expensive.items():
            self.refusals[key] = JobRefusal([Reason(Code.TOO_EXPENSIVE, detail)])
        for job in self.waiting if budget.is_spent else ():
            if job.pending_count and not job.ready_count and job.spec.key not in self.refusals:
                self.refusals.add(job, _OUT_OF_TIME)

    def release(self) -> None:
        """Drop everything; the session cannot be used any more. It refers to itself, and thousands of statuses that the
        garbage collector has to find would delay a later cycle.
        """
        vars(self).clear()

    # -- facts --------------------------------------------------------------------------------------------------

    @property
    def revocable_nodes(self) -> list[Node]:
        """Nodes in revocable zones."""
        return [node for node in self.nodes.nodes if node.revocable_zone]

    @cached_property
    def nominations(self) -> NominatedCapacity:
        """Capacity nominated for pods in earlier cycles."""
        return NominatedCapacity(self)

    @cached_property
    def has_one_queue(self) -> bool:
        """Report whether no two queues have jobs: then shares of queues do not matter."""
        return len({job.queue for job in self.jobs.values()}) < 2

    @cached_property
    def impossible(self) -> ImpossibleRequests:
        """Requests that no amount of waiting satisfies."""
        return ImpossibleRequests(self)

    @cached_property
    def domain_capacity(self) -> DomainCapacity:
        """Return how many tasks fit into the domains of the network."""
        return DomainCapacity(self.search, self.ledger)

    def past_usage(self, decay: UsageDecay) -> PastUsage:
        """Return what queues and users have used so far; nothing if it is not accounted."""
        known = self._past_usage.get(decay)
        if known is None:
            ledger, size = self.snapshot.past_usage, self.snapshot.size
            known = PastUsage.empty(size) if ledger is None else ledger.at(self.now, decay, self.axis, size)
            self._past_usage[decay] = known
        return known

    def serving(self, job: Job) -> AbstractContextManager[None]:
        """Release the job's nominated capacity to the job while it is being served."""
        self.served = job
        return self.nominations.released_to(job) if self.nominations else _NOTHING_TO_RELEASE

    def pipelined_tasks(self) -> list[Task]:
        """Return the tasks that are pipelined: they wait for releasing pods."""
        if not self.ledger.holds_nominated:
            return []
        codes, pipelined = self.ledger.codes, TaskStatus.PIPELINED.value
        jobs = (self.jobs[key] for key in self.snapshot.waiting)
        tasks = (task for job in jobs if job.pipelined_count for task in job.tasks.values())
        return [task for task in tasks if codes[task.row] == pipelined]

    def carryover(self) -> CycleCarryover:
        """Return what the next cycles need from this one."""
        nominations = {task.uid: self.ledger.node_name(task) for task in self.pipelined_tasks()}
        pairs = {(each.preemptor, each.task.job): None for each in self.decisions.evictions if each.preemptor}
        history = [self._past_eviction(preemptor, victim) for preemptor, victim in pairs if preemptor != victim]
        return CycleCarryover(nominations, self.decisions.reservations, history)

    def _past_eviction(self, preemptor: str, victim: str) -> PastEviction:
        queue, preempting = self.jobs[victim].queue, self.jobs[preemptor].queue
        return PastEviction(preemptor, victim, queue if queue != preempting else "", self.now, preempting)

    def queue_of(self, job: Job) -> Queue:
        return self.queues[job.queue]

    def cycle_state(self, task: Task) -> dict[str, Any]:
        """Return a dict in which plugins keep state about a pending task until the end of the cycle."""
        return self._cycle_states.setdefault(task.uid, {})

    def pending(self, job: Job, *, best_effort: bool = False) -> list[Task]:
        """Return the schedulable pending tasks of a job, with or without best-effort tasks, in task order."""
        codes = self.ledger.codes
        tasks = [
            task
            for task in job.tasks.values()
            if not codes[task.row] and not task.held_back and (best_effort or not task.task_class.best_effort)
        ]
        if len(tasks) > 1:
            self.sort_tasks(tasks)
        return tasks

    def starving(self) -> list[Job]:
        """Return the jobs that may preempt others, if the cluster has nodes."""
        if not len(self.nodes):
            return []
        return [job for job in self.waiting if job.phase != "Pending" and self.job_starving(job)]

    def growing(self) -> list[Job]:
        """Return the jobs with their minimum that may preempt others for further members."""
        if not self.serves_beyond_minimum or not len(self.nodes):
            return []
        waiting = [job for job in self.waiting if job.phase != "Pending" and job.has_minimum(role_ready)]
        return [job for job in waiting if self.pending(job)]

    def victims_in_order(self, victims: Sequence[Task], preemptor: Job) -> list[Task]:
        """Sort victims in eviction order: by queue, then by reversed job order, then by reversed task order."""
        ordered = sorted(victims, key=self.task_order_key, reverse=True)
        ordered.sort(key=lambda task: self.job_order_key(self.jobs[task.job]), reverse=True)
        here, names = self.queues[preemptor.queue], {self.jobs[task.job].queue for task in ordered}
        if len(names) > 1:
            keys = {name: self.victim_queue_order_key(self.queues[name], here) for name in names}
            ordered.sort(key=lambda task: keys[self.jobs[task.job].queue])
        return ordered

    # -- operations ---------------------------------------------------------------------------------------------

    def statement(self) -> Statement:
        return Statement(self)

    def allocate(self, task: Task, row: int) -> bool:
        """Allocate a single task: committed if the job is then ready, otherwise undone."""
        with self.statement() as statement:
            statement.allocate([task], [row])
            ready = self.job_ready(self.jobs[task.job])
            if ready:
                statement.commit()
        return ready

    def pipeline(self, task: Task, row: int) -> None:
        """Pipeline a single task until the end of the session."""
        statement = self.statement()
        statement.pipeline(task, row)
        statement.keep()

    def evict(self, task: Task, reason: str, preemptor: str = "") -> None:
        """Evict a single task."""
        with self.statement() as statement:
            statement.evict(task, reason, preemptor)
            statement.commit()

    def is_overused(self, queue: Queue) -> bool:
        """Report whether the queue is no longer served in this cycle, and keep the reason."""
        try:
            refusal = self.overused(queue)
        except Exception as error:
            self.refusals.report_queue_error(queue, error)
            return True
        if refusal is not None:
            self.refusals.queues[queue.name] = refusal
        return refusal is not None


_NOTHING_TO_RELEASE = nullcontext()
_OUT_OF_TIME = Reason(Code.CYCLE_BUDGET, "the time budget of the cycle was spent before the job had its turn")
