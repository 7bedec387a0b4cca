"""Sites: nodes with the same domain in every tier."""

from __future__ import annotations

import pytest

from stromboli.core.model.topology.hypernodes import HyperNode, HyperNodeTree

RACKS = [HyperNode("rack-a", 1, parent="block", rows=(0, 1)), HyperNode("rack-b", 1, parent="block", rows=(2,))]
BLOCK = HyperNode("block", 2, rows=(3,))
TREES = {
    "no domain": HyperNodeTree(3),
    "no node": HyperNodeTree(0, [HyperNode("empty", 1)]),
    "racks in a block, a node in the block alone, a node in none": HyperNodeTree(5, [*RACKS, BLOCK]),
    "overlapping racks": HyperNodeTree(3, [HyperNode("x", 1, rows=(0, 1)), HyperNode("y", 1, rows=(1, 2))]),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_sites_state_the_domain_of_every_node_in_every_tier(tree: HyperNodeTree) -> None:
    sites = tree.sites
    for tier, domains in zip(sites.tiers, sites.domains, strict=True):
        assert domains[sites.of_node].tolist() == tree.at_tier(tier).tolist()


def test_nodes_of_one_rack_share_a_site() -> None:
    sites = TREES["racks in a block, a node in the block alone, a node in none"].sites
    assert len(set(sites.of_node.tolist())) == 4
    assert sites.of_node[0] == sites.of_node[1]
