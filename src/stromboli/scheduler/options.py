"""Options of a scheduler process; its policy is in the configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.cluster.state.cluster import SCHEDULER_NAMES
from stromboli.history.retention import HistoryBounds
from stromboli.scheduler.sharding.settings import ShardSettings


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Times are in seconds."""

    scheduler_names: tuple[str, ...] = SCHEDULER_NAMES
    seed: int = 0
    #: The queue of groups without one.
    default_queue: str = "default"
    #: Only nodes with one of these values for every label are used; empty for all nodes.
    node_selector: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: The interval of periodic cycles.
    period: float = 1.0
    #: Relevant changes start a cycle after a pause of this length.
    debounce: float = 0.02
    #: Without any change, a cycle runs at least this often.
    flush: float = 30.0
    #: `direct` binds in the scheduler, `request` in a binder; empty for the mode of the configuration.
    bind_mode: str = ""
    bind_workers: int = 32
    bind_batch: int = 1
    evict_workers: int = 32
    #: Evict by deletion, ignoring disruption budgets.
    evict_by_delete: bool = False
    status_workers: int = 8
    #: Events per second; 0 for no limit.
    event_rate: float = 50.0
    #: A message with minor changes (numbers of nodes) is written again at most this often.
    status_refresh: float = 10.0
    #: The time limit for a half-bound gang to complete before it is unwound.
    heal: float = 30.0
    #: The time limit for binds in progress when the process stops.
    grace: float = 10.0
    #: The interval of cache audits; 0 for none.
    audit: float = 1.0
    dump_folder: str = ""
    #: The time of the jobs of a cycle together, and of each job in it; 0 for no limit. Beyond it they are set aside.
    cycle_budget: float = 30.0
    job_budget: float = 5.0
    #: A cycle that does not advance for this long gives up the lease and ends the process; 0 for never.
    stuck_after: float = 60.0
    #: The path or DSN of the history; empty for none.
    history: str = ""
    history_bounds: HistoryBounds = field(default_factory=HistoryBounds)
    #: The interval of forecasts of the starts of waiting jobs; 0 for none.
    forecast: float = 0.0
    #: References of the plugins of the policy that are not installed, for processes that use the policy too.
    plugins: tuple[str, ...] = ()
    #: The shard of this scheduler; None for all nodes.
    shard: ShardSettings | None = None

    @property
    def title(self) -> str:
        """The name of this scheduler for people who see several ones: with its shard, if that has a name."""
        name, shard = self.scheduler_names[0], self.shard.choice.name if self.shard is not None else ""
        return f"{name}, shard {shard}" if shard else name
