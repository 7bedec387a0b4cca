"""Node labels and HyperNodes describe the same network, in any order of objects."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import Manifest, gang_of, node, pod, running
from tests.testing.manifests.hypernodes import HARD_BLOCK, HARD_RACK, SOFT, block, hyper_node, named
from tests.testing.manifests.topology_levels import BLOCK, RACK, asking, at, topology
from tests.testing.random_clusters.effort import examples

AWARE = configuration("gang", "predicates", "binpack", "nodeorder", "network-topology-aware")

#: Constraints of groups and sub-groups: by levels, and by tiers.
CONSTRAINTS: list[tuple[dict[str, str], Manifest | None, Manifest | None]] = [
    (asking(RACK), HARD_RACK, None),
    (asking(BLOCK), HARD_BLOCK, None),
    (asking(None, RACK), SOFT, None),
    (asking(BLOCK, RACK), HARD_BLOCK, None),
    (asking(BLOCK, part=RACK), HARD_BLOCK, HARD_RACK),
    (asking(part=RACK), None, HARD_RACK),
    (asking(RACK, part_preferred=RACK), HARD_RACK, SOFT),
]

Place = tuple[int, int] | None


def by_levels(places: dict[str, Place], sizes: list[int]) -> list[Manifest]:
    labels = {name: at(f"b{place[0]}", f"r{place[1]}") if place else {} for name, place in places.items()}
    return [*(node(name, size, labels=labels[name]) for name, size in zip(places, sizes, strict=True)), topology()]


def by_hyper_nodes(places: dict[str, Place], sizes: list[int]) -> list[Manifest]:
    world = [node(name, size) for name, size in zip(places, sizes, strict=True)]
    known = sorted({place for place in places.values() if place})
    for number, rack in known:
        members = [name for name, place in places.items() if place == (number, rack)]
        world.append(hyper_node(f"b{number}-r{rack}", 1, *named(*members)))
    blocks = sorted({number for number, _ in known})
    return world + [block(f"b{n}", 2, *(f"b{n}-r{rack}" for owner, rack in known if owner == n)) for n in blocks]


def job(name: str, parts: list[str], minimum: int, by_level: bool, constraint: int) -> list[Manifest]:
    notes, of_job, of_parts = CONSTRAINTS[constraint]
    facts: dict[str, Any] = {"notes": notes} if by_level else {"topology": of_job}
    if constraint >= 4:
        policy: Manifest = {"name": "p", "subGroupSize": 1, "matchLabelKeys": ["part"]}
        facts["policies"] = [policy if by_level else {**policy, "networkTopology": of_parts}]
    return gang_of(*(pod(1, labels={"part": part}) for part in parts), name=name, minimum=minimum, **facts)


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Draw the same cluster twice."""
    letters = "abcdefgh"[: draw(st.integers(1, 8))]
    spot = st.tuples(st.integers(0, 1), st.integers(0, 2))
    places: dict[str, Place] = {letter: draw(st.none() | spot) for letter in letters}
    places["a"] = draw(spot)
    sizes = [draw(st.integers(1, 3)) for _ in letters]
    busy = [running(draw(st.sampled_from(letters)), name=f"old-{n}") for n in range(draw(st.integers(0, 3)))]
    worlds: tuple[list[Any], list[Any]] = [by_levels(places, sizes), busy], [by_hyper_nodes(places, sizes), busy]
    for number in range(draw(st.integers(1, 3))):
        parts = draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=4))
        minimum, constraint = draw(st.integers(1, len(parts))), draw(st.integers(0, len(CONSTRAINTS) - 1))
        for world, by_level in zip(worlds, (True, False), strict=True):
            world.append(job(f"job-{number}", parts, minimum, by_level, constraint))
    return worlds


@examples(150)
@given(networks())
def test_labels_and_hypernodes_give_the_same_placements(worlds: tuple[list[Any], list[Any]]) -> None:
    by_label, by_object = (Case("", world, binds="", conf=AWARE).plan() for world in worlds)
    assert (by_label.binds, by_label.pipelined) == (by_object.binds, by_object.pipelined)


@examples(60)
@given(networks())
def test_the_order_of_objects_does_not_matter(worlds: tuple[list[Any], list[Any]]) -> None:
    case = Case("", worlds[0], binds="", conf=AWARE)
    assert case.backwards().plan().binds == case.plan().binds


@examples(60)
@given(networks())
def test_required_levels_are_satisfied(worlds: tuple[list[Any], list[Any]]) -> None:
    plan = Case("", worlds[0], binds="", conf=AWARE).plan()
    labels, index = plan.session.nodes.nodes, plan.session.nodes.index
    for each in plan.session.jobs.values():
        required = each.spec.topology.highest_tier_name if each.spec.topology else ""
        keys = {RACK: (BLOCK, RACK), BLOCK: (BLOCK,)}.get(required, ())
        found = [labels[index[plan.binds[task.key]]].labels for task in each.tasks.values() if task.key in plan.binds]
        assert not keys or len({tuple(entry.get(key) for key in keys) for entry in found}) <= 1
