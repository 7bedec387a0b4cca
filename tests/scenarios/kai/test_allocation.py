"""Which jobs and members start, on which nodes, and what does not count for the shares of queues."""

import pytest

from tests.scenarios.kai.situation import Situation, devices, job, memory, memory_nodes, nodes, queue, roles
from tests.testing.manifests.builders import foreign, gang_of, node, pod

ELASTIC = [
    Situation(
        "a gang starts before another one grows", nodes("a2"), queue("q", 2), job("elastic", "q", 1, "a-", minimum=1),
        job("new", "q"), ends="a- a",
    ),
    Situation(
        "priority counts before that", nodes("a2"), queue("q", 2),
        job("elastic", "q", 1, "a-", minimum=1, priority="build-preemptable"), job("new", "q"), ends="aa -",
    ),
    Situation(
        "two jobs grow in turn", nodes("a4"), queue("q", 4), job("one", "q", 1, "---", minimum=1),
        job("two", "q", 1, "---", minimum=1), ends="aa- aa-",
    ),
    Situation(
        "a job grows beside the gang of another queue", nodes("a5"), queue("left", 0), queue("right", 0),
        job("elastic", "left", 1, "-----", minimum=1), job("gang", "right", 1, "--"), ends="aaa-- aa",
    ),
    Situation(
        "a role lacks its minimum", nodes("a2"), queue("q", 4), roles("job", "q", {"x": 1, "y": 2}, x="-", y="--"),
        ends="---",
    ),
    Situation(
        "a small job passes one that is too large", nodes("a2"), queue("q", 2), job("large", "q", 1, "---"),
        job("small", "q"), ends="--- a",
    ),
    Situation(
        "a gated member holds its gang", nodes("a4"), queue("q", 4),
        gang_of(pod(None, gpu=1), pod(None, gpu=1, gated=True), name="gated", queue="q", priority="train"),
        job("new", "q"), ends="-- a",
    ),
]  # fmt: skip

NODES = [
    Situation(
        "a pod without a GPU avoids nodes with GPUs", nodes("a4 b0"), queue("q", 4), job("cpu", "q", 0, cpu=1),
        ends="b",
    ),
    Situation(
        "unless it fits on no other", nodes("a4"), node("b", 1), queue("q", 4), job("cpu", "q", 0, cpu=2), ends="a",
    ),
    Situation(
        "GPUs are filled node by node", nodes("a4 b4"), queue("q", 8), job("old", "q", 2, "b"), job("new", "q"),
        ends="bb",
    ),
    Situation(
        "and nodes without GPUs, too", nodes("a0 b0"), queue("q", 8), job("old", "q", 0, "b", cpu=10),
        job("new", "q", 0, cpu=2), ends="bb",
    ),
    Situation(
        "a pod without a request starts anywhere", nodes("a0"), queue("q", 0, 0), job("idle", "q", 0), ends="a",
    ),
    Situation(
        "also as a member of a gang", nodes("a1"), queue("q", 1),
        gang_of(pod(None), pod(None, gpu=1), name="mixed", queue="q", priority="train"), ends="aa",
    ),
    Situation(
        "a cordoned node takes none", nodes("a1"), node("b", 64, gpu=4, cordoned=True), queue("q", 4),
        job("new", "q", 1, "--", minimum=1), ends="a-",
    ),
]  # fmt: skip

