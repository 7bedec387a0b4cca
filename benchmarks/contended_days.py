"""Random days in virtual time in which queues reclaim capacity from each other, and the work that is lost by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import process_time

from benchmarks.measurement import Result
from stromboli import kube
from stromboli.core.actions import ACTIONS
from stromboli.core.config.action import Action
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.model.jobs.carryover import PastEviction
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.plugins import PLUGINS
from stromboli.core.preemption import ThrashGuard, ThrashGuardArguments
from stromboli.core.preemption.cost_bounds import shortage
from stromboli.core.session.job_order import JobOrder
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.core.session.statement import Statement
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.simulator.results.run import SimulationRun
from stromboli.simulator.traced.jobs import ActiveJob
from stromboli.simulator.traced.objects import BY_QUEUE
from stromboli.simulator.traced.options import ReplayOptions
from stromboli.simulator.traced.simulation import TraceSimulation
from stromboli.simulator.traced.workload import TracedWorkload
from stromboli.simulator.worlds.fast_world import FastWorld
from stromboli.simulator.worlds.world import AppliedDecisions
from stromboli.traces.generators.poisson import equal_nodes
from stromboli.traces.trace import Trace, TraceJob

Parameters = dict[str, int]

_GPUS = 8
#: The largest number of evictions of a job while others are evicted less.
MAX_EVICTIONS = 2
_DAY = 24 * 3600.0
_QUEUES = {"a": 4, "b": 3, "c": 2, "d": 1}
_CONFIGURATION = """
actions: "enqueue, allocate, {action}, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableReclaimable: false
- plugins:
  - name: proportion
  - name: predicates
  - name: binpack
