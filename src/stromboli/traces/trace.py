"""A trace: jobs in order of submission, and the nodes of their cluster if they are known.

Times are seconds; those of jobs are relative to the start of the trace. Amounts are those of one pod, as exact
integers: thousandths of a processor, bytes, thousandths of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec

from stromboli.traces.rejects import RejectedRows

COMPLETED, FAILED, CANCELLED, PENDING, RUNNING, UNKNOWN = (
    "completed", "failed", "cancelled", "pending", "running", "unknown",
)  # fmt: skip
"""How a job ended in the recorded cluster, or where it was at the end of the trace."""
STATUSES = (COMPLETED, FAILED, CANCELLED, PENDING, RUNNING, UNKNOWN)


class TraceError(ValueError):
    """A trace that cannot be read; the message names the file, the line if there is one, and a remedy."""


class TraceJob(msgspec.Struct, frozen=True, gc=False):
    name: str
    submitted: float
    #: The actual run time; None if the trace does not contain it.
    run_time: float | None
    pods: int = 1
    cpu: int = 0
    memory: int = 0
    gpu: int = 0
    #: The models of GPU that the job accepts; empty for any.
    gpu_models: tuple[str, ...] = ()
    #: The run time that the user requested.
    requested: float | None = None
    #: How long the job waited in the recorded cluster.
    waited: float | None = None
    user: str = ""
    group: str = ""
    queue: str = ""
    status: str = UNKNOWN
    #: Seconds of run time between checkpoints, from the last of which an interrupted job starts again.
    checkpoint: float | None = None
    #: The number of the line, for messages.
    line: int = 0


class TraceNode(msgspec.Struct, frozen=True):
    """Amounts as those of a job."""

    name: str
    cpu: int
    memory: int = 0
    gpu: int = 0
    gpu_model: str = ""


@dataclass(slots=True)
class TraceHeader:
    """What a trace states about itself."""

    #: Seconds since the epoch; None if the trace does not contain it.
    start: float | None = None
    #: Number of nodes and of processors of the cluster.
    nodes: int | None = None
    processors: int | None = None
    computer: str = ""


@dataclass(slots=True)
class Trace:
    """`jobs` reads the trace from its beginning, each time that it is called, and counts its rejected rows anew."""

    source: str
    format: str
    jobs: Callable[[], Iterator[TraceJob]]
    header: TraceHeader = field(default_factory=TraceHeader)
    nodes: Sequence[TraceNode] = ()
    rejected: RejectedRows = field(default_factory=RejectedRows)

    @property
    def node_count(self) -> int | None:
        return self.header.nodes or len(self.nodes) or None

    @property
    def processors(self) -> int | None:
        """The processors of the cluster; nodes count as one each if the trace names no processors."""
        return self.header.processors or sum(node.cpu for node in self.nodes) // 1000 or self.header.nodes


def in_order(source: str, jobs: Iterator[TraceJob]) -> Iterator[TraceJob]:
    """Pass jobs on. Raises TraceError if one was submitted before its predecessor."""
    before: TraceJob | None = None
    for job in jobs:
        if before is not None and job.submitted < before.submitted:
            place = f"{source}:{job.line}" if job.line else source
            raise TraceError(
                f"{place}: job {job.name} was submitted at {job.submitted:g} s, before job {before.name} at "
                f"{before.submitted:g} s; `stromboli trace convert --sort` orders a trace by time"
            )
        before = job
        yield job


def sorted_jobs(jobs: Iterator[TraceJob]) -> list[TraceJob]:
    """Order jobs by submission; simultaneous ones keep their order."""
    return sorted(jobs, key=lambda job: job.submitted)


def ordered(trace: Trace, *, sort: bool = False) -> Trace:
    """Return a trace whose jobs are checked to be in order, or sorted in memory."""
    jobs = trace.jobs
    if sort:
        return replace(trace, jobs=lambda: iter(sorted_jobs(jobs())))
    return replace(trace, jobs=lambda: in_order(trace.source, jobs()))


def first_jobs(trace: Trace, count: int) -> Trace:
    jobs = trace.jobs
    return replace(trace, jobs=lambda: islice(jobs(), count))
