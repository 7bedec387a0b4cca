"""A full cluster with many waiting jobs, in which one job ends, one starts and one arrives per cycle."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from statistics import median
from typing import cast

import msgspec

from benchmarks import clusters
from benchmarks.measurement import Result, finished, new_program, prepared
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from stromboli.kube.objects.constraints import KubeToleration
from stromboli.kube.objects.pod import PodSpec, PodStatus
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter

Parameters = dict[str, int]

_SIZE = 10
_CPU = 4
_QUEUES = 20
_TEMPLATES = 50
#: Cycles before the measurement: the first ones report every waiting job.
_WARM_UP, _CYCLES = 4, 30


class Nowhere:
    """Accepts everything that would be written."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **options: None


class Churn:
    """The phases of a cycle of the scheduler, and what happens between cycles."""

    def __init__(self, nodes: int, waiting: int) -> None:
        self.cluster = Cluster()
        self._now = 0.0
        self._jobs: dict[str, tuple[kube.PodGroup, dict[str, kube.Pod]]] = {}
        self._running: deque[str] = deque()
        self._arrived = 0
        nowhere = Nowhere()
        self._reporter = StatusReporter(
            self.cluster, cast(StatusWriter, nowhere), cast(EventAnnouncer, nowhere), refresh=60.0, clock=self._clock
        )
        queues = (clusters.queue(number) for number in range(_QUEUES))
        machines = [clusters.plain_node(number, _CPU) for number in range(nodes)]
        clusters.fill(self.cluster, chain(standard_queues(), queues, machines))
        places = [machine.metadata.name for _ in range(_CPU) for machine in machines]
        for start in range(0, len(places), _SIZE):
            self._running.append(self._submit(clusters.cpu_template(), places[start : start + _SIZE]))
        self._specs = [_template(number) for number in range(_TEMPLATES)]
        for _ in range(waiting):
            self.arrive()
        self._program = new_program()
        self._last: Session | None = None

    def _clock(self) -> float:
        return self._now

    def arrive(self) -> None:
        self._submit(self._specs[self._arrived % _TEMPLATES], None)

    def _submit(self, spec: PodSpec, nodes: list[str] | None) -> str:
        name, queue = f"job-{self._arrived:06}", f"queue-{self._arrived % _QUEUES:04}"
        self._arrived += 1
        group, *members = clusters.job(name, _SIZE, spec, queue=queue, nodes=nodes)
        assert isinstance(group, kube.PodGroup)
        pods = {pod.metadata.uid: pod for pod in members if isinstance(pod, kube.Pod)}
        self._jobs[group.key] = group, pods
        clusters.fill(self.cluster, iter((group, *members)))
        return group.key

    def end_job(self) -> None:
        """End the job that has been running longest."""
        group, pods = self._jobs.pop(self._running.popleft())
        for pod in pods.values():
            self.cluster.apply(msgspec.structs.replace(pod, status=PodStatus(phase="Succeeded")))
            self.cluster.remove(pod)
        self.cluster.remove(group)

    def cycle(self) -> dict[str, float]:
        """Run a cycle and start what it has bound; return the processor time of each phase."""
        self._now += 1.0
        clock, times = time.process_time, [time.process_time()]
        self.cluster.cluster_state()
        times.append(clock())
        snapshot = self.cluster.snapshot(self._now)
        times.append(clock())
        session = Session(snapshot, self._program, uid="churn")
        times.append(clock())
        session.run()
        times.append(clock())
        self._reporter.report(session)
        times.append(clock())
        if self._last is not None:
            self._last.release()
        times.append(clock())
        self._last = session
        self._start(session)
        phases = ("accounting", "snapshot", "open", "run", "report", "release")
        return {name: times[place + 1] - times[place] for place, name in enumerate(phases)}

    def _start(self, session: Session) -> None:
        self.cluster.assumptions.remember(session.carryover())
        for statement in session.decisions.binds:
            job = statement[0].job
            self._running.append(job)
            for bind in statement:
                pods = self._jobs[job][1]
                spec = msgspec.structs.replace(pods[bind.uid].spec, node_name=bind.node)
                pods[bind.uid] = msgspec.structs.replace(pods[bind.uid], spec=spec, status=PodStatus(phase="Running"))
                self.cluster.apply(pods[bind.uid])


def _template(number: int) -> PodSpec:
    """One of several specs that are equal in what they request."""
    tolerated = [KubeToleration(key=f"team-{number}", operator="Exists")]
    return msgspec.structs.replace(clusters.cpu_template(), tolerations=tolerated)


def churn(parameters: Parameters, runs: int) -> list[Result]:
    """Median processor time of a cycle, and of the slowest one."""
    run = Churn(parameters["nodes"], parameters["waiting"])
    prepared(run.cluster)
    measured = list(_cycles(run))[_WARM_UP:]
    totals = [sum(phases.values()) for phases in measured]
    phases = {name: median(each[name] for each in measured) for name in measured[0]}
    result = Result("churn", parameters, median(totals), _SIZE, _SIZE / median(totals), phases)
    result.runs = totals
    result.more = {"milliseconds_per_cycle": median(totals) * 1000, "slowest_cycle_milliseconds": max(totals) * 1000}
    return [finished(result)]


def _cycles(run: Churn) -> Iterator[dict[str, float]]:
    for _ in range(_WARM_UP + _CYCLES):
        run.end_job()
        run.arrive()
        yield run.cycle()
