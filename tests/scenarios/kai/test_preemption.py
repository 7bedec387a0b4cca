"""Within a queue priority decides; quotas bind non-preemptable jobs; fractions are evicted and moved as needed."""

import pytest

from tests.scenarios.kai.situation import Situation, job, memory, memory_nodes, nodes, queue
from tests.testing.manifests.builders import node

WITHIN_A_QUEUE = [
    Situation(
        "a whole device is freed by one victim, not by two", nodes("a2"), queue("q", 2),
        job("one", "q", 0.5, "a0"), job("two", "q", 1, "a"), job("three", "q", 0.5, "a0"),
        job("new", "q", 1, priority="build"), ends="a-aa",
    ),
    Situation(
        "a larger job makes way", nodes("a2"), queue("q", 1), job("old", "q", 2, "a"),
        job("new", "q", 1, priority="build"),
        ends="-a",
    ),
    Situation(
        "all jobs of lower priority make way", nodes("a4"), queue("q", 4), job("one", "q", 1, "a"),
        job("two", "q", 2, "a"),
        job("three", "q", 1, "a"), job("new", "q", 4, priority="build"), ends="---a",
    ),
    Situation(
        "no node is large enough", nodes("a2 b2"), queue("q", 4), job("one", "q", 1, "a"), job("two", "q", 2, "b"),
        job("three", "q", 1, "a"), job("new", "q", 4, priority="build"), ends="aba-",
    ),
    Situation(
        "a non-preemptable job does not preempt beyond its quota", nodes("a4"), queue("q", 3), job("one", "q", 1, "a"),
        job("two", "q", 2, "a"), job("three", "q", 1, "a"), job("new", "q", 4, priority="build"), ends="aaa-",
    ),
    Situation(
        "a preemptable job does", nodes("a4"), queue("q", 3), job("one", "q", 1, "a"),
        job("two", "q", 2, "a"), job("three", "q", 1, "a"), job("new", "q", 4, priority="build-preemptable"),
        ends="---a",
    ),
    Situation(
        "a non-preemptable job is no victim", nodes("a2"), queue("q", 2), job("old", "q", 2, "a", priority="build"),
        job("new", "q", 2, priority="inference"), ends="a-",
    ),
    Situation(
        "a mark makes a job of high priority preemptable", nodes("a2"), queue("q", 2),
        job("old", "q", 2, "a", priority="build", notes={"volcano.sh/preemptable": "true"}),
        job("new", "q", 2, priority="inference"), ends="-a",
    ),
    Situation(
        "a mark makes a job of low priority non-preemptable", nodes("a2"), queue("q", 2),
        job("old", "q", 2, "a", notes={"volcano.sh/preemptable": "false"}),
        job("new", "q", 2, priority="inference"), ends="a-",
    ),
    Situation(
        "equal priorities leave each other alone", nodes("a2"), queue("q", 2), job("old", "q", 2, "a"),
        job("new", "q", 2),
        ends="a-",
    ),
    Situation(
        "a gang preempts", nodes("a2"), queue("q", 2), job("old", "q", 2, "a"),
        job("new", "q", 1, "--", priority="build"),
        ends="-aa",
    ),
    Situation(
        "the rest of a gang preempts the youngest", nodes("a3"), queue("q", 2), job("one", "q", 1, "a"),
        job("two", "q", 1, "a"),
        job("new", "q", 1, "a-", priority="build"), ends="a-aa",
    ),
    Situation(
        "a gang is preempted whole", nodes("a2"), queue("q", 1), job("old", "q", 1, "aa"),
        job("new", "q", 1, priority="build"),
        ends="--a",
    ),
    Situation(
        "of an elastic job only members above its minimum", nodes("a3"), queue("q", 3),
        job("old", "q", 1, "aaa", minimum=1),
        job("new", "q", 1, "--", priority="build"), ends="a-- aa",
    ),
    Situation(
        "members above the minimum preempt as well", nodes("a3"), queue("q", 3), job("old", "q", 1, "aaa", minimum=1),
        job("new", "q", 1, "---", minimum=1, priority="build"), ends="--- aaa", until=6,
    ),
    Situation(
        "the least important job, though it is older", nodes("a2"), queue("q", 2), job("old", "q", 1, "a"),
        job("young", "q", 1, "a", priority="build-preemptable"), job("new", "q", priority="build"), ends="-aa",
    ),
    Situation(
        "jobs of another queue are left alone", nodes("a2"), queue("q", 1), queue("other", 1), job("one", "q", 1, "a"),
        job("two", "other", 1, "a"), job("new", "q", priority="build"), ends="-aa",
    ),
    Situation(
        "unless that queue has more than its share", nodes("a3"), queue("q", 1), queue("other", 0),
        job("one", "q", 1, "a"), job("two", "other", 1, "a"), job("three", "other", 1, "a"),
        job("new", "q", priority="build"), ends="aa-a",
    ),
    Situation(
        "on the node that the pod selects", node("a", 64, gpu=1, labels={"zone": "z"}), nodes("b1"), queue("q", 2),
        job("one", "q", 1, "a"), job("two", "q", 1, "b"), job("new", "q", priority="build", nodeSelector={"zone": "z"}),
        ends="-ba",
    ),
    Situation(
        "not on a node with a taint", node("a", 64, gpu=1, taints=["k=v:NoSchedule"]), nodes("b1"), queue("q", 2),
        job("one", "q", 1, "b"), job("two", "q", 1, "a", tolerations=["k=v:NoSchedule"]),
        job("new", "q", priority="build"), ends="-ab",
    ),
    Situation(
        "a gang over two nodes", nodes("a2 b2"), queue("q", 4), job("one", "q", 1, "ab"), job("two", "q", 1, "ab"),
        job("new", "q", 1, "--", priority="build"), ends="ab -- ab",
    ),
    Situation(
        "all of a job that cannot shrink far enough", nodes("a4"), queue("q", 4), job("old", "q", 1, "aaaa", minimum=2),
        job("new", "q", 1, "---", priority="build"), ends="---- aaa",
    ),
]  # fmt: skip

