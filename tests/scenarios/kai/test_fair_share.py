"""Surplus above deserved amounts is shared by weight, and reclaimed up to that share."""

import pytest

from tests.scenarios.kai.situation import Situation, job, nodes, queue
from tests.testing.manifests.builders import GPU, node

FLAT = [
    Situation(
        "a queue below its share reclaims from one above", nodes("a4"), queue("left", 1, 3), queue("right", 2, 1),
        job("l1", "left", 1, "a"), job("l2", "left", 0.5, "a0"), job("l3", "left", 0.5),
        job("r1", "right", 2, "a"), job("r2", "right", 0.5, "a0"),
        ends="aaa a-",
    ),
    Situation(
        "the only job of a queue is taken whole", nodes("a2"), queue("left", 1), queue("right", 1),
        job("old", "left", 2, "a"), job("new", "right"), ends="-a",
    ),
    Situation(
        "the younger job is taken", nodes("a2 b2"), queue("left", 2), queue("right", 2),
        job("small", "left", 1, "b"), job("large", "left", 2, "a"), job("mine", "right", 1, "b"), job("new", "right"),
        ends="b-ba",
    ),
    Situation(
        "a share in whole devices goes to the larger weight", nodes("a2 b2"), queue("left", 2, 2), queue("right", 1, 1),
        job("l1", "left", 1, "b"), job("l2", "left", 2, "a"), job("r1", "right", 1, "b"), job("new", "right"),
        ends="bab-",
    ),
    Situation(
        "a queue gets what it deserves, although all deserve more than there is", nodes("a8"),
        queue("left", 6, 6), queue("right", 5, 5), job("old", "left", 8, "a"), job("new", "right", 5), ends="-a",
    ),
    Situation(
        "a queue that deserves nothing loses first", nodes("a4"), queue("left", 1), queue("right", 1),
        queue("guest", 0, 0),
        job("l1", "left", 2, "a"), job("l2", "left", 1, "a"), job("g1", "guest", 1, "a"), job("new", "right"),
        ends="aa-a",
    ),
    Situation(
        "the queue of lower priority loses first", nodes("a4"), queue("left", 1), queue("right", 1),
        queue("vip", 1, 0, priority=1),
        job("l1", "left", 1, "a"), job("l2", "left", 1, "a"), job("v1", "vip", 1, "a"), job("v2", "vip", 1, "a"),
        job("new", "right"), ends="a-aaa",
    ),
    Situation(
        "surplus is reclaimed up to the fair share and no further", nodes("a8"), queue("left", 1), queue("right", 1),
        job("l1", "left", 1, "a"), job("l2", "left", 3, "a"), job("l3", "left", 4, "a"),
        job("r1", "right", 4), job("r2", "right", 4), ends="aa-a-",
    ),
    Situation(
        "what rounding leaves goes to the queue that lost most by it", nodes("a7"), queue("left", 2, 2),
        queue("right", 1, 1),
        job("l1", "left", 4, "a"), job("r1", "right", 3, "a"), job("new", "left"), ends="a-a",
    ),
    Situation(
        "several young jobs are taken before a large old one", nodes("a8"), queue("left", 4, 4), queue("right", 2, 2),
        job("l1", "left", 5, "a"), job("l2", "left", 1, "a"), job("l3", "left", 1, "a"), job("new", "right", 3),
        ends="a--a",
    ),
    Situation(
        "a queue that needs little leaves the rest to others", nodes("a9"), queue("left", 4, 4), queue("right", 4, 4),
        queue("modest", 10, 10),
        job("l1", "left", 5, "a"), job("l2", "left", 2, "a"), job("l3", "left", 1, "a"),
        job("m1", "modest"), job("new", "right", 3), ends="a--aa",
    ),
    Situation(
        "what does not fill a whole device is not reclaimed", nodes("a4"), queue("left", 2, 2), queue("right", 1, 1),
        job("l1", "left", 3, "a"), job("new", "right", 2), ends="a-",
    ),
    Situation(
        "the first job is too large, and the second is served", nodes("a2"), queue("left", 0, 0), queue("right", 1),
        job("l1", "left", 2, "a"), job("r1", "right", 2, priority="build"), job("r2", "right", 1, priority="build"),
        ends="--a",
    ),
    Situation(
        "no weight, no surplus", nodes("a4"), queue("left", 1, 0), queue("right", 1, 1),
        job("l1", "left", 1, "aaa", minimum=1), job("new", "right", 1, "---", minimum=1), ends="a-- aaa", until=6,
    ),
    Situation(
        "queues at their fair shares leave each other alone", nodes("a6"), queue("left", 1), queue("right", 1),
        job("l1", "left", 3, "a"), job("r1", "right", 3, "a"), job("l2", "left"), job("r2", "right"), ends="aa--",
    ),
]  # fmt: skip


