"""A simulation that has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stromboli.simulator.results.job_table import JobTable
from stromboli.traces.trace import TraceNode


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """Equal traces, policies and seeds give equal runs."""

    jobs: JobTable
    #: The nodes, in the order of the rows that attempts name.
    nodes: Sequence[TraceNode]
    #: Seconds since the epoch of the start of the trace.
    epoch: float
    #: Seconds since the start of the trace: the first submission, and the last event.
    start: float
    end: float
    cycles: int
    seed: int
    trace: str = ""
    policy: str = ""
    #: The weights of queues; others have 1.
    weights: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = field(default_factory=tuple)
    #: Rows of the trace that were skipped, by rule.
    rejected: dict[str, int] = field(default_factory=dict)
