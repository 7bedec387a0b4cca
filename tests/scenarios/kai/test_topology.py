"""Levels of the network, and jobs of sub-groups and roles."""

import pytest

from tests.scenarios.kai.situation import Situation, job, nodes, parts, queue, roles
from tests.testing.manifests.builders import Manifest, node
from tests.testing.manifests.topology_levels import BLOCK, HOST, RACK, asking, at, topology


def racks(*blocks: str, gpu: int = 2) -> list[Manifest]:
    """Blocks of racks of nodes: `ab cd` is a block of two racks of two nodes."""
    made = [
        node(letter, 64, gpu=gpu, labels=at(f"b{number}", f"r{place}", letter))
        for number, block in enumerate(blocks)
        for place, rack in enumerate(block.split())
        for letter in rack
    ]
    return [*made, topology("net", BLOCK, RACK, HOST)]


ONE_BLOCK, TWO_BLOCKS = racks("ab cd"), racks("ab cd", "ef gh")

LEVELS = [
    Situation(
        "one rack", ONE_BLOCK, queue("q", 8), job("gang", "q", 2, "--", notes=asking(RACK)), ends="ab",
    ),
    Situation(
        "a gang that no rack holds", ONE_BLOCK, queue("q", 8), job("gang", "q", 2, "---", notes=asking(RACK)),
        ends="---",
    ),
    Situation(
        "the fullest rack that holds it", ONE_BLOCK, queue("q", 8), job("old", "q", 1, "c"),
        job("gang", "q", 1, "---", notes=asking(RACK)), ends="c cdd",
    ),
    Situation(
        "the fullest block", TWO_BLOCKS, queue("q", 16), job("old", "q", 1, "e"),
        job("gang", "q", 2, "---", notes=asking(BLOCK)), ends="e fgh",
    ),
    Situation(
        "a rack is preferred and a block required", TWO_BLOCKS, queue("q", 16),
        job("gang", "q", 2, "---", notes=asking(BLOCK, RACK)), ends="abc",
    ),
    Situation(
        "a node is preferred", ONE_BLOCK, queue("q", 8), job("gang", "q", 1, "--", notes=asking(RACK, HOST)),
        ends="aa",
    ),
    Situation(
        "a preferred rack is too small", ONE_BLOCK, queue("q", 8), job("gang", "q", 2, "---", notes=asking(None, RACK)),
        ends="abc",
    ),
    Situation(
        "a node without labels is outside", racks("ab"), node("z", 64, gpu=8), queue("q", 8),
        job("gang", "q", 2, "---", notes=asking(RACK)), ends="---",
    ),
    Situation(
        "a member joins those that run", ONE_BLOCK, queue("q", 8),
        job("gang", "q", 2, "a-", minimum=1, notes=asking(RACK)), ends="ab",
    ),
    Situation(
        "and waits where their rack is full", ONE_BLOCK, queue("q", 8), job("old", "q", 2, "b", priority="build"),
        job("gang", "q", 2, "a-", minimum=1, notes=asking(RACK)), ends="b a-",
    ),
    Situation(
        "fractions", racks("a b", gpu=1), queue("q", 8), job("gang", "q", 0.5, "- -", notes=asking(RACK)), ends="aa",
    ),
    Situation(
        "sub-groups in a rack each", ONE_BLOCK, queue("q", 8),
        parts("gang", "q", 2, gpus=2, x="--", y="--", notes=asking(None, part=RACK)), ends="abcd",
    ),
]  # fmt: skip

VICTIMS = [
    Situation(
        "reclaiming in one rack", ONE_BLOCK, queue("left", 0), queue("right", 4),
        *(job(f"o{place}", "left", 2, place) for place in "abcd"), job("gang", "right", 2, "--", notes=asking(RACK)),
        ends="ab-- cd",
    ),
    Situation(
        "preempting in the rack without non-preemptable jobs", ONE_BLOCK, queue("q", 8), job("o1", "q", 2, "a"),
        job("o2", "q", 2, "b", priority="build"), job("o3", "q", 2, "c"), job("o4", "q", 2, "d"),
        job("gang", "q", 2, "--", priority="build", notes=asking(RACK)), ends="ab-- cd",
    ),
    Situation(
        "moving for a rack", ONE_BLOCK, queue("q", 8), job("o1", "q", 2, "a"), job("o2", "q", 2, "c"),
        job("gang", "q", 2, "--", notes=asking(RACK)), ends="ab cd", until=5,
    ),
]  # fmt: skip

PARTS = [
    Situation("two sub-groups", nodes("a4"), queue("q", 4), parts("gang", "q", 2, x="--", y="--"), ends="aaaa"),
    Situation("one of them does not fit", nodes("a3"), queue("q", 4), parts("gang", "q", 2, x="--", y="--"),
              ends="----"),
    Situation(
        "one of two suffices", nodes("a3"), queue("q", 4), parts("gang", "q", 2, groups=1, x="--", y="--"),
        ends="aa--",
    ),
    Situation(
        "all sub-groups are preempted together", nodes("a4"), queue("q", 4), parts("old", "q", 2, x="aa", y="aa"),
        job("new", "q", priority="build"), ends="---- a",
    ),
    Situation(
        "members beyond the sizes go first", nodes("a4"), queue("q", 4), parts("old", "q", 1, groups=2, x="aa", y="aa"),
        job("new", "q", 1, "--", priority="build"), ends="a-a- aa",
    ),
    Situation(
        "a sub-group beyond the minimum goes whole", nodes("a4"), queue("q", 4),
        parts("old", "q", 2, groups=1, x="aa", y="aa"), job("new", "q", 1, "--", priority="build"), ends="aa-- aa",
    ),
    Situation(
        "members beyond the minimum of their role", nodes("a4"), queue("q", 4),
        roles("old", "q", {"x": 1, "y": 1}, x="a", y="aaa"), job("new", "q", 1, "--", priority="build"),
        ends="aa-- aa",
    ),
    Situation(
        "all where too few would be left", nodes("a4"), queue("q", 4),
        roles("old", "q", {"x": 1, "y": 2}, x="a", y="aaa"), job("new", "q", 1, "--", priority="build"),
        ends="---- aa",
    ),
]  # fmt: skip


@pytest.mark.parametrize("situation", [*LEVELS, *VICTIMS, *PARTS], ids=str)
def test_topology(situation: Situation) -> None:
    situation.check()
