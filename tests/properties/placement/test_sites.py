"""Jobs without a topology in a network: batch placement by site equals placement one by one over all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.search import batch_placement, ranking
from stromboli.core.search.node_search import NodeSearch
from stromboli.core.session.program import Program
from stromboli.kube import KubeObject
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.topology import ExactMatch, HyperNodeMember, HyperNodeSpec, KubeHyperNode, MemberSelector
from stromboli.planner.report import report_of
from tests.properties.placement.test_batching import chosen_rows, crowded, steps
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of, program_of, session_of
from tests.testing.random_clusters.weightings import WEIGHTINGS, Mood, Whim

#: Domains that dominate the score, that hardly matter, and whose tiers weigh the same.
ARGUMENTS = ("weight: 10", "weight: 1", "hypernode.binpack.normal-pod.fading: 1, hypernode.binpack.cpu: 3")


@cache
def aware_program(weighting: str, arguments: str) -> Program:
    text = f"{WEIGHTINGS[weighting]}  - name: network-topology-aware\n    arguments: {{{arguments}}}\n"
    return program_of(text, [Whim, Mood])


programs = st.builds(aware_program, st.sampled_from(sorted(WEIGHTINGS)), st.sampled_from(ARGUMENTS))


def domain(name: str, tier: int, kind: str, members: Sequence[str]) -> KubeHyperNode:
    chosen = [
        HyperNodeMember(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members
    ]
    return KubeHyperNode(metadata=ObjectMeta(name=name, uid=name), spec=HyperNodeSpec(tier=tier, members=chosen))


@st.composite
def level_crowd(draw: st.DrawFn) -> list[KubeObject]:
    """Draw many nodes of few sizes, so that sites are often level, and jobs of many equal pods."""
    sizes = draw(st.lists(st.sampled_from(["4", "4", "8"]), min_size=4, max_size=14))
    nodes = [objects.node(f"n-{n:02}", {"cpu": size, "memory": "8Gi", "pods": "9"}) for n, size in enumerate(sizes)]
    requests = [{"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, {"example.com/nothing": "0"}]
    jobs = [objects.gang(f"crowd-{n}", 30, objects.template(request)) for n, request in enumerate(requests)]
    return [*nodes, *(entry for job in jobs for entry in job)]


@st.composite
def networks(draw: st.DrawFn) -> list[KubeObject]:
    """Draw a cluster with racks, some of which overlap, and blocks of some of them; some nodes are in none, and on some
    more is used than there is.
    """
    world = draw(st.one_of(crowded(), level_crowd()))
    nodes = [entry.metadata.name for entry in world if isinstance(entry, kube.KubeNode)]
    racks: list[str] = []
    members = draw(st.lists(st.lists(st.sampled_from(nodes), min_size=1, max_size=5, unique=True), max_size=5))
    if draw(st.booleans()):
        members = [nodes[start::3] for start in range(3)]
    for number, inside in enumerate(members):
        if inside:
            racks.append(f"rack-{number}")
            world.append(domain(racks[-1], 1, "Node", inside))
    for number, name in enumerate(draw(st.lists(st.sampled_from(nodes), max_size=2, unique=True))):
        spec = objects.template({"cpu": draw(st.sampled_from(["1", "10", "30"]))}, node_name=name)
        world.append(objects.pod(f"beyond-{number}", spec, phase="Running"))
    cut = draw(st.integers(0, len(racks)))
    for number, part in enumerate((racks[:cut], racks[cut:])):
        if part and draw(st.sampled_from((True, False))):
            world.append(domain(f"block-{number}", 2, "HyperNode", part))
    return world


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """Evaluate the scores of all nodes for each task."""
    patch.setattr(NodeSearch, "_scores_by_site", lambda *_: None)


@pytest.mark.parametrize("most", [1, 1000])
@pytest.mark.parametrize("shallow", [0, 12])
@examples(100)
@given(world=networks(), program=programs, wanted=steps)
def test_placement_by_site_equals_one_by_one(
    most: int, shallow: int, world: list[KubeObject], program: Program, wanted: list[tuple[int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_placement, "_SHALLOW", shallow)
        patch.setattr(ranking, "_FEW", 2 * shallow)
        by_site = chosen(world, program, wanted, most)
        one_by_one(patch)
        assert by_site == chosen(world, program, wanted, 1)


def chosen(world: list[KubeObject], program: Program, wanted: list[tuple[int, int]], most: int) -> object:
    """Return the rows and the ledger. A program serves one session at a time."""
    session = session_of(world, program)
    return chosen_rows(session, wanted, most), session.ledger.fingerprint()


def decisions(world: list[KubeObject], program: Program) -> dict[str, Any]:
    return report_of(plan_of(world, program, cycles=2))


@examples(100)
@given(networks(), programs)
def test_plans_do_not_depend_on_placement_by_site(world: list[KubeObject], program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(patch)
        expected = decisions(world, program)
    assert decisions(world, program) == expected
