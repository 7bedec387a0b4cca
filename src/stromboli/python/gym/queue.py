"""Jobs that wait for nodes, in virtual time: small enough for thousands of decisions per second.

Resources are exact: a pod is on one node, and a job runs when all its pods have one. Nothing else of a scheduler is
modelled; `sb.simulate` measures policies.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

import numpy as np
from numpy.typing import NDArray

from stromboli.traces.trace import TraceJob, TraceNode

#: Run times below this do not dominate the slowdown, in seconds.
_SHORTEST = 10.0

#: Processors, memory and GPUs.
RESOURCES = 3
_UNLIMITED = np.iinfo(np.int64).max

Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class QueuedJob:
    job: TraceJob
    #: Processors, memory and GPUs of a pod.
    request: Amounts
    run_time: float
    #: The largest part of a resource of the cluster that all its pods request.
    part: float

    @property
    def weight(self) -> float:
        return 1 / max(self.run_time, _SHORTEST)


class JobQueue:
    """`waiting` is in order of arrival. Time passes until a decision is possible."""

    def __init__(self, nodes: Sequence[TraceNode], jobs: Sequence[QueuedJob]) -> None:
        self.capacity = capacity_of(nodes)
        self.total = np.maximum(self.capacity.sum(axis=0), 1)
        self.free = self.capacity.copy()
        self.waiting: list[QueuedJob] = []
        self.now = jobs[0].job.submitted if jobs else 0.0
        #: Seconds that jobs have waited, each divided by its run time.
        self.slowdown = 0.0
        self._jobs, self._next = jobs, 0
        self._ends: list[tuple[float, int, QueuedJob, list[int]]] = []
        self._numbers = count()
        self._arrive()

    @property
    def is_over(self) -> bool:
        return not self.waiting and self._next == len(self._jobs)

    def pods_that_fit(self, requests: Amounts) -> Amounts:
        """Return the number of pods that each node could take, of one request or of several."""
        wanted = requests[..., None, :]
        return np.asarray(np.where(wanted > 0, self.free // np.maximum(wanted, 1), _UNLIMITED).min(axis=-1))

    def fit(self, jobs: Sequence[QueuedJob]) -> NDArray[np.bool_]:
        """Report for each job whether all its pods fit now."""
        pods = np.array([queued.job.pods for queued in jobs], dtype=np.int64)
        fitting = self.pods_that_fit(np.array([queued.request for queued in jobs]).reshape(-1, RESOURCES))
        return np.asarray(np.minimum(fitting, pods[:, None]).sum(axis=1) >= pods)

    def start(self, queued: QueuedJob) -> None:
        """Place the pods on the nodes that have the least capacity left, and run."""
        fitting = self.pods_that_fit(queued.request)
        placed: list[int] = []
        for node in np.argsort(fitting, kind="stable").tolist():
            placed += [node] * min(int(fitting[node]), queued.job.pods - len(placed))
        for node in placed:
            self.free[node] -= queued.request
        self.run(queued, placed)

    def run(self, queued: QueuedJob, placed: Sequence[int]) -> None:
        """Run a job whose pods are on nodes."""
        self.waiting.remove(queued)
        heapq.heappush(self._ends, (self.now + queued.run_time, next(self._numbers), queued, list(placed)))

    def advance(self) -> bool:
        """Pass to the next arrival or end; report whether there is one."""
        arrival = self._jobs[self._next].job.submitted if self._next < len(self._jobs) else inf
        moment = min(arrival, self._ends[0][0] if self._ends else inf)
        if moment == inf:
            return False
        self.slowdown += (moment - self.now) * sum(queued.weight for queued in self.waiting)
        self.now = moment
        while self._ends and self._ends[0][0] <= moment:
            _, _, queued, placed = heapq.heappop(self._ends)
            for node in placed:
                self.free[node] += queued.request
        self._arrive()
        return True

    def _arrive(self) -> None:
        while self._next < len(self._jobs) and self._jobs[self._next].job.submitted <= self.now:
            self.waiting.append(self._jobs[self._next])
            self._next += 1


def capacity_of(nodes: Sequence[TraceNode]) -> Amounts:
    amounts = [(node.cpu, node.memory, node.gpu) for node in nodes]
    return np.array(amounts, dtype=np.int64).reshape(-1, RESOURCES)


def queued_jobs(jobs: Sequence[TraceJob], nodes: Sequence[TraceNode]) -> list[QueuedJob]:
    """Return the jobs that can run on the empty cluster. Memory counts where nodes have any."""
    has_memory = any(node.memory for node in nodes)
    empty, found = JobQueue(nodes, ()), []
    for job in jobs:
        request = np.array((job.cpu, job.memory if has_memory else 0, job.gpu), dtype=np.int64)
        if job.run_time is not None:
            part = min(float((request * job.pods / empty.total).max()), 1.0)
            found.append(QueuedJob(job, request, job.run_time, part))
    return [queued for queued, fits in zip(found, empty.fit(found), strict=True) if fits]
