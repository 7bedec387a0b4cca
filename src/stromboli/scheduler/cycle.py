"""One cycle: snapshot, session, and its decisions passed on to binding, eviction and reporting."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from stromboli.binding.evictions import EvictWorkers
from stromboli.binding.orders import Commit, EvictOrder
from stromboli.binding.recovery import commit_annotations
from stromboli.binding.steps.claims import allocations_of
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.jobs.carryover import CycleCarryover
from stromboli.core.model.jobs.job import PENDING_BEST_EFFORT, Job, role_ready
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.time_budget import TimeBudget
from stromboli.kube.work.collection import collection_paused
from stromboli.observability.metrics.cycles import CycleSeconds
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.bind_tracker import BindTracker
from stromboli.scheduler.reporting.reporter import StatusReporter
from stromboli.scheduler.watchdog import Progress


class PlacementExecutor(Protocol):
    """Binds pods, directly or through bind requests."""

    #: Members that are being prepared.
    preparing: int

    @property
    def waiting(self) -> int:
        """The number of members without a result."""

    def submit(self, commit: Commit) -> None:
        """Accept a commit."""

    async def run(self) -> None:
        """Bind until cancelled."""

    async def drain(self, timeout: float) -> int:
        """Finish started commits and drop the rest within the timeout; return how many members have no result."""


@dataclass(slots=True)
class CycleResult:
    """The decisions of a cycle, in numbers, and its session, which is valid until the end of the next cycle."""

    session: Session
    binds: int
    evictions: int
    seconds: float


class CycleRunner:
    def __init__(
        self,
        cluster: Cluster,
        outcomes: BindTracker,
        binders: PlacementExecutor,
        evictors: EvictWorkers,
        reporting: StatusReporter,
        metrics: SchedulerMetrics,
        *,
        seed: int,
        evicts_by_delete: bool,
        epoch: Callable[[], int],
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._cluster = cluster
        self._outcomes = outcomes
        self._binders = binders
        self._evictors = evictors
        self._reporting = reporting
        self._metrics = metrics
        self._seed = seed
        self._evicts_by_delete = evicts_by_delete
        self._epoch = epoch
        self._wall_clock = wall_clock
        #: Distinguishes the cycles of this process from those of others.
        self._process = secrets.token_hex(4)
        self._last: Session | None = None
        self.number = 0
        #: The budget of the cycle that runs now.
        self._budget: TimeBudget | None = None

    def progress(self) -> Progress | None:
        """The point that the cycle has reached, if one runs. May be called from any thread."""
        budget = self._budget
        if budget is None:
            return None
        job = budget.current
        return Progress(self.number, "" if job is None else job.key, budget.since)

    def run(self, program: Program, budget: TimeBudget | None = None, only: str = "") -> CycleResult:
        """Run a cycle, of all jobs or of one. Raises PluginFailure, LedgerInconsistency; nothing is passed on then."""
        budget = self._budget = budget or TimeBudget()
        try:
            with collection_paused():
                return self._run(program, budget, only)
        finally:
            self._budget = None

    def _run(self, program: Program, budget: TimeBudget, only: str) -> CycleResult:
        self.number += 1
        name = f"{self._epoch()}.{self._process}.{self.number}"
        began = time.perf_counter()
        self._cluster.budgets.are_enforced = not self._evicts_by_delete or "pdb" in program.plugins
        snapshot = self._cluster.snapshot(self._wall_clock())
        if only:
            waiting = tuple(key for key in snapshot.waiting if key == only)
            snapshot = dataclasses.replace(snapshot, waiting=waiting, set_aside={})
        taken = time.perf_counter()
        session = Session(snapshot, program, uid=name, seed=self._seed, stopwatch=time.perf_counter, time_budget=budget)
        opened = time.perf_counter()
        session.run()
        decided = time.perf_counter()
        binds = self._bind(session, name)
        evictions = self._evict(session)
        self._cluster.assumptions.remember(self._carryover(session, only))
        self._reporting.report(session)
        handed_out = time.perf_counter()
        spent = CycleSeconds(taken - began, opened - taken, handed_out - decided, handed_out - began)
        if not only:
            self._metrics.observe_cycle(session, spent)
        if self._last is not None:
            self._last.release()
        self._last = session
        return CycleResult(session, binds, evictions, handed_out - began)

    def _carryover(self, session: Session, only: str) -> CycleCarryover:
        """What the next cycles need. A cycle of one job leaves the nominations of the others as they are."""
        carryover = session.carryover()
        if not only:
            return carryover
        own = session.jobs[only].tasks if only in session.jobs else {}
        others = {uid: node for uid, node in self._cluster.assumptions.nominated.items() if uid not in own}
        return dataclasses.replace(carryover, nominations={**others, **carryover.nominations})

    def _bind(self, session: Session, cycle: str) -> int:
        decided = datetime.fromtimestamp(self._wall_clock(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        decided_on = _tasks_by_job(session)
        placed_before: dict[str, int] = {}
        for number, statement in enumerate(session.decisions.binds):
            job = session.jobs[statement[0].job]
            is_gang = job.min_available > 1 or bool(job.spec.policies)
            name = f"{cycle}.{number}"
            before = placed_before.setdefault(job.key, job.ready_count - decided_on[job.key])
            completes = before if job.has_minimum(role_ready) else 0
            mark = commit_annotations(name, len(statement), decided, is_gang=is_gang, completes=completes)
            minimum = self._minimum(job, before, len(statement))
            members = tuple(self._prepared(placement, mark) for placement in statement)
            for placement in members:
                self._outcomes.begin(placement)
            self._binders.submit(Commit(job.key, members, minimum, before, name))
            placed_before[job.key] += len(members)
        return sum(decided_on.values())

    def _prepared(self, placement: Placement, commit: dict[str, str]) -> Placement:
        """Add data from the cache: the commit's annotations, labels of the node's pool, claim allocations."""
        return msgspec.structs.replace(
            placement,
            annotations={**placement.annotations, **commit},
            labels=dict(self._cluster.nodes.pool_labels(placement.node)),
            allocations=allocations_of(placement, self._cluster.claims),
        )

    def _minimum(self, job: Job, before: int, members: int) -> int:
        """Return how many tasks must be placed after a commit of `members`, when `before` were placed already.

        Where roles or sub-jobs have minimums of their own, any missing member counts: until the job is complete, all
        members must be placed.
        """
        if (job.spec.min_task_member or job.spec.policies) and not self._cluster.has_minimum_placed(job.key):
            return before + members
        return job.min_available - job.counts[PENDING_BEST_EFFORT]

    def _evict(self, session: Session) -> int:
        orders = [
            EvictOrder(task.uid, task.namespace, task.name, task.job, eviction.reason, eviction.preemptor)
            for eviction in session.decisions.evictions
            for task in (eviction.task,)
        ]
        begun = [order for order in orders if self._outcomes.start_eviction(order)]
        for order in begun:
            self._evictors.submit(order)
        self._reporting.report_evictions(begun)
        self._report_preemptors(session, begun)
        return len(begun)

    def _report_preemptors(self, session: Session, begun: Sequence[EvictOrder]) -> None:
        """Report to every pod with nominated capacity which victims leave its node."""
        nodes = {each.task.uid: session.ledger.node_name(each.task) for each in session.decisions.evictions}
        victims: dict[tuple[str, str], list[EvictOrder]] = {}
        for order in begun:
            victims.setdefault((order.preemptor, nodes[order.uid]), []).append(order)
        for task in session.pipelined_tasks() if victims else ():
            node = session.ledger.node_name(task)
            self._outcomes.nominated(task.uid, node, victims.get((task.job, node), ()))


def _tasks_by_job(session: Session) -> Counter[str]:
    """Count the placed tasks of each job."""
    counts: Counter[str] = Counter()
    for statement in session.decisions.binds:
        counts[statement[0].job] += len(statement)
    return counts
