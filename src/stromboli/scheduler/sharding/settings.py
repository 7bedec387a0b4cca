"""What a scheduler needs to know to share a cluster with others."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.config.bind_options import REQUEST
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.kube.watch.reflector import IDLE_SECONDS


class ShardSettingsError(ValueError):
    """A shard that this scheduler cannot have; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """Times are in seconds."""

    choice: ShardChoice
    #: Where the leases of shards are, and who we are in them.
    namespace: str = "default"
    identity: str = "stromboli"
    #: How long the lease of another shard must have run out until its nodes are taken over; 0 for never.
    takeover: float = 30.0
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    #: How long the nodes of a NodeShard that was deleted are left alone: as long as a watch may be silent and a bind
    #: may take.
    farewell: float = IDLE_SECONDS + 30.0

    def check(self, bind_mode: str) -> None:
        """Raises UnusableShard. Two schedulers that bind pods to one node themselves cannot know of each other in time;
        a binder can, as every decision comes to it.
        """
        if self.choice.mode is ShardMode.SOFT and bind_mode != REQUEST:
            raise ShardSettingsError(
                "--scheduler-sharding-mode soft places pods on nodes of other shards, which needs somebody who checks "
                "every decision again: use it with --bind-mode request and a `stromboli binder`, or use hard"
            )
