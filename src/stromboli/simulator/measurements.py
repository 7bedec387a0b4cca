"""Measurements of a simulation: the timeline of every job, and the usage over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.queues.queue import ROOT
from stromboli.core.model.resources.resources import PODS, hour_on_axis
from stromboli.core.session.session import Session
from stromboli.simulator.virtual_cluster import PodRemoval, PodStart


@dataclass(slots=True)
class JobTimeline:
    """Times are seconds since the epoch; None for events that have not happened."""

    key: str
    queue: str
    minimum: int
    arrived: float
    pods: int = 0
    #: When it reached its minimum for the first time, and when its last pod ended.
    started: float | None = None
    ended: float | None = None
    #: The start time of its first reservation.
    reserved: float | None = None
    running: int = 0
    evictions: int = 0
    #: Evicted pods that were not recreated.
    lost: int = 0

    @property
    def waited(self) -> float | None:
        return None if self.started is None else self.started - self.arrived


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry of the timeline."""

    moment: float
    what: str
    job: str
    pods: int = 0


@dataclass(slots=True)
class UsageSample:
    """Usage from some moment on, by resource name."""

    moment: float
    used: Mapping[str, int]
    capacity: Mapping[str, int]
    queues: Mapping[str, Mapping[str, int]]


@dataclass(slots=True)
class SimulationMeasurements:
    start: float
    end: float = 0.0
    jobs: dict[str, JobTimeline] = field(default_factory=dict)
    timeline: list[TimelineEntry] = field(default_factory=list)
    usage: list[UsageSample] = field(default_factory=list)
    cycles: int = 0

    # -- jobs ---------------------------------------------------------------------------------------------------

    def arrive(self, now: float, jobs: Sequence[str], cluster: Cluster) -> None:
        """Record the arrival of pods; `jobs` has one entry per pod."""
        entry = cluster.cluster_state().jobs
        for key, pods in Counter(jobs).items():
            job = entry.get(key)
            if job is None:
                continue
            record = self.jobs.get(key)
            if record is None:
                record = self.jobs[key] = JobTimeline(key, job.queue, job.min_available, now)
            record.pods += pods
            self.timeline.append(TimelineEntry(now, "arrives", key, pods))

    def decided(self, now: float, session: Session, started: Sequence[PodStart], gone: Sequence[PodRemoval]) -> None:
        """Record the applied decisions of a cycle."""
        self.cycles += 1
        for key, reservation in session.decisions.reservations.items():
            if key in self.jobs and self.jobs[key].reserved is None and reservation.start < inf:
                self.jobs[key].reserved = reservation.start
                self.timeline.append(TimelineEntry(reservation.start, "reserved", key))
        for key, pods in Counter(start.job for start in started).items():
            self._start(now, key, pods)
        for each in gone:
            self._evict(now, each)

    def _start(self, now: float, key: str, pods: int) -> None:
        record = self.jobs.get(key)
        if record is None:
            return
        record.running += pods
        first = record.started is None and record.running >= record.minimum
        record.started = now if first else record.started
        self.timeline.append(TimelineEntry(now, "starts" if first else "grows", key, pods))

    def _evict(self, now: float, gone: PodRemoval) -> None:
        record = self.jobs.get(gone.job)
        if record is not None:
            record.running -= 1
            record.evictions += 1
            record.lost += not gone.is_recreated
            self.timeline.append(TimelineEntry(now, "evicted", gone.job, 1))

    def finish(self, now: float, gone: PodRemoval) -> None:
        record = self.jobs.get(gone.job)
        if record is None:
            return
        record.running -= 1
        if gone.is_last:
            record.ended = now
            self.timeline.append(TimelineEntry(now, "ends", gone.job, record.pods))

    # -- usage --------------------------------------------------------------------------------------------------

    def look(self, now: float, cluster: Cluster) -> None:
        """Record the current usage."""
        cluster_state = cluster.cluster_state()
        layout, names = cluster_state.layout, cluster.axis.names
        size = layout.resources
        used = cluster_state.amounts[layout.used : layout.used + size].sum(axis=1).tolist()
        capacity = cluster_state.amounts[layout.allocatable :].sum(axis=1).tolist()
        shares = {name: _named(names, usage.allocated) for name, usage in cluster_state.sums.usage.items()}
        queues = {name: share for name, share in shares.items() if share and name != ROOT}
        seen = UsageSample(now, _named(names, used), _named(names, capacity), queues)
        if self.usage and self.usage[-1].moment == now:
            self.usage[-1] = seen
        else:
            self.usage.append(seen)

    def mean_use(self, begin: float, end: float) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Return the mean fraction of each resource in use between two moments: in total, and by queue."""
        weights = self._weights(begin, end)
        capacity = self._sums([look.capacity for look in self.usage], weights)
        used = self._sums([look.used for look in self.usage], weights)
        queues = {name: None for look in self.usage for name in look.queues}
        by_queue = {name: self._sums([look.queues.get(name, {}) for look in self.usage], weights) for name in queues}
        return _parts(used, capacity), {name: _parts(sums, capacity) for name, sums in by_queue.items()}

    def used_hours(self) -> dict[str, dict[str, float]]:
        """Return by queue the hours of processors, of GiB of memory and storage, and of devices."""
        weights = self._weights(self.start, self.end)
        queues = {name: None for look in self.usage for name in look.queues}
        return {
            queue: {
                name: amount / hour_on_axis(name)
                for name, amount in self._sums([look.queues.get(queue, {}) for look in self.usage], weights).items()
            }
            for queue in queues
        }

    def _weights(self, begin: float, end: float) -> NDArray[np.float64]:
        """Return the duration of each sample within the interval."""
        moments = np.array([look.moment for look in self.usage] + [max(end, self.end)])
        return np.maximum(np.minimum(moments[1:], end) - np.maximum(moments[:-1], begin), 0.0)

    @staticmethod
    def _sums(looks: Sequence[Mapping[str, int]], weights: NDArray[np.float64]) -> dict[str, float]:
        sums: dict[str, float] = {}
        for index in np.flatnonzero(weights).tolist():
            for name, amount in looks[index].items():
                sums[name] = sums.get(name, 0.0) + amount * float(weights[index])
        return sums


def _named(names: Sequence[str], amounts: Sequence[int]) -> dict[str, int]:
    """Return the amounts by name, without pods."""
    return {names[d]: amount for d, amount in enumerate(amounts) if amount and d != PODS}


def _parts(sums: Mapping[str, float], capacity: Mapping[str, float]) -> dict[str, float]:
    return {name: sums.get(name, 0.0) / whole for name, whole in capacity.items() if whole}