def team(name: str, deserved: int, **facts: object) -> object:
    return queue(name, deserved, 1, **facts)


TREE = [
    Situation(
        "between the children of different parents", nodes("a2"), team("d1", 1), team("d2", 1),
        queue("left", 1, parent="d1"), queue("right", 1, parent="d2"),
        job("l1", "left", 1, "a"), job("l2", "left", 1, "a", priority="build"), job("new", "right"), ends="-aa",
    ),
    Situation(
        "a non-preemptable job reclaims within what its queue deserves", nodes("a2"), team("d1", 1), team("d2", 1),
        queue("left", 1, parent="d1"), queue("right", 1, parent="d2"),
        job("l1", "left", 1, "a"), job("l2", "left", 1, "a", priority="build"),
        job("new", "right", 1, priority="build"),
        ends="-aa",
    ),
    Situation(
        "not where the parent would exceed its share", nodes("a4"), team("d1", 2), team("d2", 2),
        queue("left", 1, parent="d1"), queue("right", 1, parent="d2"), queue("spare", 1, parent="d2"),
        job("l1", "left", 3, "a"), job("r1", "right", 1, "a", priority="build"), job("new", "right", 2), ends="aa-",
    ),
    Situation(
        "surplus of the parents goes to their children", nodes("a8"), team("d1", 1), team("d2", 1),
        queue("left", 1, parent="d1"), queue("right", 1, parent="d2"),
        job("l1", "left", 4, "a"), job("l2", "left", 1, "a"), job("new", "right", 4), ends="a-a",
    ),
    Situation(
        "a queue of higher priority gets surplus first", nodes("a8"), team("d1", 1),
        queue("one", 1, 2, parent="d1"), queue("two", 1, 1, parent="d1"), queue("vip", 0, 1, parent="d1", priority=1),
        *(job(f"one{i}", "one", 1, "a") for i in range(5)), *(job(f"two{i}", "two", 1, "a") for i in range(3)),
        job("new", "vip", 3), ends="aaa-- aa- a",
    ),
    Situation(
        "from the same and from another parent", nodes("a4"), team("d1", 0), team("d2", 4),
        queue("left", 1, parent="d1"), queue("guest", 0, 0, parent="d2"), queue("right", 4, 4, parent="d2"),
        job("l1", "left", 2, "a"), job("g1", "guest", 2, "a"), job("new", "right", 4), ends="--a",
    ),
    Situation(
        "what a queue deserves is reclaimed from one within its fair share", nodes("a3 b3"), team("d1", 2),
        team("d2", 2),
        queue("left", 2, 3, parent="d1"), queue("right", 2, 0, parent="d2"),
        job("l1", "left", 2, "a"), job("l2", "left", 2, "b", priority="build"), job("new", "right", 2), ends="-ba",
    ),
    Situation(
        "within a parent whose siblings have their share", nodes("a3 b3"), team("d1", 3), team("d2", 3),
        queue("left", 3, 0, parent="d1"), queue("right", 2, 0, parent="d2"), queue("poor", 1, 0, parent="d2"),
        job("l1", "left", 2, "a"), job("l2", "left", 1, "b", priority="build"), job("r1", "right", 2, "b"),
        job("r2", "right", 1, "a"), job("new", "poor"), ends="abb-a",
    ),
    Situation(
        "above deserved, within fair shares: nothing happens", nodes("a3 b3"), team("d1", 1), team("d2", 1),
        queue("left", 1, parent="d1"), queue("right", 1, parent="d2"),
        job("l1", "left", 2, "a"), job("l2", "left", 1, "b", priority="build"), job("r1", "right", 2, "b"),
        job("r2", "right", 1, "a"), job("new", "right"), ends="abba-",
    ),
    Situation(
        "below deserved on both sides: nothing happens", nodes("a1 b1"), team("d1", 2), team("d2", 2),
        queue("left", 1, 0, parent="d1"), queue("right", 1, 0, parent="d2"),
        job("l1", "left", 1, "a"), job("r1", "right", 1, "b", priority="build"), job("new", "right"), ends="ab-",
    ),
]  # fmt: skip

