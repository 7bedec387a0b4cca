"""HyperNodes from labels: every node is where its labels say, under names that stay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.controllers.discovered_hypernodes import DISCOVERED_BY, as_manifest, hyper_nodes_of
from stromboli.controllers.discovery_changes import changes_to
from stromboli.controllers.discovery_keys import DEFAULT_KEYS, DiscoveryKeyError, Key, parse_keys
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.core.model.topology.hypernodes import HyperNodeTree
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.topology import KubeHyperNode

KEYS = (Key("zone", "zone"), Key("block", "block"), Key("rack", "rack"))


def tree_of(nodes: Mapping[str, Mapping[str, str]], keys: Sequence[Key] = KEYS) -> HyperNodeTree:
    """The tree that a scheduler makes of what is discovered; there is nothing wrong with it."""
    book = HyperNodes()
    for hyper_node in hyper_nodes_of(nodes.values(), keys):
        book.apply(hyper_node)
    tree = book.tree(NodeTable(Node(name, labels) for name, labels in nodes.items()))
    assert not book.faults
    return tree


def chain(tree: HyperNodeTree, nodes: Mapping[str, Mapping[str, str]], node: str) -> list[str]:
    """The domains around a node, the outermost first, without the cluster."""
    row = sorted(nodes).index(node)
    return [tree.name(place) for place in reversed(tree.around[int(tree.lowest[row])]) if place != tree.top]


FULL = {"zone": "eu-1", "block": "b0", "rack": "r0"}
CASES = [
    pytest.param({"a": FULL}, "a", ["zone.eu-1", "block.eu-1.b0", "rack.eu-1.b0.r0"], id="all labels"),
    pytest.param({"a": {"zone": "eu-1"}}, "a", ["zone.eu-1"], id="the outermost alone"),
    pytest.param({"a": FULL, "b": {"zone": "eu-1"}}, "b", ["zone.eu-1"], id="beside domains further in"),
    pytest.param({"a": FULL, "b": {**FULL, "zone": "eu-2"}}, "b", ["zone.eu-2", "block.eu-2.b0", "rack.eu-2.b0.r0"],
                 id="the same rack in another zone is another one"),
    pytest.param({"a": {"zone": "a", "rack": "r0"}}, "a", ["zone.a", "rack.a.none.r0"],
                 id="a label between is missing"),
    pytest.param({"a": FULL, "b": {"zone": "eu-1", "rack": "r0"}}, "b",
                 ["zone.eu-1", "block.eu-1.b0", "rack.eu-1.b0.r0"], id="the block of its rack"),
    pytest.param({"a": FULL, "b": {**FULL, "block": ""}}, "b",
                 ["zone.eu-1", "block.eu-1.b0", "rack.eu-1.b0.r0"], id="an empty block"),
    pytest.param({"a": FULL, "b": {"rack": "r0"}}, "b",
                 ["zone.eu-1", "block.eu-1.b0", "rack.eu-1.b0.r0"], id="zone and block of its rack"),
    pytest.param({"a": FULL, "b": {"block": "b0"}}, "b", ["zone.eu-1", "block.eu-1.b0"], id="the zone of its block"),
    pytest.param({"a": FULL, "b": {"zone": "eu-2", "rack": "r0"}}, "b", ["zone.eu-2", "rack.eu-2.none.r0"],
                 id="the rack of another zone names no block"),
    pytest.param({"a": FULL, "c": {**FULL, "block": "b1"}, "b": {"zone": "eu-1", "rack": "r0"}}, "b",
                 ["zone.eu-1", "rack.eu-1.none.r0"], id="two blocks have such a rack"),
    pytest.param({"a": FULL, "b": {}}, "b", [], id="no label at all"),
    pytest.param({"a": FULL, "b": {**FULL, "rack": ""}}, "b", ["zone.eu-1", "block.eu-1.b0"], id="an empty label"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "node", "expected"), CASES)
def test_where_a_node_is(nodes: dict[str, dict[str, str]], node: str, expected: list[str]) -> None:
    assert chain(tree_of(nodes), nodes, node) == expected


def test_tiers_and_their_names() -> None:
    made = {each.key: each.spec for each in hyper_nodes_of([FULL], KEYS)}
    assert {name: (spec.tier, spec.tier_name) for name, spec in made.items()} == {
        "zone.eu-1": (3, "zone"), "block.eu-1.b0": (2, "block"), "rack.eu-1.b0.r0": (1, "rack"),
    }  # fmt: skip


def test_an_object_as_people_write_it() -> None:
    assert as_manifest(hyper_nodes_of([{"zone": "a"}], KEYS[:1])[0]) == {
        "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode",
        "metadata": {"name": "zone.a", "labels": {DISCOVERED_BY: "node-labels"}},
        "spec": {
            "tier": 1, "tierName": "zone",
            "members": [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {"zone": "a"}}}}],
        },
    }  # fmt: skip


VALUES = st.sampled_from([None, "", "none", "a", "A", "a.b", "a_b", "a-b", "b", "x" * 63])
NODES = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(VALUES, VALUES, VALUES), min_size=1)
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@given(NODES)
def test_every_node_is_where_its_labels_say(drawn: dict[str, tuple[str | None, ...]]) -> None:
    nodes = {
        name: {key.label: value for key, value in zip(KEYS, values, strict=True) if value is not None}
        for name, values in drawn.items()
    }
    tree = tree_of(nodes)
    names = sorted(nodes)
    for node, values in drawn.items():
        found = chain(tree, nodes, node)
        tiers = [tree.hyper_nodes[tree.index[name]].tier_name for name in found]
        labelled = [key.tier_name for key, value in zip(KEYS, values, strict=True) if value]
        assert set(labelled) <= set(tiers), "a missing block is that of the rack, if there is one"
        assert tiers[-1:] == labelled[-1:]
        for name, tier in zip(found, tiers, strict=True):
            depth = [key.tier_name for key in KEYS].index(tier) + 1
            inside = {names[row] for row in tree.rows(tree.index[name]).tolist()}
            for other, theirs in drawn.items():
                if [value or None for value in values] == [value or None for value in theirs]:
                    assert other in inside, "equal labels, equal domain"
                elif any(a and b and a != b for a, b in zip(values[:depth], theirs, strict=False)):
                    assert other not in inside, "no domain has two values of one label"
    for hyper_node in tree.hyper_nodes[:-1]:
        assert NAME.fullmatch(hyper_node.name)
        assert len(hyper_node.name) <= 63


@given(NODES)
def test_the_order_of_nodes_does_not_matter(drawn: dict[str, tuple[str | None, ...]]) -> None:
    nodes = [
        {key.label: value for key, value in zip(KEYS, values, strict=True) if value is not None}
        for values in drawn.values()
    ]
    assert hyper_nodes_of(reversed(nodes), KEYS) == hyper_nodes_of(nodes, KEYS)


@given(NODES)
def test_rack_of_one_block_is_one_domain(drawn: dict[str, tuple[str | None, ...]]) -> None:
    nodes = {
        name: {key.label: value for key, value in zip(KEYS, values, strict=True) if value is not None}
        for name, values in drawn.items()
    }
    tree = tree_of(nodes)
    for zone, _, rack in drawn.values():
        inside = [name for name, values in drawn.items() if zone and rack and (values[0], values[2]) == (zone, rack)]
        if len({drawn[name][1] for name in inside if drawn[name][1]}) == 1:
            assert len({chain(tree, nodes, name)[-1] for name in inside}) == 1


# -- several topologies -------------------------------------------------------------------------------------------

TWO = parse_keys("zone=zone,rack=rack:pod=pod,slice=slice")
OF_TOPOLOGIES = {
    "of the first": ({"zone": "a", "rack": "r0"}, ["zone.a", "rack.a.r0"]),
    "of the second": ({"pod": "p0", "slice": "s0"}, ["pod.p0", "slice.p0.s0"]),
    "of both": ({"zone": "a", "rack": "r0", "pod": "p0", "slice": "s0"}, ["zone.a", "rack.a.r0"]),
    "partly of the first": ({"zone": "a", "slice": "s0"}, ["zone.a"]),
    "of none": ({"other": "x"}, []),
}


@pytest.mark.parametrize(("labels", "expected"), OF_TOPOLOGIES.values(), ids=OF_TOPOLOGIES)
def test_node_is_in_the_first_topology_of_which_it_has_a_label(labels: dict[str, str], expected: list[str]) -> None:
    nodes = {"node": labels, "first": {"zone": "a", "rack": "r0"}, "second": {"pod": "p0", "slice": "s0"}}
    assert chain(tree_of(nodes, TWO), nodes, "node") == expected


def test_tiers_of_each_topology_begin_at_one() -> None:
    made = hyper_nodes_of([{"zone": "a"}, {"pod": "p", "slice": "s"}], parse_keys("zone=zone:pod=pod,slice=slice"))
    assert {each.key: each.spec.tier for each in made} == {"zone.a": 1, "pod.p": 2, "slice.p.s": 1}


# -- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DEFAULT_KEYS, ["zone=topology.kubernetes.io/zone", "block=stromboli.dev/block", "rack=stromboli.dev/rack"]),
        ("region, host", ["region=topology.kubernetes.io/region", "host=kubernetes.io/hostname"]),
        ("example.com/spine,leaf=switch", ["spine=example.com/spine", "leaf=switch"]),
        ("rack=rack", ["rack=rack"]),
        ("rack=rack:pod", ["rack=rack", "pod=pod"]),
    ],
)
def test_keys(text: str, expected: list[str]) -> None:
    assert [f"{key.tier_name}={key.label}" for key in parse_keys(text)] == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is no label"),
        ("zone,", "'' is no label"),
        ("zone:", "'' is no label"),
        ("zone,rack:zone,pod", "the label topology.kubernetes.io/zone is there twice; name it once"),
        ("a b", "'a b' is no label"),
        ("Example.com/rack", "'Example.com/rack' is no label"),
        ("=rack", "'=rack' is no label"),
        ("x" * 64, "is no label"),
        ("zone,zone", "the label topology.kubernetes.io/zone is there twice; name it once"),
        ("a.com/rack,b.com/rack", "the tier rack is there twice; give one of them another name: NAME=b.com/rack"),
    ],
)
def test_keys_that_cannot_be_used(text: str, problem: str) -> None:
    with pytest.raises(DiscoveryKeyError, match=re.escape(problem)):
        parse_keys(text)


# -- what has to be done ------------------------------------------------------------------------------------------


def test_what_is_there_is_compared_with_what_is_wanted() -> None:
    """The rack is as it should be, one block is of people, another is wrong, and a third is wanted no more."""
    found = hyper_nodes_of([FULL, {**FULL, "block": "b1"}], KEYS)
    zone, mine, wrong, *racks = found
    theirs = msgspec.structs.replace(mine, metadata=ObjectMeta(name=mine.key))
    outdated = msgspec.structs.replace(wrong, spec=msgspec.structs.replace(wrong.spec, tier=7))
    gone = msgspec.structs.replace(zone, metadata=msgspec.structs.replace(zone.metadata, name="zone.gone"))
    unrelated = KubeHyperNode(metadata=ObjectMeta(name="written"))
    changes = changes_to([theirs, outdated, gone, unrelated, racks[0]], found)
    assert changes.wanted == (zone, wrong, *racks)
    assert changes.made == (zone, *racks[1:])
    assert (changes.changed, changes.removed, changes.same) == ((outdated,), (gone,), (racks[0],))
    assert changes.taken == (mine.key,)
