"""Patterns match the same nodes as a check of every name, also nodes that are added later."""

from __future__ import annotations

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.cluster.objects.topology.node_patterns import Names, NodePatterns, is_plain, matching
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.topology import HyperNodeMember, HyperNodeSpec, KubeHyperNode, MemberSelector, RegexMatch
from tests.testing.random_clusters.effort import examples

NAMES = [f"{kind}-{number:02}.{place}" for kind in ("gpu", "a", "ab") for number in range(12) for place in ("x", "yy")]

#: The pattern, and whether it may be matched against all names at once.
PATTERNS = {
    r"^gpu-0[0-3]\.x$": True,
    r"gpu-\d+": True,
    r"^(?:gpu|ab)-1": True,
    r"x$": True,
    r"[^a]{5}": True,
    r"[^0-9]+": True,
    r"^a+.*y": True,
    r"(gpu|nothing)-0[12]": True,
    r".": True,
    r"nothing": True,
    r"x*": False,
    r"^$": False,
    r"\Agpu": False,
    r"yy\z": False,
    r"\bab\b": False,
    r"(?i)GPU": False,
    r"(?s).x": False,
    r"\x67pu": False,
    "ä": False,
}


@pytest.mark.parametrize(("text", "at_once"), PATTERNS.items(), ids=PATTERNS)
def test_pattern_matches(text: str, at_once: bool) -> None:
    pattern = re2.compile(text)
    assert is_plain(pattern) is at_once
    assert sorted(matching(pattern, Names(NAMES))) == sorted(name for name in NAMES if pattern.search(name))


LETTERS = "ab1-"
PIECES = st.sampled_from(["a", "b", "1", "-", ".", "^", "$", "[^a]", "[ab]", "a*", "b+", "(a|1)", "(?:b-)?", r"\d"])


@examples(50)
@given(
    st.lists(PIECES, min_size=1, max_size=5),
    st.sets(st.text(LETTERS, min_size=1, max_size=4), min_size=33, max_size=40),
)
def test_matching_as_lines_equals_matching_one_by_one(pieces: list[str], names: set[str]) -> None:
    pattern = re2.compile("".join(pieces))
    assert set(matching(pattern, Names(names))) == {name for name in names if pattern.search(name)}


def test_added_and_removed_nodes_are_followed() -> None:
    patterns, pattern = NodePatterns(), re2.compile("^a")
    for names, found in (("a b", "a"), ("a b a2", "a a2"), ("b a2", "a2"), ("b a2 c", "a2"), ("a b", "a")):
        index = {name: row for row, name in enumerate(names.split())}
        patterns.begin(index)
        assert sorted(patterns.rows(pattern)) == sorted(index[name] for name in found.split())


def test_unused_pattern_is_dropped() -> None:
    patterns = NodePatterns()
    for wanted in (("^a", "^b"), ("^a",), ("^a",)):
        patterns.begin({"a": 0})
        for text in wanted:
            patterns.rows(re2.compile(text))
    assert list(patterns._found) == ["^a"]


def test_changed_node_facts_are_not_matched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred patterns for five thousand nodes are 2.5 million comparisons."""
    member = HyperNodeMember(type="Node", selector=MemberSelector(regex_match=RegexMatch(pattern="^a")))
    book = HyperNodes()
    book.apply(KubeHyperNode(metadata=ObjectMeta(name="rack"), spec=HyperNodeSpec(tier=1, members=[member])))
    looked_at: list[str] = []

    def counted(pattern: object, among: Names) -> list[str]:
        looked_at.extend(among.names)
        return matching(pattern, among)

    monkeypatch.setattr("stromboli.cluster.objects.topology.node_patterns.matching", counted)
    for names, labels in (("a1 b", {}), ("a1 b", {"zone": "z"}), ("a1 a2 b", {})):
        tree = book.tree(NodeTable(Node(name, labels) for name in names.split()))
        assert len(tree.rows(0)) == names.count("a")
    assert sorted(looked_at) == ["a1", "a2", "b"]
