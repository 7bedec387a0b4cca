"""Short workloads in racks that stay busy: a cluster in virtual time, without HTTP."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, count

import msgspec

from benchmarks import clusters
from benchmarks.measurement import Result, finished, prepared
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.pod import PodStatus
from stromboli.kube.objects.volcano import KubeNetworkTopology

Parameters = dict[str, int]
#: Puts nodes into racks.
Network = Callable[[list[kube.KubeNode], list[int]], Iterator[kube.KubeObject]]

#: Virtual seconds between two cycles.
_PACE = 0.05
#: The demand as a fraction of the capacity: the highest sustainable one, as free capacity waits for a cycle.
_DEMAND = 0.92
_LARGEST = 20
_SHORTEST, _LONGEST = 0.2, 1.0
_CPU = 8
_CONSTRAINTS = (KubeNetworkTopology(mode="hard", highest_tier_allowed=1), KubeNetworkTopology(mode="soft"))


@dataclass(slots=True)
class Workload:
    arrives: float
    runs_for: float
    required: bool
    group: kube.PodGroup
    pods: dict[str, kube.Pod]
    #: By uid, where its pods run.
    places: dict[str, str] = field(default_factory=dict)


class Turnover:
    """Runs workloads through a cluster, and measures the CPU time of cycles and of state updates."""

    def __init__(
        self, cluster: Cluster, program: Program, workloads: Sequence[Workload], racks: Mapping[str, int]
    ) -> None:
        self.cluster = cluster
        self._program = program
        self._racks = racks
        self._by_pod = {uid: workload for workload in workloads for uid in workload.pods}
        self._expected = len(workloads)
        self._numbers = count()
        #: The next events: time, sequence number, workload, and whether it arrives or ends.
        self._agenda = [(each.arrives, next(self._numbers), each, True) for each in workloads]
        self._agenda.sort()
        self.now = 0.0
        self.cycles = 0
        self.seconds = 0.0
        self.accounting_seconds = 0.0
        self.event_seconds = 0.0
        self.finished = 0
        self.preferred = 0
        #: Of those that prefer a rack, how many are not in one.
        self.scattered = 0
        self.bound = 0
        self.used = 0.0

    def run(self) -> None:
        while self._agenda:
            self.now = max(self.now + _PACE, self._agenda[0][0])
            while self._agenda and self._agenda[0][0] <= self.now:
                _, _, workload, comes = heappop(self._agenda)
                if comes:
                    self._arrive(workload)
                else:
                    self._leave(workload)
            self._update_accounting()
            session = self._cycle()
            self._realise(session)
            self._release(session)
        assert self.finished == self._expected, "all workloads finish"

    def _update_accounting(self) -> None:
        began = time.process_time()
        self.cluster.cluster_state()
        self.accounting_seconds += time.process_time() - began

    def _cycle(self) -> Session:
        began = time.process_time()
        session = Session(self.cluster.snapshot(self.now), self._program, uid=f"cycle-{self.cycles}")
        session.run()
        self.seconds += time.process_time() - began
        self.cycles += 1
        return session

    def _release(self, session: Session) -> None:
        began = time.process_time()
        session.release()
        self.seconds += time.process_time() - began

    def _arrive(self, workload: Workload) -> None:
        self._ingest([workload.group, *workload.pods.values()])

    def _leave(self, workload: Workload) -> None:
        ended = [msgspec.structs.replace(pod, status=PodStatus(phase="Succeeded")) for pod in workload.pods.values()]
        self._ingest(ended, [*ended, workload.group])
        self.finished += 1

    def _ingest(self, applied: Sequence[kube.KubeObject], removed: Sequence[kube.KubeObject] = ()) -> None:
        began = time.process_time()
        for entry in applied:
            self.cluster.apply(entry)
        for entry in removed:
            self.cluster.remove(entry)
        self.event_seconds += time.process_time() - began

    def _realise(self, session: Session) -> None:
        """Apply the decisions: pods run from now on."""
        for key, status in session.statuses.items():
            self.cluster.groups.set_phase(key, status.phase)
        self.cluster.assumptions.remember(session.carryover())
        for statement in session.decisions.binds:
            workload = self._by_pod[statement[0].uid]
            for bind in statement:
                workload.places[bind.uid] = bind.node
                pod = workload.pods[bind.uid]
                spec = msgspec.structs.replace(pod.spec, node_name=bind.node)
                pod = msgspec.structs.replace(pod, spec=spec, status=PodStatus(phase="Running"))
                workload.pods[bind.uid] = pod
            self._ingest([workload.pods[bind.uid] for bind in statement])
            self._start(workload)

    def _start(self, workload: Workload) -> None:
        assert len(workload.places) == len(workload.pods), "all of a workload starts together"
        racks = {self._racks[node] for node in workload.places.values()}
        assert len(racks) == 1 or not workload.required, "a workload that requires a rack is in one"
        self.preferred += not workload.required
        self.scattered += len(racks) > 1
        self.bound += len(workload.pods)
        self.used += len(workload.pods) * workload.runs_for
        heappush(self._agenda, (self.now + workload.runs_for, next(self._numbers), workload, False))


def turnover(parameters: Parameters, network: Network, program: Program) -> Result:
    """One run, which is long enough. The accounting is that of all events; events are also decoded and stored."""
    passing = busy(parameters, network, program)
    prepared(passing.cluster)
    passing.run()
    number, cpus = parameters["workloads"], parameters["nodes"] * _CPU
    seconds, accounting, events = passing.seconds, passing.accounting_seconds, passing.event_seconds
    result = Result("turnover", parameters, seconds, passing.bound, passing.bound / seconds, {})
    result.phases = {"cycles": seconds, "accounting": accounting, "events": events}
    result.more = {
        "workloads_per_second": number / seconds,
        "workloads_per_second_with_accounting": number / (seconds + accounting),
        "workloads_per_second_with_events": number / (seconds + accounting + events),
        "cycles": passing.cycles,
        "virtual_seconds": passing.now,
        "used_cpu": passing.used / (cpus * passing.now),
        "preferred_but_not_in_one_rack": passing.scattered / max(1, passing.preferred),
    }
    return finished(result)


def busy(parameters: Parameters, network: Network, program: Program) -> Turnover:
    """Workloads of 1 to 20 pods that run for 0.2 to 1 s; every other one requires one rack, the others prefer it."""
    racks, nodes = parameters["racks"], [clusters.plain_node(place, _CPU) for place in range(parameters["nodes"])]
    cluster = Cluster()
    clusters.fill(cluster, chain(standard_queues(), network(nodes, [racks])))
    rack_of = {node.metadata.name: place * racks // len(nodes) for place, node in enumerate(nodes)}
    return Turnover(cluster, program, list(_workloads(parameters["workloads"], len(nodes) * _CPU)), rack_of)


def _workloads(number: int, cpus: int) -> Iterator[Workload]:
    """Arrival times at the highest rate that the cluster can serve."""
    chance, arrives = random.Random(1), 0.0
    for place in range(number):
        size, runs_for = chance.randint(1, _LARGEST), chance.uniform(_SHORTEST, _LONGEST)
        yield _workload(f"workload-{place:05}", size, arrives, runs_for, required=bool(place % 2))
        arrives += size * runs_for / cpus / _DEMAND


def _workload(name: str, size: int, arrives: float, runs_for: float, *, required: bool) -> Workload:
    group, *pods = clusters.job(name, size, clusters.cpu_template())
    assert isinstance(group, kube.PodGroup)
    constraint = _CONSTRAINTS[0 if required else 1]
    group = msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, network_topology=constraint))
    by_uid = {pod.metadata.uid: pod for pod in pods if isinstance(pod, kube.Pod)}
    return Workload(arrives, runs_for, required, group, by_uid)
