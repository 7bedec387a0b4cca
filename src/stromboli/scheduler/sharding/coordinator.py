"""Coordinates this scheduler's shard: watches NodeShards, writes its own, and passes the usable nodes to the cache.

`claims` decides what to write and which nodes are usable, `liveness` which other shards have a scheduler; this module
waits, reads and writes. The cache stops using a node before anything is written about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from typing import Any

from stromboli.cluster.ingest.ingest import Ingest
from stromboli.core.model.nodes.shards import ShardMode
from stromboli.kube.client.api_errors import ApiError, RequestFailed
from stromboli.kube.client.client import Client
from stromboli.kube.objects import timestamps
from stromboli.kube.objects.catalogue import LEASES, NODE_SHARDS, PODS
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.shards import NodeShard
from stromboli.kube.watch.reflector import Reflector
from stromboli.scheduler.sharding.claims import Record, ShardClaims, Write
from stromboli.scheduler.sharding.deleted_shards import DeletedShards
from stromboli.scheduler.sharding.liveness import ShardLiveness, lease_of, orphaned_nodes_for
from stromboli.scheduler.sharding.reclaimer import ShardReclaimer
from stromboli.scheduler.sharding.settings import ShardSettings

#: Without changes, the state is checked this often, in seconds.
_POLL_SECONDS = 0.5
#: The number of nodes up to which pods are listed node by node.
_FEW_NODES = 8

log = logging.getLogger("stromboli.shards")


class ShardCoordinator:
    """Runs beside the cycles of a scheduler, on the same loop. `changed` is called when the usable nodes change."""

    def __init__(
        self,
        client: Client,
        ingest: Ingest,
        settings: ShardSettings,
        scheduler_names: Collection[str],
        *,
        changed: Callable[[], None],
        nodes_are_synced: Callable[[], bool],
        is_leader: Callable[[], bool],
        epoch: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self.name = settings.choice.name
        self.claims = ShardClaims(self.name)
        self.reflector: Reflector[NodeShard] = Reflector(client, NODE_SHARDS, self)
        self._client = client
        self._ingest = ingest
        self._cluster = ingest.cluster
        self._settings = settings
        self._names = scheduler_names
        self._changed = changed
        self._knows_nodes = nodes_are_synced
        self._is_leader = is_leader
        self._epoch = epoch
        self._clock = clock
        self._liveness = ShardLiveness(settings.takeover)
        self._deleted_shards = DeletedShards(settings.deletion_grace)
        self._reclaimer = ShardReclaimer(client, settings, is_leader=is_leader, clock=clock)
        self._wakeup = asyncio.Event()
        self._term: int | None = None
        self._asked_at = float("-inf")
        #: Whether no other live shard has one of this scheduler's names, as of the last check.
        self._has_unique_name = False
        #: Whether that check was made after this shard's record became visible: later shards see it.
        self._is_visible = False
        self._has_listed = False
        #: Whether the usable nodes have been known once in this term.
        self._has_started = False
        self._is_hard = settings.choice.mode is ShardMode.HARD
        #: Other shards with one of this scheduler's names; empty if there are none.
        self._name_conflict = ""
        self._logged = ""
        self._cluster.shards.grant(())

    # -- observations -------------------------------------------------------------------------------------------

    def apply(self, shard: NodeShard) -> None:
        self._ingest.apply(shard)
        self._observe(shard.key, _record(shard))

    def remove(self, shard: NodeShard) -> None:
        self._ingest.remove(shard)
        if shard.key == self.name:
            self._has_started = self._is_visible = False
        elif not self._liveness.is_gone(shard.key, now := self._clock()):
            self.claims.stage(self._deleted_shards.begin(shard.key, now), _record(shard))
            log.info("NodeShard deleted; not using its nodes yet", extra={"shard": shard.key})
        self._observe(shard.key, None)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        self._ingest.unreadable(resource, key, uid, problem)

    def forget_history(self, kind: type) -> None:
        """Reset observed versions: those that follow cannot be compared with them."""
        self._ingest.forget_history(kind)
        self.claims.forget_writes()
        self._term = None

    def _observe(self, name: str, record: Record | None) -> None:
        if self._is_consistent:
            self.claims.observe(name, record)
        else:
            self.claims.stage(name, record)
            self._has_listed = True
        self._grant()
        self._wakeup.set()

    @property
    def _is_consistent(self) -> bool:
        return self.reflector.synced.is_set() and not self.reflector.is_replacing

    @property
    def is_ready(self) -> bool:
        """Report whether the usable nodes are known: before, jobs would find no nodes, or be placed outside the shard.

        A missing NodeShard counts as known in hard mode.
        """
        return self._has_unique_name and (self._has_started or (self.claims.is_missing and self._is_hard))

    @property
    def problem(self) -> str:
        """Return why nothing is scheduled; empty if something is."""
        makes_it_itself = self._settings.choice.selector is not None
        is_missing = self.claims.is_missing and self.reflector.synced.is_set() and not makes_it_itself
        if is_missing and not self._is_hard and not self._name_conflict:
            return f"NodeShard {self.name} does not exist, so preferred nodes are unknown; create it"
        return self._name_conflict

    def _grant(self) -> None:
        """Pass the usable nodes to the cache."""
        shards = self._cluster.shards
        before = shards.granted
        shards.grant(self.claims.usable)
        if shards.granted != before:
            self._changed()

    # -- reconciliation -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Coordinate until cancelled."""
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_SECONDS):
                        await self._wakeup.wait()
                self._wakeup.clear()
                await self._turn()
        finally:
            self._reclaimer.stop()

    async def _turn(self) -> None:
        if not (self._is_leader() and self._knows_nodes() and self._is_consistent):
            return
        if self._term != self._epoch():
            self._begin_term()
        self._refresh()
        try:
            await self._follow_leases()
            await self._create_shard()
            self.claims.want(self._wanted_nodes())
            self._grant()
            await self._write()
            await self._list_pods()
        except RequestFailed as error:
            self._log_problem(f"API server error: {error}")
        else:
            self._log_problem(self.problem)
        self._grant()
        if not self._has_started and self._is_visible and self.claims.is_current and not self.claims.unlisted:
            self._has_started = True
            self._changed()
        self._clear_dead_shards()

    def _begin_term(self) -> None:
        self._term, self._asked_at = self._epoch(), float("-inf")
        self._has_unique_name = self._is_visible = self._has_started = False
        self.claims.begin_term()

    def _refresh(self) -> None:
        """The list is complete, and some deleted shards have expired."""
        for shard in self._deleted_shards.over(self._clock()):
            self.claims.observe(shard, None)
        if self._has_listed:
            self._has_listed = False
            self.claims.evaluate()

    def _log_problem(self, problem: str) -> None:
        if problem and problem != self._logged:
            log.warning("shard not ready", extra={"shard": self.name, "problem": problem})
        self._logged = problem

    def _wanted_nodes(self) -> set[str]:
        """Return the existing nodes that this shard is to claim, orphaned nodes of dead shards included."""
        if not self._has_unique_name:
            return set()
        shards, nodes = self._cluster.shards, self._cluster.nodes.entries
        wanted = {name for name, entry in nodes.items() if shards.wants(name, entry.facts.labels)}
        dead = self._liveness.dead(self._clock())
        if dead:
            wanted |= orphaned_nodes_for(self.name, shards.objects(), self._liveness.living(), dead) & nodes.keys()
        return wanted

    async def _create_shard(self) -> None:
        """Create the NodeShard of a shard that is selected by labels, if it does not exist."""
        if self._settings.choice.selector is None or not self.claims.is_missing or not self._has_unique_name:
            return
        try:
            await self._client.create(NODE_SHARDS, {"metadata": {"name": self.name}, "spec": {}})
        except ApiError as error:
            if not error.is_conflict:
                raise

    # -- the shard's record -------------------------------------------------------------------------------------

    async def _write(self) -> None:
        write = self.claims.next_write(self._busy())
        if write is None:
            return
        try:
            answer = await self._client.patch(NODE_SHARDS, self.name, _body(write), subresource="status")
        except ApiError as error:
            if error.status in (404, 409, 422, 403):
                self.claims.rejected(write)
            if not error.is_conflict and not error.is_missing:
                raise
        else:
            self.claims.accepted(write, _number(answer.metadata.resource_version))
            log.info("NodeShard updated", extra={"shard": self.name, "nodes": len(write.record.in_use)})

    def _busy(self) -> set[str]:
        """Return the nodes with a bind or an eviction in progress or of unknown outcome."""
        busy = {placement.node for placement in self._cluster.assumptions.placements.values()}
        for uid in self._cluster.assumptions.leaving:
            pod = self._cluster.pods.find(uid)
            if pod is not None and pod.metadata.deletion_timestamp is None:
                busy.add(pod.spec.node_name or "")
        return busy

    async def _list_pods(self) -> None:
        """List the pods of new nodes: the watch on pods may be behind the one on shards."""
        nodes = self.claims.unlisted
        if not nodes:
            return
        chosen = [f"spec.nodeName={node}" for node in sorted(nodes)] if len(nodes) <= _FEW_NODES else [""]
        for selector in chosen:
            for pod in (await self._client.list(PODS, field_selector=selector)).items:
                self._ingest.apply(pod)
        self.claims.listed(nodes)

    # -- other shards -------------------------------------------------------------------------------------------

    async def _follow_leases(self) -> None:
        """Read the leases of other shards periodically, and before the first decision of a term."""
        if self.claims.is_current and not self._is_visible:
            self._has_unique_name, self._asked_at = False, float("-inf")
        now = self._clock()
        if now - self._asked_at < self._settings.retry_period:
            return
        others = sorted(shard.key for shard in self._cluster.shards.objects() if shard.key != self.name)
        self._liveness.retain(others)
        for shard in others:
            try:
                lease = await self._client.get(LEASES, lease_of(shard), namespace=self._settings.namespace)
            except ApiError as error:
                if not error.is_missing:
                    raise
                self._liveness.observe(shard, None, self._clock())
            else:
                self._liveness.observe(shard, lease, self._clock())
        self._asked_at = now
        self._check_names()

    def _check_names(self) -> None:
        """Two shards must not schedule the same jobs: the second one waits, the first one continues.

        A scheduler without a record is not visible yet, so names are checked again once this shard's record is visible:
        of two shards, the one with the younger record then sees the other.
        """
        self._is_visible = self._is_visible or self.claims.is_current
        if self._has_unique_name:
            return
        sharing = self._liveness.sharing(self._names)
        self._has_unique_name = not sharing
        conflicts = [f"{' and '.join(names)} in NodeShard {shard}" for shard, names in sharing.items()]
        remedy = "give the scheduler of each shard a --scheduler-name of its own"
        self._name_conflict = (
            f"another scheduler has the same name: {', '.join(conflicts)}; {remedy}" if conflicts else ""
        )

    def _clear_dead_shards(self) -> None:
        """Remove the nodes of a dead shard from its record, if this shard is to claim some of them."""
        if self._reclaimer.is_busy:
            return
        dead = self._liveness.dead(self._clock())
        for shard in self._cluster.shards.objects():
            if shard.key in dead and self.claims.awaited.intersection(shard.status.nodes_in_use or ()):
                self._reclaimer.begin(shard.key, *self._liveness.last_seen(shard.key))
                return


def _record(shard: NodeShard) -> Record:
    status = shard.status
    return Record(
        _number(shard.metadata.resource_version),
        frozenset(status.nodes_in_use or ()),
        frozenset(status.nodes_to_add or ()),
        frozenset(status.nodes_to_remove or ()),
    )


def _body(write: Write) -> dict[str, Any]:
    record = write.record
    status = {
        "lastUpdateTime": timestamps.now(),
        "nodeCount": len(record.in_use),
        "nodesInUse": sorted(record.in_use),
        "nodesToAdd": sorted(record.to_add),
        "nodesToRemove": sorted(record.to_remove),
    }
    return {"metadata": {"resourceVersion": str(write.based_on)}, "status": status}


def _number(version: str | None) -> int:
    return int(version) if version and version.isdecimal() else 0
