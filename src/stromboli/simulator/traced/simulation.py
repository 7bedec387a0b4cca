"""The loop of a simulated trace: submissions, ends and failures, and a cycle at each moment with waiting jobs.

The scheduler sees estimates of run times; the world uses the actual ones. A job runs when its last pod is placed. It
starts again from its last checkpoint when one of its pods is evicted or fails.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from math import inf, isnan, nan

from stromboli.simulator.results.job_table import JobOutcome, JobTable
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.chance import Chance
from stromboli.simulator.traced.estimates import LearnedEstimates, estimate_of
from stromboli.simulator.traced.jobs import ActiveJob
from stromboli.simulator.traced.options import KILL, ReplayOptions
from stromboli.simulator.traced.workload import TracedWorkload
from stromboli.simulator.worlds.world import World
from stromboli.traces.trace import TraceJob

#: Called with the present moment, since the start of the trace, and the number of submitted and of ended jobs.
TraceProgress = Callable[[float, int, int], None]


class TraceSimulation:
    """Runs a trace once. The same trace, policy and options give the same run."""

    def __init__(self, workload: TracedWorkload, world: World, options: ReplayOptions) -> None:
        self._workload = workload
        self._world = world
        self._options = options
        self._chance = Chance(options.seed, options.start_latency, options.failures)
        self._learned = LearnedEstimates()
        self._estimate = estimate_of(options.estimates, self._learned)
        self.jobs = JobTable()
        self._active: dict[str, ActiveJob] = {}
        #: Ends and failures: moment, a number that orders them, the job, its attempt, and the outcome.
        self._events: list[tuple[float, int, ActiveJob, int, JobOutcome]] = []
        self._numbers = count()
        #: When the next cycle is due although nothing happens then, and the earliest one.
        self._wake, self._earliest = inf, -inf
        self.cycles = 0
        self._arrivals = workload.jobs()
        self._next: TraceJob | None = next(self._arrivals, None)
        self._start = self._next.submitted if self._next is not None else 0.0
        self.warnings: dict[str, None] = {}

    def run(self, until: float = inf, progress: TraceProgress = lambda moment, submitted, ended: None) -> SimulationRun:
        """Run until no events are left, or until some moment, in seconds since the start of the trace."""
        world, epoch, now = self._world, self._workload.start, self._start
        while (moment := self._next_moment()) < inf and moment <= until:
            now = moment
            world.now = epoch + now
            self._happen(now)
            if world.has_pending_jobs and now < self._earliest:
                self._wake = self._earliest
            elif world.has_pending_jobs:
                self._cycle(now, until)
            progress(now, len(self.jobs), len(self.jobs) - len(self._active))
        return self._result(now if until == inf else until)

    def _next_moment(self) -> float:
        """Return the moment of the next event; infinity if there is none."""
        arrival = self._next.submitted if self._next is not None else inf
        return min(arrival, self._events[0][0] if self._events else inf, self._wake)

    def _happen(self, now: float) -> None:
        self._wake = inf
        events = self._events
        while events and events[0][0] <= now:
            _, _, active, attempt, outcome = heapq.heappop(events)
            if active.attempt == attempt and active.key in self._active:
                if outcome is JobOutcome.FAILED and active.failures < self._options.retries:
                    self._interrupt(active, now, outcome)
                else:
                    self._end(active, now, outcome)
        while self._next is not None and self._next.submitted <= now:
            self._submit(self._next)
            self._next = next(self._arrivals, None)

    def rejected_rows(self) -> list[str]:
        """Return a message for each rule by which rows were skipped."""
        return list(self._workload.rejected.warnings())

    # -- jobs ---------------------------------------------------------------------------------------------------

    def _submit(self, job: TraceJob) -> None:
        active = self._new_job(job)
        self.jobs.add(
            job.name, active.queue, job.user, job.group, line=job.line, pods=job.pods, cpu=job.cpu, memory=job.memory,
            gpu=job.gpu, submitted=job.submitted, run_time=nan if active.run_time == inf else active.run_time,
            requested=nan if job.requested is None else job.requested,
            estimate=nan if active.estimate is None else active.estimate,
        )  # fmt: skip
        self._active[active.key] = active
        self._world.submit(active)

    def _new_job(self, job: TraceJob) -> ActiveJob:
        run_time, options = inf if job.run_time is None else job.run_time, self._options
        is_killed = options.over_limit == KILL and job.requested is not None and run_time > job.requested
        if is_killed and job.requested is not None:
            run_time = job.requested
        interval = options.checkpoint_interval if job.checkpoint is None else job.checkpoint
        return ActiveJob(
            len(self.jobs) + 1, job, self._workload.queue_of(job), job.submitted, self._estimate(job), run_time,
            is_killed, interval, waits_since=job.submitted,
        )  # fmt: skip

    def _place(self, key: str, nodes: Sequence[int], devices: Sequence[str], now: float) -> None:
        """Place pods of a job, whose attempt begins with the last one."""
        active = self._active[key]
        active.nodes.extend(nodes)
        active.devices.extend(devices)
        if not active.is_placed:
            return
        pods, attempt, row = active.job.pods, active.attempt, active.number - 1
        active.began, active.latency = now, self._chance.latency_of(active.number, attempt, pods)
        active.waited += now - active.waits_since
        self.jobs.set(row, "waited", active.waited)
        self.jobs.set(row, "outcome", JobOutcome.RUNNING)
        if isnan(self.jobs.get(row, "started")):
            self.jobs.set(row, "started", now)
        end, outcome = active.remaining, JobOutcome.KILLED if active.is_killed else JobOutcome.COMPLETED
        failure = self._chance.failure_of(active.number, attempt, pods)
        if failure is not None and failure < end:
            end, outcome = failure, JobOutcome.FAILED
        if end < inf:
            heapq.heappush(self._events, (now + active.latency + end, next(self._numbers), active, attempt, outcome))

    def _end(self, active: ActiveJob, now: float, outcome: JobOutcome) -> None:
        row = active.number - 1
        self.jobs.set(row, "ended", now)
        self.jobs.set(row, "outcome", outcome)
        self._add_attempt(active, now, outcome)
        if outcome is JobOutcome.FAILED:
            self._count(row, "failures", 1)
            self._count(row, "lost", active.progress(now) + active.saved)
        elif active.job.user:
            self._learned.ended(active.job.user, active.run_time)
        del self._active[active.key]
        self._world.finish(active)

    def _interrupt(self, active: ActiveJob, now: float, outcome: JobOutcome) -> None:
        """Let a job wait again, with new pods."""
        row = active.number - 1
        if active.is_placed:
            self._add_attempt(active, now, outcome)
        active.failures += outcome is JobOutcome.FAILED
        self._count(row, "failures" if outcome is JobOutcome.FAILED else "preemptions", 1)
        self._count(row, "lost", active.interrupt(now))
        self.jobs.set(row, "outcome", JobOutcome.WAITING)
        self._world.restart(active)

    def _add_attempt(self, active: ActiveJob, ended: float, outcome: JobOutcome) -> None:
        self.jobs.add_attempt(active.number - 1, active.began, ended, outcome, active.nodes, active.devices)

    def _count(self, row: int, name: str, amount: float) -> None:
        self.jobs.set(row, name, self.jobs.get(row, name) + amount)

    # -- cycles -------------------------------------------------------------------------------------------------

    def _cycle(self, now: float, until: float) -> None:
        self.cycles += 1
        self._earliest = now + self._options.period
        session = self._world.decide()
        self.warnings.update(dict.fromkeys(session.warnings))
        decisions = self._world.apply(session)
        for key, nodes in decisions.placed.items():
            self._place(key, nodes, decisions.devices[key], now)
        for key in decisions.evicted:
            self._interrupt(self._active[key], now, JobOutcome.PREEMPTED)
        if not self._world.has_pending_jobs:
            return
        if decisions.placed or decisions.evicted:
            self._wake = self._earliest
        elif self._events or self._next is not None or until < inf:
            self._wake = now + self._options.idle

    def _result(self, now: float) -> SimulationRun:
        for active in self._active.values():
            if active.is_placed:
                self._add_attempt(active, nan, JobOutcome.RUNNING)
        by_name = {node.name: node for node in self._workload.nodes}
        nodes = [by_name[name] for name in self._world.node_names]
        rejected = {name: rule.rows for name, rule in self._workload.rejected.by_rule.items()}
        return SimulationRun(
            self.jobs, nodes, self._workload.start, self._start, now, self.cycles, self._options.seed,
            trace=self._workload.source, weights=self._workload.weights,
            warnings=(*self._world.warnings, *self.warnings), rejected=rejected,
        )  # fmt: skip
