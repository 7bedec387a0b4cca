"""How a trace is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from stromboli.simulator.traced.chance import DurationDistribution
from stromboli.simulator.traced.estimates import REQUESTED
from stromboli.simulator.traced.layouts import PROCESSORS
from stromboli.simulator.traced.objects import ONE_QUEUE

KILL, RUN_ON = OVER_LIMIT = ("kill", "run-on")


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    layout: str = PROCESSORS
    estimates: str = REQUESTED
    #: Whether jobs end at their requested run time.
    over_limit: str = KILL
    #: The property of jobs that names their queue.
    queues: str = ONE_QUEUE
    #: Only the first jobs.
    jobs: int | None = None
    seed: int = 0
    #: Seconds from the binding of a pod to its start, and from its start to its failure.
    start_latency: DurationDistribution | None = None
    failures: DurationDistribution | None = None
    #: How often a job whose pods failed is tried again.
    retries: int = 3
    #: Seconds between checkpoints of jobs that declare no interval.
    checkpoint_interval: float = inf
    #: Seconds between cycles at least, as between those of a scheduler, and at most while jobs wait.
    period: float = 1.0
    idle: float = 300.0
