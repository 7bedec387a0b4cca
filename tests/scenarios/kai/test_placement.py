"""Where jobs start, which pods move for them, and MIG instances as GPUs of quotas."""

from typing import Any

import pytest

from tests.scenarios.kai.situation import Situation, job, memory, memory_nodes, nodes, queue
from tests.testing.manifests.builders import Manifest, node

MIG = "nvidia.com/mig-1g.10gb"


def mig(name: str, of: str, number: int, on: str = "-") -> list[Manifest]:
    return job(name, of, 0, on, more={MIG: number})


def mig_node(number: int) -> Manifest:
    return node("a", 64, more={MIG: number})


def several(name: str, of: str, number: int, **facts: Any) -> list[list[Manifest]]:
    return [job(f"{name}{place}", of, **facts) for place in range(number)]


PLACED = [
    Situation("the limit of a queue", nodes("a4"), queue("q", 2, 2, most=2), several("j", "q", 2, gpus=2), ends="a-"),
    Situation(
        "the limit of a parent", nodes("a4"), queue("top", 2, most=2), queue("q", 2, parent="top"),
        several("j", "q", 2, gpus=2), ends="a-",
    ),
    Situation(
        "preemptable jobs beyond the quota", nodes("a2"), queue("q", 1), queue("other", 1),
        job("build", "q", priority="build"), job("train", "q"), ends="aa",
    ),
    Situation(
        "no non-preemptable job beyond it", nodes("a4"), queue("q", 1), job("j", "q", 2, priority="build"), ends="-",
    ),
    Situation(
        "of equal queues the first", nodes("a1"), queue("one", 1), queue("two", 1), job("j1", "one"), job("j2", "two"),
        ends="a-",
    ),
    Situation(
        "of queues the one of higher priority", nodes("a1"), queue("one", 1), queue("two", 1, priority=1),
        job("j1", "one"), job("j2", "two"), ends="-a",
    ),
    Situation(
        "of queues the one with the larger quota", nodes("a1"), queue("one", 1), queue("two", 2), job("j1", "one"),
        job("j2", "two"), ends="-a",
    ),
    Situation(
        "of parents the one with the larger quota", nodes("a1"), queue("d1", 1), queue("d2", 2),
        queue("one", 3, parent="d1"), queue("two", 2, parent="d1"), queue("three", 1, parent="d2"),
        job("j1", "one"), job("j2", "two"), job("j3", "three"), ends="--a",
    ),
    Situation(
        "queues take turns", nodes("a4"), queue("one", 1), queue("two", 1), several("j", "one", 3),
        several("k", "two", 3), ends="aa- aa-",
    ),
    Situation(
        "a full queue preempts in itself", nodes("a2"), queue("q", 1, most=1), job("train", "q", 1, "a"),
        job("build", "q", priority="build"), ends="-a",
    ),
    Situation(
        "a full queue does not start more", nodes("a2"), queue("q", 1, most=1),
        job("build", "q", 1, "a", priority="build"), job("train", "q"), ends="a-",
    ),
    Situation(
        "a limit of another resource", nodes("a4"), queue("q", 2, 2), queue("tight", 2, 2), job("j1", "q", cpu=60),
        job("j2", "q", cpu=60), ends="a-",
    ),
]  # fmt: skip

MOVED = [
    Situation(
        "the younger pod moves", nodes("a2 b2"), queue("q", 1), job("one", "q", 1, "a"), job("two", "q", 1, "b"),
        job("new", "q", 2), ends="aab",
    ),
    Situation(
        "non-preemptable pods stay", nodes("a2 b2"), queue("q", 2), job("one", "q", 1, "a", priority="build"),
        job("two", "q", 1, "b", priority="build"), job("new", "q", 2), ends="ab-",
    ),
    Situation(
        "a gang moves together", nodes("a3 b3"), queue("q", 1), job("gang", "q", 1, "aab"), job("new", "q", 3),
        ends="aaa b",
    ),
    Situation(
        "nothing moves where a pod would find no place", nodes("a2 b2"), queue("q", 1), job("one", "q", 1, "ab"),
        job("two", "q", 1, "a"), job("new", "q", 2), ends="aba-",
    ),
    Situation(
        "more important pods move as well", nodes("a2 b2"), queue("q", 4),
        job("one", "q", 1, "a", priority="build-preemptable"), job("two", "q", 1, "b", priority="build-preemptable"),
        job("new", "q", 2), ends="aab",
    ),
    Situation(
        "pods of another queue move", nodes("a2 b2"), queue("q", 2), queue("other", 2), job("one", "q", 1, "a"),
        job("two", "q", 1, "b"), job("new", "other", 2), ends="aab",
    ),
    Situation(
        "for a gang on two nodes", nodes("a2 b2 c2 d2"), queue("q", 8),
        *(job(f"o{place}", "q", 1, place) for place in "abcd"), job("new", "q", 2, "--"), ends="abab cd", until=5,
    ),
    Situation(
        "a pod that fits on one node only stays", nodes("a2"), node("b", 64, gpu=2, labels={"zone": "z"}),
        queue("q", 4), job("one", "q", 1, "a"), job("two", "q", 1, "b", nodeSelector={"zone": "z"}), job("new", "q", 2),
        ends="bba",
    ),
    Situation(
        "a fraction moves to another device of its node", nodes("a2"), queue("q", 2), job("one", "q", 0.5, "a0"),
        job("two", "q", 0.5, "a1"), job("new", "q"), ends="aaa",
    ),
    Situation(
        "so does a gang of fractions", nodes("a2"), queue("left", 0), queue("right", 1),
        job("old", "left", 0.5, "a0 a1"), job("new", "right"), ends="aaa",
    ),
    Situation(
        "memory moves to the device of another node", memory_nodes("a1 b1"), queue("q", 2),
        memory("one", "q", 8000, "a0"), memory("two", "q", 8000, "b0"), job("new", "q"), ends="aab",
    ),
    Situation(
        "nothing moves where the sum is too small", nodes("a2 b2"), queue("q", 4), job("one", "q", 1, "a"),
        job("two", "q", 2, "b"), job("new", "q", 2), ends="ab-",
    ),
    Situation(
        "members beyond the minimum move alone", nodes("a2 b2"), queue("q", 4), job("old", "q", 1, "ab", minimum=1),
        job("new", "q", 2), ends="aab",
    ),
]  # fmt: skip