DEVICES = [
    Situation(
        "memory of a device", memory_nodes("a1"), queue("q", 1), memory("one", "q", 8000), memory("two", "q", 8000),
        memory("three", "q", 8000), ends="aa-",
    ),
    Situation(
        "memory counts as its part of a device", memory_nodes("a2"), queue("q", 1),
        memory("one", "q", 8000, priority="build"), memory("two", "q", 8000, priority="build"),
        memory("three", "q", 8000, priority="build"), memory("four", "q", 8000), ends="aa-a",
    ),
    Situation(
        "memory and fractions share a device", memory_nodes("a1"), queue("q", 1), memory("one", "q", 8000),
        job("two", "q", 0.5), job("three", "q", 0.1), ends="aa-",
    ),
    Situation(
        "fractions of several devices", nodes("a2"), queue("q", 2), devices("one", "q", 0.5, 2),
        devices("two", "q", 0.5, 2), devices("three", "q", 0.5, 2), ends="aa-",
    ),
    Situation(
        "a quota counts all of them", nodes("a2"), queue("q", 1), devices("one", "q", 0.5, 2, priority="build"),
        devices("two", "q", 0.5, 2, priority="build"), ends="a-",
    ),
    Situation("a gang of fractions", nodes("a1 b1"), queue("q", 2), job("gang", "q", 0.6, "- -"), ends="ab"),
    Situation(
        "one fraction too many", nodes("a1 b1"), queue("q", 2), job("gang", "q", 0.6, "- - -"), ends="---",
    ),
]  # fmt: skip

QUEUES = [
    Situation(
        "the limit of a parent", nodes("a4"), queue("top", 4, most=3), queue("q1", 2, parent="top"),
        queue("q2", 2, parent="top"), job("one", "q1"), job("two", "q1"), job("three", "q2"), job("four", "q2"),
        ends="aa a-",
    ),
    Situation(
        "the quota of a parent", nodes("a4"), queue("top", 3), queue("q1", 2, parent="top"),
        queue("q2", 2, parent="top"), job("one", "q1", priority="build"), job("two", "q1", priority="build"),
        job("three", "q2", priority="build"), job("four", "q2", priority="build"), job("train", "q2"), ends="aa a- a",
    ),
    Situation(
        "an unused quota is lent", nodes("a4"), queue("left", 2, 0), queue("right", 2),
        *(job(f"j{i}", "right") for i in range(4)), ends="aaaa",
    ),
    Situation(
        "also to a queue without a weight", nodes("a3"), queue("q", 1, 0), *(job(f"j{i}", "q") for i in range(3)),
        ends="aaa",
    ),
    Situation(
        "priority gets all of the surplus", nodes("a4"), queue("left", 0), queue("vip", 0, priority=1),
        *(job(f"j{i}", "left") for i in range(4)), *(job(f"k{i}", "vip") for i in range(3)), ends="a--- aaa",
    ),
    Situation(
        "but no quota", nodes("a2"), queue("left", 2), queue("vip", 0, priority=1),
        *(job(f"j{i}", "left") for i in range(2)), *(job(f"k{i}", "vip") for i in range(2)), ends="aa --",
    ),
    Situation(
        "departments come before their queues", nodes("a4"), queue("d1", 2), queue("d2", 2),
        queue("q1", 1, parent="d1"), queue("q2", 1, parent="d1"), queue("q3", 2, parent="d2"),
        *(job(f"j{i}", "q1") for i in range(2)), *(job(f"k{i}", "q2") for i in range(2)),
        *(job(f"m{i}", "q3") for i in range(2)), ends="a- a- aa",
    ),
    Situation("an unknown queue", nodes("a1"), queue("q", 1), job("lost", "nowhere"), job("new", "q"), ends="-a"),
    Situation(
        "pods of no queue reduce the shares", nodes("a4"), foreign("a", 1, gpu=2), queue("left", 0), queue("right", 0),
        job("one", "left", 1, "a"), job("two", "left", 1, "a"), job("new", "right"), ends="a a-a",
    ),
    Situation(
        "so do nodes that are not ready", nodes("a2"), node("b", 64, gpu=2, ready=False), queue("left", 0),
        queue("right", 0), job("one", "left", 1, "a"), job("two", "left", 1, "a"), job("new", "right"), ends="a-a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*ELASTIC, *NODES, *DEVICES, *QUEUES], ids=str)
def test_allocation(situation: Situation) -> None:
    situation.check()