QUOTA = [
    Situation(
        "non-preemptable jobs start within the quota only", nodes("a4"), queue("q", 2),
        *(job(f"j{i}", "q", 1, priority="build") for i in range(3)), job("train", "q", 1), ends="aa-a",
    ),
    Situation(
        "preemptable jobs beyond the quota are preempted for one within", nodes("a2"), queue("q", 1),
        job("one", "q", 1, "a"), job("two", "q", 1, "a"), job("new", "q", 1, priority="build"), ends="a-a",
    ),
    Situation(
        "the quota of a parent binds, too", nodes("a4"), queue("top", 1), queue("q", 3, parent="top"),
        *(job(f"j{i}", "q", 1, priority="build") for i in range(2)), ends="a-",
    ),
    Situation(
        "a limit binds all jobs", nodes("a4"), queue("q", 1, most=2), *(job(f"j{i}", "q") for i in range(3)),
        ends="aa-",
    ),
    Situation(
        "queues below their quota are served first", nodes("a2"), queue("left", 0), queue("right", 2),
        job("l1", "left", 1), job("l2", "left", 1), job("r1", "right", 1), job("r2", "right", 1), ends="--aa",
    ),
    Situation(
        "surplus is shared evenly", nodes("a4"), queue("left", 0), queue("right", 0),
        *(job(f"l{i}", "left") for i in range(4)), *(job(f"r{i}", "right") for i in range(4)), ends="aa-- aa--",
    ),
    Situation(
        "weights divide the surplus", nodes("a4"), queue("left", 0, 1), queue("right", 0, 3),
        *(job(f"l{i}", "left") for i in range(4)), *(job(f"r{i}", "right") for i in range(4)), ends="a--- aaa-",
    ),
]  # fmt: skip

FRACTIONS = [
    Situation(
        "a fraction of lower priority", nodes("a1"), queue("q", 1), job("one", "q", 0.5, "a0"),
        job("two", "q", 0.5, "a0"), job("new", "q", 0.5, priority="build"), ends="a-a",
    ),
    Situation(
        "memory of lower priority", memory_nodes("a1"), queue("q", 1), memory("one", "q", 8000, "a0"),
        memory("two", "q", 8000, "a0"), memory("new", "q", 8000, priority="build"), ends="a-a",
    ),
    Situation(
        "a whole device from a fraction", nodes("a2"), queue("left", 1), queue("right", 1),
        job("one", "left", 1, "a"), job("two", "left", 0.5, "a0"), job("new", "right", 1), ends="a-a",
    ),
    Situation(
        "a fraction from a fraction", nodes("a2"), queue("left", 1), queue("right", 1),
        job("one", "left", 1, "a"), job("two", "left", 0.5, "a0"), job("three", "left", 0.5, "a0"),
        job("new", "right", 0.4), ends="aa-a",
    ),
    Situation(
        "all fractions of a device", nodes("a2"), queue("left", 1), queue("right", 1),
        job("one", "left", 1, "a"), job("two", "left", 0.5, "a0"), job("three", "left", 0.5, "a0"),
        job("new", "right", 0.8), ends="a--a",
    ),
    Situation(
        "not beyond the quota", nodes("a2"), queue("left", 1), queue("right", 1),
        job("one", "left", 1, "a"), job("two", "left", 0.5, "a0"), job("mine", "right", 0.5, "a0"),
        job("new", "right", 0.8), ends="aaa-",
    ),
    Situation(
        "a fraction moves to the device of another", nodes("a1 b1"), queue("left", 0, 0), queue("guest", 0, 0),
        queue("right", 2, 0),
        job("one", "left", 0.5, "a0"), job("two", "guest", 0.5, "b0"), job("new", "right", 1), ends="aab",
    ),
    Situation(
        "fractions that cannot move are reclaimed", nodes("a1 b1"), queue("left", 0, 0), queue("other", 0, 0),
        queue("right", 2, 0),
        job("one", "left", 0.7, "a0"), job("two", "other", 0.7, "b0"), job("new", "right", 1), ends="a-b",
    ),
    Situation(
        "a gang takes what is idle and what is reclaimed", nodes("a1 b1"), queue("left", 0, 0), queue("right", 2, 0),
        job("one", "left", 0.7, "a0"), job("new", "right", 1, "--"), ends="-ab",
    ),
    Situation(
        "moving and reclaiming in turn", nodes("a4 b4"), queue("left", 4), queue("right", 4),
        job("one", "left", 2, "a"), job("two", "left", 2, "b"), job("three", "left", 1, "b"), job("four", "left", 3),
        job("new", "right", 4), ends="aa--b", until=6,
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*WITHIN_A_QUEUE, *QUOTA, *FRACTIONS], ids=str)
def test_preemption(situation: Situation) -> None:
    situation.check()