SHARED = [
    Situation(
        "a fraction that does not fit takes another device", nodes("a2"), queue("q", 2),
        job("old", "q", 0.6, "a0", priority="build"), job("new", "q", 0.5, priority="build"), ends="aa",
    ),
    Situation(
        "fractions fill devices in their order", nodes("a2"), queue("q", 2),
        job("old", "q", 0.5, "a0", priority="build"),
        *(job(f"j{i}", "q", gpus, priority="build") for i, gpus in enumerate((0.6, 0.5, 0.5, 0.3))), ends="a aa-a",
    ),
    Situation(
        "preemptable fractions beyond the quota", nodes("a2"), queue("q", 1),
        job("one", "q", 0.5, "a0", priority="build"), job("two", "q", 0.5, "a0", priority="build"),
        job("new", "q", 0.5), ends="aaa",
    ),
    Situation(
        "no non-preemptable fraction beyond it", nodes("a2"), queue("q", 1),
        job("one", "q", 0.7, "a0", priority="build"),
        job("two", "q", 0.5, priority="build"), job("three", "q", 0.3, priority="build"), ends="a-a",
    ),
    Situation(
        "a fraction joins another one on its node", nodes("a2 b2"), queue("q", 3),
        job("old", "q", 0.5, "b0", priority="build"), job("new", "q", 0.5, priority="build"), ends="bb",
    ),
    Situation(
        "a whole device leaves shared ones alone", nodes("a2"), queue("q", 2), job("old", "q", 0.5, "a0"),
        job("new", "q", 1), job("more", "q", 0.5), ends="aaa",
    ),
]  # fmt: skip

ROOTS = [
    Situation(
        "a queue without a parent loses to one below a parent", nodes("a1"), queue("top", 1),
        queue("serving", 1, parent="top"), queue("alone", 0), job("old", "alone", 1, "a"), job("new", "serving", 1),
        ends="-a",
    ),
    Situation(
        "three levels", nodes("a4"), queue("top", 4), queue("middle", 2, parent="top"),
        queue("left", 2, parent="middle"), queue("right", 2, parent="top"), job("old", "right", 1, "aaaa", minimum=1),
        job("new", "left", 1, "--", minimum=1), ends="aa-- aa", until=5,
    ),
]  # fmt: skip

INSTANCES = [
    Situation(
        "instances are preempted", mig_node(2), queue("q", 2), mig("one", "q", 1, "a"), mig("two", "q", 1, "a"),
        job("new", "q", 0, more={MIG: 1}, priority="build"), ends="a-a",
    ),
    Situation(
        "instances are reclaimed by quotas of GPUs", mig_node(2), queue("left", 0), queue("right", 2),
        mig("old", "left", 1, "a"), mig("new", "right", 2), ends="-a",
    ),
    Situation(
        "instances within the fair share are kept", mig_node(4), queue("left", 1), queue("right", 1),
        mig("old", "left", 2, "a"), mig("new", "right", 3), ends="a-",
    ),
    Situation(
        "quotas of non-preemptable jobs count instances", mig_node(4), queue("q", 2),
        job("one", "q", 0, more={MIG: 2}, priority="build"), job("two", "q", 0, more={MIG: 1}, priority="build"),
        job("three", "q", 0, more={MIG: 1}), ends="a-a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*PLACED, *MOVED, *SHARED, *ROOTS, *INSTANCES], ids=str)
def test_placement(situation: Situation) -> None:
    situation.check()
