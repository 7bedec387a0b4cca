"""The shards with a live scheduler, and the shards that take over the nodes of the others.

A shard's scheduler is alive while it renews its lease, by the observer's own clock. A shard that never had a lease is
neither alive nor dead. Nothing here reads or waits, and observers may disagree: liveness decides only which
shard is to claim a node, never which one has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from stromboli.kube.objects.cluster import Lease
from stromboli.kube.objects.shards import NodeShard

LEASE_PREFIX = "stromboli-shard-"
#: The prefix of a holder that takes the lease of a dead shard briefly, to clear its record.
RECLAIMER_PREFIX = "caretaker-"
#: On a lease, the scheduler names of its holder.
SCHEDULER_NAMES = "stromboli.dev/scheduler-names"
_LASTS = 15.0


def lease_of(shard: str) -> str:
    """Return the name of a shard's lease."""
    return f"{LEASE_PREFIX}{shard}"


@dataclass(slots=True)
class _ShardLease:
    lease: Lease
    #: When this version was first observed, by the local clock.
    renewed: float
    lasts: float
    is_held: bool
    names: frozenset[str]
    #: Since when the lease is expired; None while it is renewed.
    expired_since: float | None = None


class ShardLiveness:
    """The observed leases of other shards. A shard is dead `takeover` seconds after its lease expired; 0 for never."""

    def __init__(self, takeover: float) -> None:
        self._takeover = takeover
        self._leases: dict[str, _ShardLease] = {}

    def observe(self, shard: str, lease: Lease | None, now: float) -> None:
        if lease is None:
            self._leases.pop(shard, None)
            return
        known, version = self._leases.get(shard), lease.metadata.resource_version
        if known is None or known.lease.metadata.resource_version != version:
            life = self._leases[shard] = _lease_state(lease, now)
            life.expired_since = known.expired_since if known is not None and not life.is_held else None
        self._judge(self._leases[shard], now)

    def last_seen(self, shard: str) -> tuple[Lease, float]:
        """Return the lease of a known shard, and since when it is unchanged."""
        life = self._leases[shard]
        return life.lease, life.renewed

    def retain(self, shards: Collection[str]) -> None:
        """Drop all other shards."""
        self._leases = {shard: life for shard, life in self._leases.items() if shard in shards}

    @staticmethod
    def _judge(life: _ShardLease, now: float) -> None:
        if life.is_held and now < life.renewed + life.lasts:
            life.expired_since = None
        elif life.expired_since is None:
            life.expired_since = now

    def is_gone(self, shard: str, now: float) -> bool:
        """Report whether a shard's scheduler has released its lease or is dead: it starts nothing any more."""
        life = self._leases.get(shard)
        return life is not None and (not life.is_held or shard in self.dead(now))

    def living(self) -> set[str]:
        return {shard for shard, life in self._leases.items() if life.expired_since is None}

    def dead(self, now: float) -> set[str]:
        """Return the shards whose nodes others take over."""
        return {
            shard
            for shard, life in self._leases.items()
            if self._takeover and life.expired_since is not None and now - life.expired_since >= self._takeover
        }

    def sharing(self, names: Collection[str]) -> dict[str, list[str]]:
        """Return the live shards with one of these scheduler names, with the shared names."""
        shared = {shard: sorted(self._leases[shard].names & set(names)) for shard in sorted(self.living())}
        return {shard: found for shard, found in shared.items() if found}


def _lease_state(lease: Lease, now: float) -> _ShardLease:
    holder, annotations = lease.spec.holder_identity or "", lease.metadata.annotations or {}
    names = frozenset(filter(None, annotations.get(SCHEDULER_NAMES, "").split(",")))
    is_held = bool(holder) and not holder.startswith(RECLAIMER_PREFIX)
    return _ShardLease(lease, now, lease.spec.lease_duration_seconds or _LASTS, is_held, names)


def orphaned_nodes_for(
    own: str, shards: Iterable[NodeShard], living: Collection[str], dead: Collection[str]
) -> set[str]:
    """Return the nodes of dead shards that this shard takes over. Every node goes to one live shard, always the same
    while the set of live shards is unchanged; nodes that a live shard claims are left to it.
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
    """Return the cleared record of a dead shard: it uses nothing, and waits for what it had."""
    return {"nodeCount": 0, "nodesInUse": [], "nodesToRemove": [], "nodesToAdd": sorted(_claimed_nodes(shard))}
