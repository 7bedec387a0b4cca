"""A job of a simulation between its submission and its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from stromboli.traces.trace import TraceJob

NAMESPACE = "trace"
#: A job that exceeds its estimate has a little left, as far as the scheduler knows.
MIN_ESTIMATE = 0.001


@dataclass(slots=True)
class ActiveJob:
    #: Its number among the submitted jobs, which is its row in the table plus one.
    number: int
    job: TraceJob
    queue: str
    #: Seconds since the epoch.
    submitted: float
    #: The run time that the scheduler sees, and the actual one.
    estimate: float | None
    run_time: float
    #: Whether it ends because it exceeds its request.
    is_killed: bool = False
    #: Seconds between checkpoints; infinite without.
    interval: float = inf
    #: Seconds of run time that checkpoints have saved.
    saved: float = 0.0
    attempt: int = 0
    failures: int = 0
    #: When it last began to wait.
    waits_since: float = 0.0
    waited: float = 0.0
    #: Rows of the nodes of its placed pods. The attempt begins when all are placed.
    nodes: list[int] = field(default_factory=list)
    #: The shared GPU of each of them; empty for pods without one.
    devices: list[str] = field(default_factory=list)
    began: float = inf
    #: Seconds from the beginning of the attempt until its pods have started.
    latency: float = 0.0

    @property
    def name(self) -> str:
        return f"job-{self.number}"

    @property
    def key(self) -> str:
        return f"{NAMESPACE}/{self.name}"

    @property
    def is_placed(self) -> bool:
        return len(self.nodes) == self.job.pods

    @property
    def remaining(self) -> float:
        """Seconds of run time after the last checkpoint."""
        return self.run_time - self.saved

    @property
    def remaining_estimate(self) -> float | None:
        return None if self.estimate is None else max(round(self.estimate - self.saved, 3), MIN_ESTIMATE)

    def progress(self, now: float) -> float:
        """Return the seconds of run time in this attempt."""
        return max(now - self.began - self.latency, 0.0)

    def interrupt(self, now: float) -> float:
        """Go back to the last checkpoint, and wait again; return the seconds of run time that are lost."""
        progress = self.progress(now) if self.is_placed else 0.0
        kept = progress // self.interval * self.interval if self.interval < inf else 0.0
        self.saved += kept
        self.attempt += 1
        self.nodes, self.devices, self.began, self.waits_since = [], [], inf, now
        return progress - kept
