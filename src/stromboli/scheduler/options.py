"""How a scheduler process behaves, apart from its policy, which the configuration file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.scheduler.sharding.settings import ShardSettings


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Times are in seconds."""

    scheduler_names: tuple[str, ...] = SCHEDULER_NAMES
    seed: int = 0
    #: The queue of groups that name none.
    default_queue: str = "default"
    #: Only nodes with one of these values of every label are used; all nodes if there is none.
    node_selector: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: A cycle begins this long after the last one, if nothing calls for one earlier.
    period: float = 1.0
    #: Events that matter start a cycle when nothing has followed them for so long.
    debounce: float = 0.02
    #: Without any event, a cycle is run at least this often all the same.
    flush: float = 30.0
    #: Who binds pods: `direct` for the scheduler itself, `request` for a binder; empty for what the configuration says.
    bind_mode: str = ""
    bind_workers: int = 32
    bind_batch: int = 1
    evict_workers: int = 8
    #: Evict by a plain delete, past disruption budgets.
    evict_by_delete: bool = False
    status_workers: int = 8
    #: Events per second; 0 for as many as there are.
    event_rate: float = 50.0
    #: Words that changed a little (the number of nodes that lack something) are written again no sooner than this.
    status_refresh: float = 10.0
    #: A gang of which only a part could be bound has so long to get the rest, then that part is evicted.
    heal: float = 30.0
    #: How long a stopping process waits for binds that are under way.
    grace: float = 10.0
    #: A part of the books is checked against the objects this often; 0 for never.
    audit: float = 1.0
    dump_folder: str = ""
    #: The part of the nodes that is ours; None for all of them.
    shard: ShardSettings | None = None
