"""What pods held over time: by resource, by queue and by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stromboli.lab.measures.windows import Series, Windows
from stromboli.simulator.results.job_table import JobTable
from stromboli.simulator.results.run import SimulationRun

RESOURCES = ("cpu", "memory", "gpu")


@dataclass(frozen=True, slots=True)
class AttemptSpans:
    """The attempts to run jobs: their jobs, begins and ends. Those that still run end with the simulation."""

    jobs: NDArray[np.int64]
    begins: Series
    ends: Series


def spans_of(run: SimulationRun) -> AttemptSpans:
    ended = run.jobs.attempt_column("ended")
    ends = np.where(np.isnan(ended), run.end, ended)
    jobs = run.jobs.attempt_column("job").astype(np.int64)
    return AttemptSpans(jobs, np.asarray(run.jobs.attempt_column("started"), dtype=np.float64), ends)


def capacity_of(run: SimulationRun, resource: str) -> int:
    return sum(getattr(node, resource) for node in run.nodes)


def primary_resource(run: SimulationRun) -> str:
    """Return the resource by which shares are measured: GPUs, or processors of a cluster without GPUs."""
    return "gpu" if capacity_of(run, "gpu") else "cpu"


def requests_of(table: JobTable, resource: str) -> Series:
    """Return what all pods of each job request together."""
    return np.asarray(table.column(resource) * table.column("pods"), dtype=np.float64)


def used_over_time(run: SimulationRun, windows: Windows) -> dict[str, Series]:
    """Return the fraction of each resource that pods held, for the resources that the cluster has."""
    spans, used = spans_of(run), {}
    for resource in RESOURCES:
        if capacity := capacity_of(run, resource):
            amounts = requests_of(run.jobs, resource)[spans.jobs]
            used[resource] = windows.mean(spans.begins, spans.ends, amounts) / capacity
    return used


def queue_usage(run: SimulationRun, windows: Windows) -> Mapping[str, Series]:
    """Return the fraction of the primary resource that each queue held."""
    spans, resource = spans_of(run), primary_resource(run)
    amounts = requests_of(run.jobs, resource)[spans.jobs]
    codes, names = run.jobs.codes("queue")
    queues, capacity, used = codes[spans.jobs], max(capacity_of(run, resource), 1), {}
    for name, code in sorted((name, code) for code, name in enumerate(names)):
        own = queues == code
        used[name] = windows.mean(spans.begins[own], spans.ends[own], amounts[own]) / capacity
    return used


def node_usage(run: SimulationRun, windows: Windows, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the fraction of the primary resource that pods held, by group of nodes and window.

    `groups` has the group of each node, from 0 on.
    """
    spans, resource = spans_of(run), primary_resource(run)
    pod_ends, nodes, _ = run.jobs.attempt_pods()
    attempts = np.repeat(np.arange(len(pod_ends)), np.diff(pod_ends, prepend=0))
    each = run.jobs.column(resource)[spans.jobs][attempts].astype(np.float64)
    group_of_pod = groups[nodes]
    capacity = np.bincount(groups, weights=[getattr(node, resource) for node in run.nodes])
    used = np.zeros((len(capacity), len(windows)))
    for group in range(len(capacity)):
        own = attempts[group_of_pod == group]
        used[group] = windows.mean(spans.begins[own], spans.ends[own], each[group_of_pod == group])
    return used / np.maximum(capacity, 1)[:, None]
