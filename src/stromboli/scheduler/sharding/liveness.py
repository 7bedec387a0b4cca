"""Which shards have a scheduler that lives, and who looks after the nodes of those that have none.

A shard's scheduler lives as long as it renews its lease; that is told by our own clock, from what we see of the lease.
A shard that never had a lease is served by somebody who knows none, and is not judged. Nothing here asks or waits, and
opinions may differ: who is taken for dead decides only who wants a node, never who has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from stromboli.kube.objects.cluster import Lease
from stromboli.kube.objects.shards import NodeShard

LEASE_PREFIX = "stromboli-shard-"
#: How the name of somebody begins who holds the lease of a dead shard for a moment, to clear its record.
RECLAIMER_PREFIX = "caretaker-"
#: On a lease, the names of the schedulers that its holder is.
SCHEDULER_NAMES = "stromboli.dev/scheduler-names"
_LASTS = 15.0


def lease_of(shard: str) -> str:
    """The name of the lease that the schedulers of a shard fight for."""
    return f"{LEASE_PREFIX}{shard}"


@dataclass(slots=True)
class _ShardLease:
    lease: Lease
    #: When it was first seen as it is, by our clock.
    renewed: float
    lasts: float
    is_held: bool
    names: frozenset[str]
    #: Since when nobody renews it; None while somebody does.
    expired_since: float | None = None


class ShardLiveness:
    """What is known of the leases of other shards. `patience` is how long nobody must renew one, in seconds, until its
    shard counts as dead; 0 for ever.
    """

    def __init__(self, takeover: float) -> None:
        self._takeover = takeover
        self._lives: dict[str, _ShardLease] = {}

    def saw(self, shard: str, lease: Lease | None, now: float) -> None:
        if lease is None:
            self._lives.pop(shard, None)
            return
        known, version = self._lives.get(shard), lease.metadata.resource_version
        if known is None or known.lease.metadata.resource_version != version:
            life = self._lives[shard] = _lease_state(lease, now)
            life.expired_since = known.expired_since if known is not None and not life.is_held else None
        self._judge(self._lives[shard], now)

    def last_seen(self, shard: str) -> tuple[Lease, float]:
        """The lease of a shard that is known, and since when it is as it is."""
        life = self._lives[shard]
        return life.lease, life.renewed

    def forget(self, shards: Collection[str]) -> None:
        """Only these still exist."""
        self._lives = {shard: life for shard, life in self._lives.items() if shard in shards}

    @staticmethod
    def _judge(life: _ShardLease, now: float) -> None:
        if life.is_held and now < life.renewed + life.lasts:
            life.expired_since = None
        elif life.expired_since is None:
            life.expired_since = now

    def is_gone(self, shard: str, now: float) -> bool:
        """Whether its scheduler has given its lease back or is dead: then nothing of it is under way any more."""
        life = self._lives.get(shard)
        return life is not None and (not life.is_held or shard in self.dead(now))

    def living(self) -> set[str]:
        return {shard for shard, life in self._lives.items() if life.expired_since is None}

    def dead(self, now: float) -> set[str]:
        """Those whose nodes are for others to look after."""
        return {
            shard
            for shard, life in self._lives.items()
            if self._takeover and life.expired_since is not None and now - life.expired_since >= self._takeover
        }

    def sharing(self, names: Collection[str]) -> dict[str, list[str]]:
        """Shards that live and are schedulers of one of these names as well, with the names."""
        shared = {shard: sorted(self._lives[shard].names & set(names)) for shard in sorted(self.living())}
        return {shard: found for shard, found in shared.items() if found}


def _lease_state(lease: Lease, now: float) -> _ShardLease:
    holder, annotations = lease.spec.holder_identity or "", lease.metadata.annotations or {}
    names = frozenset(filter(None, annotations.get(SCHEDULER_NAMES, "").split(",")))
    is_held = bool(holder) and not holder.startswith(RECLAIMER_PREFIX)
    return _ShardLease(lease, now, lease.spec.lease_duration_seconds or _LASTS, is_held, names)


def orphaned_nodes_for(
    own: str, shards: Iterable[NodeShard], living: Collection[str], dead: Collection[str]
) -> set[str]:
    """The nodes of dead shards that fall to ours. Every node falls to one of those that live, always to the same one as
    long as they do; what somebody else asks for is left to them.
    """
    orphans, asked_for = set[str](), set[str]()
    for shard in shards:
        if shard.key in dead:
            orphans |= _claimed_nodes(shard)
        elif shard.key != own:
            asked_for |= _claimed_nodes(shard)
    heirs = sorted({own, *living})
    return {node for node in orphans - asked_for if max(heirs, key=lambda heir: _weight(heir, node)) == own}


def _claimed_nodes(shard: NodeShard) -> set[str]:
    status = shard.status
    kept = set(status.nodes_in_use or ()) - set(status.nodes_to_remove or ())
    return {*(shard.spec.nodes_desired or ()), *kept, *(status.nodes_to_add or ())}


def _weight(heir: str, node: str) -> bytes:
    return blake2b(f"{heir}/{node}".encode(), digest_size=8).digest()


def cleared(shard: NodeShard) -> Mapping[str, int | list[str]]:
    """What the record of a dead shard has to say: it uses nothing, and waits for what it had."""
    return {"nodeCount": 0, "nodesInUse": [], "nodesToRemove": [], "nodesToAdd": sorted(_claimed_nodes(shard))}