MEMBERS = [
    Situation(
        "a member above the minimum is taken, and one is reclaimed for", nodes("a3"), queue("left", 1, 0),
        queue("right", 2),
        job("old", "left", 1, "aa", minimum=1), job("new", "right", 1, "---", minimum=1), ends="a- aa-",
    ),
    Situation(
        "elastic jobs meet at their fair shares", nodes("a9"), queue("left", 0), queue("right", 0),
        job("old", "left", 1, "aaaaaaaaa", minimum=1), job("new", "right", 1, "---------", minimum=1),
        ends="aaaaa---- aaaa-----", until=6,
    ),
    Situation(
        "members before whole gangs", nodes("a4"), queue("left", 1), queue("right", 2),
        job("gang", "left", 1, "aa"), job("elastic", "left", 1, "aa", minimum=1), job("new", "right"),
        ends="aa a- a",
    ),
]  # fmt: skip

RESOURCES = [
    Situation(
        "weights of their own for resources", node("a", 12, gpu=12),
        queue("left", 0, f"{GPU}=2,cpu=1", also={"cpu": 0}),
        queue("right", 0, f"1,cpu=2,{GPU}=1", also={"cpu": 0}), job("l1", "left", 1, "aaaaaaaaa", minimum=1),
        job("l2", "left", 0, "aaaaaa", cpu=1, minimum=1), job("r1", "right", 1, "aaa-", minimum=1),
        job("r2", "right", 0, "aaaaaa--", cpu=1, minimum=1),
        ends="aaaaaaaa- aaaa-- aaaa aaaaaaaa", until=6,
    ),
    Situation(
        "a resource that no quota names is not reclaimed", nodes("a1", memory="10Gi"), queue("left", 0, 0),
        queue("right", 1),
        job("l1", "left", 0, "a", memory="5Gi"), job("l2", "left", 0, "a", memory="5Gi"),
        job("r1", "right", 0, memory="5Gi"), job("r2", "right", 0, memory="5Gi"), ends="aa--",
    ),
    Situation(
        "none of a resource is a quota of it", nodes("a1", memory="10Gi"),
        queue("left", 0, 0, also={"cpu": 0, "memory": 0}), queue("right", 1),
        job("l1", "left", 0, "a", memory="5Gi"), job("l2", "left", 0, "a", memory="5Gi"),
        job("r1", "right", 0, memory="5Gi"), job("r2", "right", 0, memory="5Gi"), ends="--aa",
    ),
    Situation(
        "devices and memory of a queue without a quota", nodes("a10", memory="20Gi"),
        queue("left", 5, 5), queue("guest", 1, 1, also={"cpu": 0, "memory": 0}), queue("right", 5, 5),
        job("l1", "left", 2, "a", memory="4Gi", priority="build"),
        job("l2", "left", 3, "a", memory="4Gi", priority="build"),
        job("g1", "guest", 1, "a", memory="4Gi"), job("g2", "guest", 0, "a", memory="4Gi"),
        job("r1", "right", 3, memory="4Gi", priority="build"), job("r2", "right", 0, memory="4Gi", priority="build"),
        job("r3", "right", 2, memory="4Gi", priority="build"), ends="aa -- aaa",
    ),
    Situation(
        "no more than the quota of devices, however much memory is free", nodes("a2", memory="20Gi"),
        queue("left", 0, 0, also={"cpu": 0, "memory": 0}), queue("right", 1),
        job("l1", "left", 0, "a", memory="5Gi"), job("l2", "left", 0, "a", memory="5Gi"),
        job("r1", "right", 2, memory="5Gi", priority="build"), job("r2", "right", 2, memory="5Gi", priority="build"),
        ends="aa--",
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*FLAT, *TREE, *MEMBERS, *RESOURCES], ids=str)
def test_fair_share(situation: Situation) -> None:
    situation.check()
