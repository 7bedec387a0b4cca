"""Keeps our shard: follows NodeShards, writes ours, and tells the cache which nodes are surely in it.

What to write and which nodes are ours is for `claims` to say, who else lives for `lives`; here is what waits, asks and
writes about our own. The cache is told at once when a node stops being ours, before anything is written about it.
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

#: Without news, everything is looked at again this often, in seconds.
_LOOK_EVERY = 0.5
#: Up to so many nodes, their pods are listed node by node.
_FEW_NODES = 8

log = logging.getLogger("stromboli.shards")


class ShardCoordinator:
    """Runs beside the cycles of a scheduler, on the same loop. `changed` is told when other nodes are ours."""

    def __init__(
        self,
        client: Client,
        mirror: Ingest,
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
        self._mirror = mirror
        self._cluster = mirror.cluster
        self._settings = settings
        self._names = scheduler_names
        self._changed = changed
        self._knows_nodes = nodes_are_synced
        self._is_leader = is_leader
        self._epoch = epoch
        self._clock = clock
        self._lives = ShardLiveness(settings.takeover)
        self._deleted_shards = DeletedShards(settings.farewell)
        self._reclaimer = ShardReclaimer(client, settings, is_leader=is_leader, clock=clock)
        self._news = asyncio.Event()
        self._term: int | None = None
        self._asked_at = float("-inf")
        #: Whether no other shard is a scheduler of one of our names, as it was when that was last judged.
        self._has_unique_name = False
        #: Whether that was judged after others could see our record: who comes later sees us.
        self._is_seen = False
        self._has_listed = False
        #: Whether we have known once in this term which nodes are ours.
        self._has_started = False
        self._is_hard = settings.choice.mode is ShardMode.HARD
        #: Who else has one of our names, in words.
        self._name_conflict = ""
        self._told = ""
        self._cluster.shards.grant(())

    # -- what is seen -------------------------------------------------------------------------------------------

    def apply(self, shard: NodeShard) -> None:
        self._mirror.apply(shard)
        self._see(shard.key, _record(shard))

    def remove(self, shard: NodeShard) -> None:
        self._mirror.remove(shard)
        if shard.key == self.name:
            self._has_started = self._is_seen = False
        elif not self._lives.is_gone(shard.key, now := self._clock()):
            self.claims.heard(self._deleted_shards.begin(shard.key, now), _record(shard))
            log.info("NodeShard deleted; not using its nodes yet", extra={"shard": shard.key})
        self._see(shard.key, None)

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        self._mirror.unreadable(resource, key, uid, problem)

    def forget_history(self, kind: type) -> None:
        """Versions begin anew: nothing that was seen before says anything."""
        self._mirror.forget_history(kind)
        self.claims.forget_writes()
        self._term = None

    def _see(self, name: str, record: Record | None) -> None:
        if self._is_consistent:
            self.claims.saw(name, record)
        else:
            self.claims.heard(name, record)
            self._has_listed = True
        self._grant()
        self._news.set()

    @property
    def _is_consistent(self) -> bool:
        return self.reflector.synced.is_set() and not self.reflector.is_replacing

    @property
    def is_ready(self) -> bool:
        """Whether it is known which nodes and jobs are ours: else jobs would be told that they have no nodes, or be
        placed outside although there is room inside. A shard that does not exist is told as such.
        """
        return self._has_unique_name and (self._has_started or (self.claims.is_missing and self._is_hard))

    @property
    def problem(self) -> str:
        """Why nothing is decided, in words; empty when something is, or jobs are told."""
        makes_it_itself = self._settings.choice.selector is not None
        is_missing = self.claims.is_missing and self.reflector.synced.is_set() and not makes_it_itself
        if is_missing and not self._is_hard and not self._name_conflict:
            return f"NodeShard {self.name} does not exist, so nobody knows which nodes come first; make it"
        return self._name_conflict

    def _grant(self) -> None:
        """Tell the cache which nodes are ours."""
        book = self._cluster.shards
        before = book.granted
        book.grant(self.claims.usable)
        if book.granted != before:
            self._changed()

    # -- turns --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_EVERY):
                        await self._news.wait()
                self._news.clear()
                await self._turn()
        finally:
            self._reclaimer.stop()

    async def _turn(self) -> None:
        if not (self._is_leader() and self._knows_nodes() and self._is_consistent):
            return
        if self._term != self._epoch():
            self._begin_term()
        self._look()
        try:
            await self._follow_leases()
            await self._create_shard()
            self.claims.want(self._wanted())
            self._grant()
            await self._write()
            await self._list_pods()
        except RequestFailed as error:
            self._tell(f"the API server does not answer as it should: {error}")
        else:
            self._tell(self.problem)
        self._grant()
        if not self._has_started and self._is_seen and self.claims.is_current and not self.claims.unlisted:
            self._has_started = True
            self._changed()
        self._clear_dead_shards()

    def _begin_term(self) -> None:
        self._term, self._asked_at = self._epoch(), float("-inf")
        self._has_unique_name = self._is_seen = self._has_started = False
        self.claims.begin_term()

    def _look(self) -> None:
        """What was listed is whole by now, and some who are gone do not count any more."""
        for shard in self._deleted_shards.over(self._clock()):
            self.claims.saw(shard, None)
        if self._has_listed:
            self._has_listed = False
            self.claims.look()

    def _tell(self, problem: str) -> None:
        if problem and problem != self._told:
            log.warning("shard not ready", extra={"shard": self.name, "problem": problem})
        self._told = problem

    def _wanted(self) -> set[str]:
        """The nodes that exist and should be ours, those of dead shards that fall to us included."""
        if not self._has_unique_name:
            return set()
        book, nodes = self._cluster.shards, self._cluster.nodes.entries
        wanted = {name for name, entry in nodes.items() if book.wants(name, entry.facts.labels)}
        dead = self._lives.dead(self._clock())
        if dead:
            wanted |= orphaned_nodes_for(self.name, book.objects(), self._lives.living(), dead) & nodes.keys()
        return wanted

    async def _create_shard(self) -> None:
        """A shard by labels needs a NodeShard only to write into; where nobody has made it, we do."""
        if self._settings.choice.selector is None or not self.claims.is_missing or not self._has_unique_name:
            return
        try:
            await self._client.create(NODE_SHARDS, {"metadata": {"name": self.name}, "spec": {}})
        except ApiError as error:
            if not error.is_conflict:
                raise

    # -- our record ---------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        write = self.claims.next_write(self._busy())
        if write is None:
            return
        try:
            answer = await self._client.patch(NODE_SHARDS, self.name, _body(write), subresource="status")
        except ApiError as error:
            if error.status in (404, 409, 422, 403):
                self.claims.refused(write)
            if not error.is_conflict and not error.is_missing:
                raise
        else:
            self.claims.accepted(write, _number(answer.metadata.resource_version))
            log.info("NodeShard updated", extra={"shard": self.name, "nodes": len(write.record.in_use)})

    def _busy(self) -> set[str]:
        """The nodes on which a bind or an eviction of ours is under way, or nobody knows what became of it."""
        busy = {placement.node for placement in self._cluster.assumptions.placements.values()}
        for uid in self._cluster.assumptions.leaving:
            pod = self._cluster.pods.find(uid)
            if pod is not None and pod.metadata.deletion_timestamp is None:
                busy.add(pod.spec.node_name or "")
        return busy

    async def _list_pods(self) -> None:
        """The watch of pods may be behind that of shards: what others did on a node before it was ours is asked for."""
        nodes = self.claims.unlisted
        if not nodes:
            return
        chosen = [f"spec.nodeName={node}" for node in sorted(nodes)] if len(nodes) <= _FEW_NODES else [""]
        for selector in chosen:
            for pod in (await self._client.list(PODS, field_selector=selector)).items:
                self._mirror.apply(pod)
        self.claims.listed(nodes)

    # -- others -------------------------------------------------------------------------------------------------

    async def _follow_leases(self) -> None:
        """Look at the leases of the other shards now and then, and before anything is decided in a term."""
        if self.claims.is_current and not self._is_seen:
            self._has_unique_name, self._asked_at = False, float("-inf")
        now = self._clock()
        if now - self._asked_at < self._settings.retry_period:
            return
        others = sorted(shard.key for shard in self._cluster.shards.objects() if shard.key != self.name)
        self._lives.forget(others)
        for shard in others:
            try:
                lease = await self._client.get(LEASES, lease_of(shard), namespace=self._settings.namespace)
            except ApiError as error:
                if not error.is_missing:
                    raise
                self._lives.saw(shard, None, self._clock())
            else:
                self._lives.saw(shard, lease, self._clock())
        self._asked_at = now
        self._check_names()

    def _check_names(self) -> None:
        """Two shards must not decide about the same jobs. Who comes second waits; who decides already goes on.

        Nobody sees a scheduler that has no record yet. So names are compared again when our record is there for all to
        see: whose record is older than ours is seen by us then, and whose is younger sees us.
        """
        self._is_seen = self._is_seen or self.claims.is_current
        if self._has_unique_name:
            return
        sharing = self._lives.sharing(self._names)
        self._has_unique_name = not sharing
        told = [f"that of NodeShard {shard} is {' and '.join(names)}, too" for shard, names in sharing.items()]
        remedy = "give the scheduler of each shard a --scheduler-name of its own"
        self._name_conflict = f"another scheduler has the same name: {', '.join(told)}; {remedy}" if told else ""

    def _clear_dead_shards(self) -> None:
        """Take the nodes of a dead shard out of its record, if we want some of them."""
        if self._reclaimer.is_busy:
            return
        dead = self._lives.dead(self._clock())
        for shard in self._cluster.shards.objects():
            if shard.key in dead and self.claims.awaited.intersection(shard.status.nodes_in_use or ()):
                self._reclaimer.begin(shard.key, *self._lives.last_seen(shard.key))
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
