"""Members by labels: the index finds exactly the matching nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stromboli.cluster.objects.pods.constraints import selector_of
from stromboli.cluster.objects.topology.hypernodes import HyperNodes
from stromboli.core.model.nodes.table import Node, NodeTable
from stromboli.kube.objects.meta import KubeLabelSelector, KubeRequirement, ObjectMeta
from stromboli.kube.objects.topology import HyperNodeMember, HyperNodeSpec, KubeHyperNode, MemberSelector

KEYS, VALUES = st.sampled_from("kl"), st.sampled_from("vw")
LABELS = st.dictionaries(KEYS, VALUES)
CLAUSES = st.one_of(
    st.builds(
        KubeRequirement,
        key=KEYS,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(VALUES, min_size=1, max_size=3),
    ),
    st.builds(KubeRequirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.builds(KubeLabelSelector, match_labels=LABELS, match_expressions=st.lists(CLAUSES, max_size=2))


@given(st.lists(LABELS, min_size=1, max_size=6), SELECTORS)
def test_exactly_matching_nodes_are_members(labels: list[dict[str, str]], selector: KubeLabelSelector) -> None:
    book, table = HyperNodes(), NodeTable(Node(str(place), given) for place, given in enumerate(labels))
    member = HyperNodeMember(type="Node", selector=MemberSelector(label_match=selector))
    book.apply(KubeHyperNode(metadata=ObjectMeta(name="rack"), spec=HyperNodeSpec(tier=1, members=[member])))
    tree = book.tree(table)
    matching = selector_of(selector, "")
    expected = [row for row, node in enumerate(table.nodes) if matching.matches(node.labels)]
    assert tree.rows(tree.index["rack"]).tolist() == expected
