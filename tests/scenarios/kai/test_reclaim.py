"""From which queues, and in which order, jobs are reclaimed."""

import pytest

from tests.scenarios.kai.situation import Situation, job, memory, memory_nodes, nodes, queue
from tests.testing.manifests.builders import GPU, node

NONE = {"cpu": 0, "memory": 0}
TWO_DEPARTMENTS = [
    queue("d1", 2), queue("d2", 2), queue("q1", 1, parent="d1"), queue("q2", 1, parent="d1"),
    queue("q3", 2, parent="d2"),
]  # fmt: skip

ORDER = [
    Situation(
        "the least important job, though it is older", nodes("a2"), queue("left", 0), queue("right", 1),
        job("old", "left", 1, "a"), job("young", "left", 1, "a", priority="build-preemptable"), job("new", "right"),
        ends="-aa",
    ),
    Situation(
        "a whole gang before members of a more important job", nodes("a4"), queue("left", 1), queue("right", 2),
        job("gang", "left", 1, "aa"), job("elastic", "left", 1, "aa", minimum=1, priority="build-preemptable"),
        job("new", "right"), ends="-- aa a",
    ),
    Situation(
        "priority does not count between queues", nodes("a2"), queue("left", 1), queue("right", 1),
        job("one", "left", 1, "a", priority="build-preemptable"),
        job("two", "left", 1, "a", priority="build-preemptable"), job("new", "right"), ends="a-a",
    ),
    Situation(
        "the queue furthest above its share", nodes("a6"), queue("left", 0), queue("middle", 0), queue("right", 2),
        job("l", "left", 1, "aaaa", minimum=0), job("m", "middle", 1, "aa", minimum=0), job("new", "right", 1, "--"),
        ends="aa-- aa aa",
    ),
    Situation(
        "the queue of lower priority", nodes("a3"), queue("left", 0), queue("vip", 0, priority=5), queue("right", 1),
        job("v1", "vip", 1, "a"), job("l1", "left", 1, "a"), job("v2", "vip", 1, "a"), job("new", "right"),
        ends="a-aa",
    ),
    Situation(
        "all surplus for a queue of higher priority", nodes("a2"), queue("left", 0), queue("vip", 0, priority=5),
        job("l1", "left", 1, "a"), job("l2", "left", 1, "a"), job("new", "vip", 1, "--"), ends="-- aa",
    ),
    Situation(
        "preemptable jobs beside non-preemptable ones", nodes("a3"), queue("left", 1), queue("right", 2),
        job("build", "left", 1, "a", priority="build"), job("t1", "left", 1, "a"), job("t2", "left", 1, "a"),
        job("new", "right", 1, "--"), ends="a-- aa",
    ),
    Situation(
        "a sibling, where the department has its share", nodes("a4"), *TWO_DEPARTMENTS, job("k1", "q2", 1, "a"),
        job("k2", "q2", 1, "a"), job("m", "q3", 2, "a"), job("new", "q1"), ends="a-aa",
    ),
    Situation(
        "another department, where it has more than that", nodes("a4"), *TWO_DEPARTMENTS, job("k1", "q2", 1, "a"),
        job("m1", "q3", 1, "a"), job("m2", "q3", 1, "a"), job("m3", "q3", 1, "a"), job("new", "q1"), ends="aaa-a",
    ),
]  # fmt: skip

