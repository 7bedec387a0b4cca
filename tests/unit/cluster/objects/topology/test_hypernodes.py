"""The tree of HyperNodes follows objects and nodes, in any order of events."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.audit.auditor import audit
from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.kinds import KubeObject
from tests.testing.cases.case import objects
from tests.testing.manifests.builders import Manifest, node
from tests.testing.manifests.hypernodes import block, hyper_node, labelled, matching, named
from tests.testing.random_clusters.effort import examples

#: Versions of each object; the last one is invalid.
VARIANTS: dict[str, list[Manifest]] = {
    **{name: [node(name, 2, labels={"rack": rack}) for rack in ("r0", "r1", "")] for name in ("a1", "a2", "b1")},
    "one": [hyper_node("one", 1, *named("a1", "b1")), hyper_node("one", 1, matching("^a")), hyper_node("one", -1)],
    "two": [hyper_node("two", 1, labelled(rack="r1")), hyper_node("two", 2, matching("1$")), block("two", 1, "two")],
    "all": [block("all", 2, "one", "two"), block("all", 3, "two"), block("all", 2, "one", "all")],
    "rest": [block("rest", 4, "all"), block("rest", 3, "one"), hyper_node("rest", 1, matching("("))],
}


def domains_of(cluster: Cluster) -> object:
    """Every domain with its nodes and ancestors, and the errors of objects."""
    snapshot = cluster.snapshot()
    tree, names = snapshot.hyper_nodes, snapshot.nodes.names
    domains = {
        tree.name(place): (
            tree.tiers[place],
            sorted(names[row] for row in tree.rows(place)),
            [tree.name(other) for other in tree.around[place]],
        )
        for place in range(tree.top + 1)
    }
    return domains, list(snapshot.warnings)


def one(document: Manifest) -> KubeObject:
    return objects([document])[0]


def cluster_of(documents: Sequence[Manifest]) -> Cluster:
    cluster = Cluster()
    for entry in objects(documents):
        cluster.apply(entry)
    return cluster


#: The object, its new version (None when it is removed), and whether a snapshot is taken then.
EVENTS = st.lists(
    st.tuples(st.sampled_from(sorted(VARIANTS)), st.none() | st.integers(0, 2), st.booleans()), max_size=20
)


@examples(150)
@given(EVENTS)
def test_tree_matches_remaining_objects(events: list[tuple[str, int | None, bool]]) -> None:
    cluster = Cluster()
    left: dict[str, Manifest] = {}
    for name, variant, is_looked_at in events:
        before = left.pop(name, None)
        if variant is not None:
            left[name] = VARIANTS[name][variant]
            cluster.apply(one(left[name]))
        elif before is not None:
            cluster.remove(one(before))
        if is_looked_at:
            cluster.snapshot()
    assert domains_of(cluster) == domains_of(cluster_of(list(left.values())))
    assert audit(cluster) == []


def test_irrelevant_change_keeps_the_tree() -> None:
    rack = {"rack": "r0"}
    cluster = cluster_of([node("a", 2, labels=rack), hyper_node("one", 1, labelled(**rack))])
    before = cluster.snapshot().hyper_nodes
    cluster.apply(one(node("a", 2, labels={**rack, "zone": "z"}, taints=["x=y:NoSchedule"])))
    assert cluster.snapshot().hyper_nodes is before
    cluster.apply(one(node("a", 2, labels={"rack": "r1"})))
    assert cluster.snapshot().hyper_nodes is not before
