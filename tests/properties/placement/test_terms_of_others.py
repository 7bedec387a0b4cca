"""Terms of other pods that the pods of a class do not change: batches equal placement one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.actions.allocate.plain_turns import PlainTurns
from stromboli.core.model.ledger import ledger
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.topology import label_domains
from stromboli.core.search.node_search import NodeSearch
from tests.properties.placement.test_batching import compare_batches, steps, weightings
from tests.properties.placement.test_equal_jobs import decisions
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import default_program, session_of
from tests.testing.random_clusters.weightings import weighted_program
from tests.testing.random_clusters.worlds import APP, ZONE, draw_pod_rule

CROWD = 20


def gang(name: str, size: int, spec: kube.PodSpec, app: str) -> list[kube.KubeObject]:
    pods = [objects.pod(f"{name}-{place}", spec, group=name, labels={APP: app}) for place in range(size)]
    return [objects.group(name, min_member=size), *pods]


def guest_gang(draw: st.DrawFn, number: int) -> list[kube.KubeObject]:
    """Draw pods whose terms may select those of a crowd."""
    rule = draw_pod_rule(draw)
    affinity = draw(st.sampled_from([kube.Affinity(pod_affinity=rule), kube.Affinity(pod_anti_affinity=rule)]))
    spec = objects.template({"cpu": "1"}, affinity=affinity)
    return gang(f"a-guest-{number}", 3, spec, draw(st.sampled_from(["web", "db"])))


def crowd(name: str, cpu: str, app: str, affinity: kube.Affinity | None = None) -> list[kube.KubeObject]:
    return gang(name, CROWD, objects.template({"cpu": cpu}, affinity=affinity), app)


@st.composite
def beside_terms(draw: st.DrawFn) -> list[kube.KubeObject]:
    """Draw zones of few nodes, guests with terms, and crowds: one without a term, one with a term about guests."""
    zones = draw(st.lists(st.sampled_from("xyz"), min_size=2, max_size=9))
    sizes = [draw(st.sampled_from(["2", "4", "9"])) for _ in zones]
    nodes = [
        objects.node(f"n{place}", {"cpu": size, "pods": "99"}, labels={ZONE: zone, objects.HOSTNAME: f"n{place}"})
        for place, (zone, size) in enumerate(zip(zones, sizes, strict=True))
    ]
    rule = kube.Affinity(pod_affinity=draw_pod_rule(draw))
    crowds = [crowd("b", "1", "web"), crowd("c", "2", draw(st.sampled_from(["web", "db"])), rule)]
    gangs = [*(guest_gang(draw, number) for number in range(2)), *crowds]
    return [*nodes, *(entry for members in gangs for entry in members)]


@examples(150)
@given(beside_terms(), weightings, steps)
def test_batches_beside_terms_of_others_equal_one_by_one(
    world: Sequence[kube.KubeObject], weighting: str, wanted: list[tuple[int, int]]
) -> None:
    compare_batches(world, weighted_program(weighting), wanted)


@examples(150)
@given(beside_terms(), weightings)
def test_plans_beside_terms_of_others_do_not_depend_on_how_pods_are_counted(
    world: list[kube.KubeObject], weighting: str
) -> None:
    """Count every pod at once and search for each turn; or count when it matters, and search for several turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainTurns, "place_next", lambda *_: False)
        plain = decisions(world, weighted_program(weighting))
    assert decisions(world, weighted_program(weighting)) == plain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "_MANY_FEEDS", 0)
        patch.setattr(label_domains, "_FEW", 0)
        assert decisions(world, weighted_program(weighting)) == plain


def running(name: str, node: str, cpu: str, affinity: kube.Affinity | None = None) -> kube.Pod:
    return objects.pod(name, objects.template({"cpu": cpu}, affinity=affinity, node_name=node), phase="Running")


def test_batch_ends_where_the_most_preferred_nodes_are_full() -> None:
    """The range of preferences then changes, and a node that is preferred less becomes better than a fuller one."""
    nodes = [
        objects.node(name, {"cpu": cpu, "pods": "99"}, labels={ZONE: name})
        for name, cpu in (("full", "20"), ("little", "20"), ("most", "14"))
    ]
    term = kube.PodAffinityTerm(kube.KubeLabelSelector(match_labels={APP: "web"}), topology_key=ZONE)
    weighted = kube.WeightedPodAffinityTerm(weight=1, pod_affinity_term=term)
    near = kube.Affinity(pod_affinity=kube.KubePodAffinity(preferred=[weighted]))
    guests = [running(f"most-{place}", "most", "1", near) for place in range(10)]
    others = [running("little", "little", "1", near), running("full", "full", "12")]
    compare_batches([*nodes, *guests, *others, *crowd("b", "1", "web")], default_program(), [(0, 12)])


@pytest.mark.parametrize("kind", ["preferred", "required"])
def test_gangs_that_a_term_of_another_pod_selects_are_placed_in_one_step(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    selector = kube.KubeLabelSelector(match_labels={APP: "web"})
    term = kube.PodAffinityTerm(selector, topology_key=ZONE)
    weighted = kube.WeightedPodAffinityTerm(weight=1, pod_affinity_term=term)
    rule = kube.KubePodAffinity(preferred=[weighted]) if kind == "preferred" else kube.KubePodAffinity(required=[term])
    guest = objects.template({"cpu": "1"}, affinity=kube.Affinity(pod_anti_affinity=rule))
    nodes = [
        objects.node(f"n{place:02}", {"cpu": "9", "pods": "99"}, labels={ZONE: "xyz"[place % 3]})
        for place in range(3 * CROWD)
    ]
    found: list[int] = []
    find = NodeSearch.find_nodes

    def counted(search: NodeSearch, task: Task, wanted: int, within: Mask | None = None) -> list[int]:
        rows = find(search, task, wanted, within)
        found.append(len(rows))
        return rows

    monkeypatch.setattr(NodeSearch, "find_nodes", counted)
    session_of([*nodes, *gang("a-guest", 1, guest, "db"), *crowd("b", "1", "web")], default_program()).run()
    assert sum(found) == CROWD + 1
    assert CROWD in found