AMOUNTS = [
    Situation(
        "a gang from two nodes", nodes("a2 b2"), queue("left", 2), queue("right", 2), job("o1", "left", 1, "a"),
        job("o2", "left", 1, "b"), job("o3", "left", 1, "a"), job("o4", "left", 1, "b"), job("new", "right", 1, "--"),
        ends="ab-- ab",
    ),
    Situation(
        "no node would be large enough", nodes("a2 b2"), queue("left", 0), queue("right", 3), job("o1", "left", 1, "a"),
        job("o2", "left", 1, "b"), job("new", "right", 3), ends="ab-",
    ),
    Situation(
        "the limit of the queue", nodes("a4"), queue("left", 0), queue("right", 3, most=1), job("o1", "left", 2, "a"),
        job("o2", "left", 2, "a"), job("new", "right", 2), ends="aa-",
    ),
    Situation(
        "for two queues at once", nodes("a4"), queue("left", 0), queue("one", 1), queue("two", 1),
        job("old", "left", 1, "aaaa", minimum=1), job("new1", "one"), job("new2", "two"), ends="aa-- aa",
    ),
    Situation(
        "a non-preemptable job within its quota only", nodes("a4"), queue("left", 1), queue("right", 1),
        *(job(f"o{i}", "left", 1, "a") for i in range(4)), job("new1", "right", priority="build"),
        job("new2", "right", priority="build"), ends="aaa- a-",
    ),
    Situation(
        "preemptable jobs up to the fair share", nodes("a4"), queue("left", 1), queue("right", 1),
        *(job(f"o{i}", "left", 1, "a") for i in range(4)), job("new1", "right"), job("new2", "right"), ends="aa-- aa",
    ),
    Situation(
        "a whole job where its minimum would be broken", nodes("a4"), queue("left", 1), queue("right", 3),
        job("old", "left", 1, "aaaa", minimum=2), job("new", "right", 1, "---"), ends="---- aaa",
    ),
    Situation(
        "members beyond the minimum up to the quota", nodes("a4"), queue("left", 1), queue("right", 3),
        job("old", "left", 1, "aaaa", minimum=1), job("new", "right", 1, "----", minimum=2), ends="a--- aaa-", until=6,
    ),
    Situation(
        "beside idle devices", nodes("a2 b1"), queue("left", 0), queue("right", 3), job("old", "left", 1, "a"),
        job("new", "right", 1, "---"), ends="- baa",
    ),
    Situation(
        "cpu", node("a", 10), queue("left", 0, also={**NONE, "cpu": 5}), queue("right", 0, also={**NONE, "cpu": 5}),
        job("o1", "left", 0, "a", cpu=4), job("o2", "left", 0, "a", cpu=4), job("new", "right", 0, cpu=4), ends="a-a",
    ),
    Situation(
        "no cpu beyond the fair share", node("a", 10), queue("left", 0, also={**NONE, "cpu": 5}),
        queue("right", 0, also={**NONE, "cpu": 5}), job("old", "left", 0, "a", cpu=5), job("new", "right", 0, cpu=6),
        ends="a-",
    ),
    Situation(
        "memory of a device", memory_nodes("a1"), queue("left", 0), queue("right", 1), memory("o1", "left", 8000, "a0"),
        memory("o2", "left", 8000, "a0"), memory("new", "right", 8000), ends="a-a",
    ),
    Situation(
        "a whole device with memory in use", memory_nodes("a1"), queue("left", 0), queue("right", 1),
        memory("o1", "left", 8000, "a0"), memory("o2", "left", 4000, "a0"), job("new", "right"), ends="--a",
    ),
    Situation(
        "three levels", nodes("a4"), queue("top", 4), queue("m1", 2, parent="top"), queue("m2", 2, parent="top"),
        queue("q1", 2, parent="m1"), queue("q2", 2, parent="m2"), job("old", "q2", 1, "aaa", minimum=1),
        job("new", "q1", 1, "a--", minimum=1), ends="aa- aa-", until=5,
    ),
]  # fmt: skip

MOVES = [
    Situation(
        "a protected pod moves where another one is reclaimed", nodes("a2 b2"), queue("left", 2, 0),
        queue("guest", 0, 0), queue("right", 2, 0), job("l1", "left", 1, "a"), job("l2", "left", 1, "b"),
        job("g1", "guest", 1, "a"), job("new", "right", 2), ends="bb-a",
    ),
    Situation(
        "nor where the guarantee of its queue covers that one", nodes("a2 b2"), queue("left", 2, 0),
        queue("guest", 0, 0, guarantee={GPU: "1"}), queue("right", 2, 0), job("l1", "left", 1, "a"),
        job("l2", "left", 1, "b"), job("g1", "guest", 1, "a"), job("new", "right", 2), ends="aba-",
    ),
    Situation(
        "no protected pod is lost", nodes("a2 b2"), queue("left", 3, 0), queue("guest", 0, 0), queue("right", 1, 0),
        job("l1", "left", 1, "a"), job("l2", "left", 2, "b"), job("g1", "guest", 1, "a"), job("new", "right", 2),
        ends="ab a-",
    ),
    Situation(
        "a protected fraction moves", nodes("a1 b1"), queue("left", 1, 0), queue("guest", 0, 0), queue("right", 1, 0),
        job("l1", "left", 0.5, "a0"), job("l2", "left", 0.3, "b0"), job("g1", "guest", 0.5, "a0"), job("new", "right"),
        ends="bb-a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*ORDER, *AMOUNTS, *MOVES], ids=str)
def test_reclaim(situation: Situation) -> None:
    situation.check()
