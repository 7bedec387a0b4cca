"""Options of a binder process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """Times are in seconds."""

    #: Bind requests processed at a time; those that wait for volumes or for their next attempt do not count.
    request_workers: int = 16
    #: Bindings in flight, in total and for one node.
    bind_workers: int = 64
    binds_per_node: int = 16
    #: The delay after the first failed attempt, which doubles with every other one, and its maximum.
    min_retry_delay: float = 0.5
    max_retry_delay: float = 30.0
    #: Events per second; 0 for no limit.
    event_rate: float = 50.0
    #: How long a stopping process waits for binds in flight.
    grace: float = 10.0
