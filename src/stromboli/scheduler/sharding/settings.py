"""Settings of a scheduler that shares a cluster with others."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.config.bind_options import REQUEST
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.kube.watch.reflector import IDLE_SECONDS


class ShardSettingsError(ValueError):
    """A shard that this scheduler cannot have."""


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """Times are in seconds."""

    choice: ShardChoice
    #: The namespace of the shards' leases, and this process's identity in them.
    namespace: str = "default"
    identity: str = "stromboli"
    #: The time after the expiry of another shard's lease until its nodes are taken over; 0 for never.
    takeover: float = 30.0
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    #: How long the nodes of a deleted NodeShard are not used: as long as a watch may be stale and a bind may take.
    deletion_grace: float = IDLE_SECONDS + 30.0

    def check(self, bind_mode: str) -> None:
        """Raises ShardSettingsError. Schedulers that bind directly to one node see each other's placements too late;
        a binder receives every placement.
        """
        if self.choice.mode is ShardMode.SOFT and bind_mode != REQUEST:
            raise ShardSettingsError(
                "--scheduler-sharding-mode soft places pods on nodes of other shards, which needs a binder that "
                "checks every placement: use it with --bind-mode request and a `stromboli binder`, or use hard"
            )
