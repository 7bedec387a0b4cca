"""How a binder process behaves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """Times are in seconds."""

    #: Bind requests that are worked on at a time; those that wait for volumes or for their next attempt do not count.
    request_workers: int = 16
    #: Bindings that the server is asked for at a time, in all and for one node.
    bind_workers: int = 64
    binds_per_node: int = 16
    #: The pause after the first failed attempt; it doubles with every other one, up to the longest.
    shortest_pause: float = 0.5
    longest_pause: float = 30.0
    #: Events per second; 0 for as many as there are.
    event_rate: float = 50.0
    #: How long a stopping process waits for what is under way.
    grace: float = 10.0
