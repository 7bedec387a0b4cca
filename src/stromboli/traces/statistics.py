"""The summary of a trace: what it contains, without keeping its jobs."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stromboli.traces.trace import Trace


@dataclass(slots=True)
class Distribution:
    """Seconds, or numbers of pods."""

    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, value: float | None) -> None:
        if value is not None:
            self.values.append(value)

    def as_plain(self) -> dict[str, float] | None:
        if not self.values:
            return None
        ordered = np.sort(np.asarray(self.values))
        ranks = {"median": 0.5, "p95": 0.95}
        named = {name: float(np.quantile(ordered, rank, method="inverted_cdf")) for name, rank in ranks.items()}
        return {"mean": round(float(ordered.mean()), 3), **named, "max": float(ordered[-1])}


@dataclass(slots=True)
class TraceSummary:
    jobs: int = 0
    first: float = 0.0
    last: float = 0.0
    cpu_seconds: float = 0.0
    gpu_seconds: float = 0.0
    with_gpus: int = 0
    unknown_run_times: int = 0
    #: Jobs that ran longer than requested.
    over_request: int = 0
    #: Jobs that were submitted before the previous one.
    out_of_order: int = 0
    pods: Distribution = field(default_factory=Distribution)
    run_times: Distribution = field(default_factory=Distribution)
    requested: Distribution = field(default_factory=Distribution)
    waited: Distribution = field(default_factory=Distribution)
    statuses: Counter[str] = field(default_factory=Counter)
    queues: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)


def summary_of(trace: Trace) -> TraceSummary:
    """Read a trace once. Raises TraceError."""
    found, before = TraceSummary(), 0.0
    for job in trace.jobs():
        found.out_of_order += job.submitted < before
        before = job.submitted
        found.first = job.submitted if not found.jobs else min(found.first, job.submitted)
        found.last = max(found.last, job.submitted)
        found.jobs += 1
        found.pods.values.append(job.pods)
        found.with_gpus += bool(job.gpu)
        found.statuses[job.status] += 1
        found.queues[job.queue] += 1
        found.users[job.user] += 1
        found.requested.add(job.requested)
        found.waited.add(job.waited)
        found.run_times.add(job.run_time)
        if job.run_time is None:
            found.unknown_run_times += 1
            continue
        found.over_request += job.requested is not None and job.run_time > job.requested
        found.cpu_seconds += job.pods * job.cpu / 1000 * job.run_time
        found.gpu_seconds += job.pods * job.gpu / 1000 * job.run_time
    return found


def as_plain(trace: Trace, found: TraceSummary) -> dict[str, Any]:
    """Return the summary for JSON: the keys are stable, and keys may be added."""
    span = found.last - found.first
    processors = trace.processors
    gpus = sum(node.gpu for node in trace.nodes) / 1000
    return {
        "source": trace.source,
        "format": trace.format,
        "computer": trace.header.computer or None,
        "start": trace.header.start,
        "nodes": trace.node_count,
        "processors": processors,
        "gpus": gpus or None,
        "jobs": found.jobs,
        "span": span,
        "load": {
            "cpu": round(found.cpu_seconds / (span * processors), 4) if span and processors else None,
            "gpu": round(found.gpu_seconds / (span * gpus), 4) if span and gpus else None,
        },
        "jobsWithGpus": found.with_gpus,
        "unknownRunTimes": found.unknown_run_times,
        "overRequest": found.over_request,
        "outOfOrder": found.out_of_order,
        "pods": found.pods.as_plain(),
        "runTime": found.run_times.as_plain(),
        "requested": found.requested.as_plain(),
        "waited": found.waited.as_plain(),
        "statuses": dict(sorted(found.statuses.items())),
        "queues": dict(found.queues.most_common()),
        "users": {name: jobs for name, jobs in found.users.most_common() if name},
        "rejected": {name: {"rows": rule.rows, "first": rule.first} for name, rule in trace.rejected.by_rule.items()},
    }
