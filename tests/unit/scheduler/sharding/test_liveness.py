"""Who lives, by what is seen of leases; and to whom the nodes of the dead fall."""

from __future__ import annotations

from stromboli import kube
from stromboli.kube.objects.cluster import Lease, LeaseSpec
from stromboli.kube.objects.shards import NodeShard, NodeShardSpec, NodeShardStatus
from stromboli.scheduler.sharding.liveness import (
    RECLAIMER_PREFIX,
    SCHEDULER_NAMES,
    ShardLiveness,
    cleared,
    orphaned_nodes_for,
)


def lease(version: int, holder: str = "holder", names: str = "west") -> Lease:
    metadata = kube.ObjectMeta("lease", "", "1", resource_version=str(version), annotations={SCHEDULER_NAMES: names})
    return Lease(metadata=metadata, spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=10))


def shard(name: str, desired: str = "", in_use: str = "", to_add: str = "", to_remove: str = "") -> NodeShard:
    status = NodeShardStatus(nodes_in_use=list(in_use), nodes_to_add=list(to_add), nodes_to_remove=list(to_remove))
    return NodeShard(metadata=kube.ObjectMeta(name), spec=NodeShardSpec(list(desired)), status=status)


def test_shard_that_stops_renewing_is_dead_after_the_takeover_time() -> None:
    liveness = ShardLiveness(takeover=5)
    states = []
    for now, version in ((0, 1), (8, 2), (16, 2), (18, 2), (22, 2), (23, 2), (24, 3)):
        liveness.observe("west", lease(version), now)
        states.append((now, liveness.living(), liveness.dead(now)))
    assert states == [
        (0, {"west"}, set()), (8, {"west"}, set()), (16, {"west"}, set()), (18, set(), set()), (22, set(), set()),
        (23, set(), {"west"}), (24, {"west"}, set()),
    ]  # fmt: skip


def test_released_lease_has_no_holder() -> None:
    liveness = ShardLiveness(takeover=5)
    liveness.observe("west", lease(1, holder=""), 0)
    assert liveness.living() == set()
    liveness.observe("west", lease(1, holder=""), 5)
    assert liveness.dead(5) == {"west"}


def test_reclaimer_does_not_revive_a_dead_shard() -> None:
    liveness = ShardLiveness(takeover=5)
    liveness.observe("west", lease(1, holder=""), 0)
    liveness.observe("west", lease(2, holder=f"{RECLAIMER_PREFIX}east"), 4)
    liveness.observe("west", lease(3, holder=""), 5)
    assert liveness.dead(5) == {"west"}


def test_shard_without_a_lease_is_not_judged() -> None:
    liveness = ShardLiveness(takeover=5)
    liveness.observe("west", None, 0)
    liveness.observe("west", None, 100)
    assert (liveness.living(), liveness.dead(100)) == (set(), set())


def test_without_a_takeover_time_no_shard_is_dead() -> None:
    liveness = ShardLiveness(takeover=0)
    liveness.observe("west", lease(1, holder=""), 0)
    liveness.observe("west", lease(1, holder=""), 1000)
    assert liveness.dead(1000) == set()


def test_names_are_shared_only_with_the_living() -> None:
    liveness = ShardLiveness(takeover=5)
    liveness.observe("west", lease(1, names="volcano,west"), 0)
    liveness.observe("south", lease(1, holder="", names="volcano"), 0)
    assert liveness.sharing(["volcano"]) == {"west": ["volcano"]}
    assert liveness.sharing(["east"]) == {}


def test_every_node_of_the_dead_falls_to_one_of_the_living() -> None:
    shards = [shard("dead", "abcdefgh", in_use="abcdefgh"), shard("east"), shard("west"), shard("south")]
    shares = {
        own: orphaned_nodes_for(own, shards, {"east", "west", "south"} - {own}, {"dead"})
        for own in ("east", "west", "south")
    }
    assert sorted(node for share in shares.values() for node in share) == list("abcdefgh")
    fewer = orphaned_nodes_for("east", shards, {"west"}, {"dead"})
    assert shares["east"] <= fewer, "who keeps living keeps what fell to it"


def test_node_claimed_by_a_live_shard_is_left_to_it() -> None:
    shards = [shard("dead", "abc"), shard("east"), shard("west", "a", in_use="ab", to_remove="b")]
    assert orphaned_nodes_for("east", shards, {"west"}, {"dead"}) <= {"b", "c"}


def test_a_shard_by_labels_is_known_by_its_record() -> None:
    dead = shard("dead", in_use="abc", to_add="d", to_remove="c")
    assert orphaned_nodes_for("east", [dead, shard("east")], set(), {"dead"}) == set("abd")
    emptied = {"nodeCount": 0, "nodesInUse": [], "nodesToRemove": [], "nodesToAdd": ["a", "b", "d"]}
    assert cleared(dead) == emptied