configurations:
- name: {action}
  arguments:
    evictionMemory: {memory}
{order}"""
_ORDER = f"    victimOrder: leastLoss\n    maxEvictions: {MAX_EVICTIONS}\n    checkpointWait: 1h\n"
LEAST_LOSS = _CONFIGURATION.format(action="reclaim", memory="24h", order=_ORDER)
VOLCANO = _CONFIGURATION.format(action="volcano-reclaim", memory="0s", order="")
_POLICIES = {"leastLoss": LEAST_LOSS, "volcano": VOLCANO}


class VolcanoReclaim(Action):
    """The victims of Volcano: on the first node that suffices, those that are last in the order of jobs. The thrash
    guard, which Volcano does not have, protects from the same jobs as in `reclaim`: only the victims differ.
    """

    name = "volcano-reclaim"
    arguments = ThrashGuardArguments()

    def execute(self, session: Session) -> None:
        guard = ThrashGuard(session, self.arguments)
        for job in JobOrder(session, session.starving()).jobs_in_turn():
            with session.serving(job), session.statement() as statement:
                for task in session.pending(job):
                    if session.preemptive(session.queue_of(job), [task]) is None:
                        _serve(session, guard, task, statement)
                if session.job_pipelined(job):
                    statement.commit()


def _serve(session: Session, guard: ThrashGuard, task: Task, statement: Statement) -> None:
    job = session.jobs[task.job]
    for row in range(len(session.nodes)):
        running = [
            other
            for victim in session.jobs.values()
            if victim.queue != job.queue and not guard.protects(victim, job)
            for other in victim.tasks.values()
            if session.ledger.status_of(other) is TaskStatus.RUNNING and session.ledger.row_of(other) == row
        ]
        mark = len(statement.operations)
        for victim in session.victims_in_order(session.reclaimable(task, running), job):
            if not shortage(session.ledger, task.task_class.request, row):
                break
            statement.evict(victim, "volcano-reclaim", job.key)
        if not shortage(session.ledger, task.task_class.request, row):
            statement.pipeline(task, row, after_eviction=len(statement.operations) > mark)
            return
        statement.rollback(mark)


REGISTRY = Registry(PLUGINS, (*ACTIONS, VolcanoReclaim))


def day(seed: int, nodes: int) -> list[TraceJob]:
    """Jobs of four queues with bursts of their own, in sum somewhat more than the cluster can run."""
    chance, jobs = Random(seed), list[TraceJob]()
    for name in _QUEUES:
        for _ in range(chance.randint(1, 3)):
            burst = chance.uniform(0, 0.8 * _DAY)
            for _ in range(chance.randint(nodes, 3 * nodes)):
                gpus, pods = chance.choices(((1, 1), (2, 1), (4, 1), (8, 1), (4, 2)), (8, 3, 2, 2, 1))[0]
                run_time = min(max(chance.lognormvariate(8.5, 1.0), 300.0), _DAY / 2)
                every = chance.choice((None, 600.0, 1800.0, 3600.0))
                jobs.append(
                    TraceJob(
                        "job", round(burst + chance.uniform(0, 3600.0)), round(run_time), pods, gpus * 1000,
                        gpu=gpus * 1000, queue=name, checkpoint=every,
                    )
                )  # fmt: skip
    return sorted(jobs, key=lambda job: job.submitted)


@dataclass(slots=True)
class Preemption:
    """One job that lost its pods to another, and what could have been evicted instead."""

    past: PastEviction
    preemptor: TraceJob
    #: The jobs of the victim's queue that ran, each large enough for the preemptor alone.
    others: list[str] = field(default_factory=list)


class WatchedWorld(FastWorld):
    """Keeps the evictions of a day."""

    trace: dict[str, TraceJob]
    preemptions: list[Preemption]

    def submit(self, active: ActiveJob) -> None:
        self.trace[active.key] = active.job
        super().submit(active)

    def apply(self, session: Session) -> AppliedDecisions:
        for past in session.carryover().eviction_history:
            found = Preemption(past, self.trace[past.preemptor])
            queue, needed = session.jobs[past.victim].queue, found.preemptor.gpu
            for key, entered in self._jobs.items():
                is_whole = len(entered.placed) == len(entered.tasks)
                if is_whole and session.jobs[key].queue == queue and self.trace[key].gpu >= needed:
                    found.others.append(key)
            self.preemptions.append(found)
        return super().apply(session)


@dataclass(frozen=True, slots=True)
class Day:
    run: SimulationRun
    preemptions: Sequence[Preemption]

    @property
    def lost_gpu_hours(self) -> float:
        table = self.run.jobs
        return float((table.column("lost") * table.column("pods") * table.column("gpu")).sum()) / 1000 / 3600

    def mutual(self) -> list[tuple[str, str]]:
        """Return the pairs of jobs that evicted each other."""
        pairs = {(each.past.preemptor, each.past.victim) for each in self.preemptions}
        return [(one, other) for one, other in pairs if (other, one) in pairs]

    def unfair(self, limit: int) -> list[str]:
        """Return the jobs that were evicted more than `limit` times, although a job of the same queue could have been
        evicted instead that never was. A job that preempted the preemptor is protected from it.
        """
        counts, seen, found = Counter[str](), set[tuple[str, str]](), list[str]()
        for each in self.preemptions:
            past = each.past
            never = [key for key in each.others if not counts[key] and (past.preemptor, key) not in seen]
            if counts[past.victim] >= limit and each.preemptor.pods == 1 and never:
                found.append(past.victim)
            counts[past.victim] += 1
            seen.add((past.victim, past.preemptor))
        return found


def simulated_day(seed: int, text: str, nodes: int) -> Day:
    program = Program(parse_configuration(text, REGISTRY), REGISTRY)
    queues: list[kube.KubeObject] = [
        kube.KubeQueue(metadata=ObjectMeta(name=name, uid=f"queue/{name}"), spec=kube.QueueSpec(weight=weight))
        for name, weight in _QUEUES.items()
    ]
    trace, options = day(seed, nodes), ReplayOptions(queues=BY_QUEUE, seed=seed, period=30.0, idle=1800.0)
    workload = TracedWorkload(
        Trace("day", "day", lambda: iter(trace)), options, equal_nodes(nodes, _GPUS, _GPUS), queues
    )
    world = WatchedWorld(program, workload.objects, scheduler_names=("stromboli",), seed=seed, now=workload.start)
    world.trace, world.preemptions = {}, []
    return Day(TraceSimulation(workload, world, options).run(), world.preemptions)


def contended_days(parameters: Parameters, runs: int) -> list[Result]:
    """The same days under the order of least loss and under Volcano's order of victims."""
    number, evicted = parameters["days"], Counter[str]()
    lost, seconds = dict.fromkeys(_POLICIES, 0.0), dict.fromkeys(_POLICIES, 0.0)
    mutual, unfair, most = 0, 0, 0
    for seed in range(number):
        for name, text in _POLICIES.items():
            began = process_time()
            found = simulated_day(seed, text, parameters["nodes"])
            seconds[name] += process_time() - began
            lost[name] += found.lost_gpu_hours
            evicted[name] += len(found.preemptions)
            if name == "leastLoss":
                mutual += len(found.mutual())
                unfair += len(found.unfair(MAX_EVICTIONS))
                most = max([most, *Counter(each.past.victim for each in found.preemptions).values()])
    result = Result("contended-days", parameters, sum(seconds.values()), 0, 0.0, seconds)
    result.more = {
        "lost_gpu_hours": lost,
        "lost_ratio": lost["leastLoss"] / lost["volcano"] if lost["volcano"] else None,
        "evicted_jobs": dict(evicted),
        "mutual_evictions": mutual,
        "unfair_evictions": unfair,
        "most_evictions_of_a_job": most,
    }
    return [result]
