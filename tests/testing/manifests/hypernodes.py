"""Networks: hypernodes, and the topology constraints of jobs."""

from __future__ import annotations

from typing import Any

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import Manifest, manifest, node

#: Gangs are kept whole, and close together where they request it.
AWARE = configuration("gang", "predicates", "network-topology-aware")

HARD_RACK = {"mode": "hard", "highestTierAllowed": 1}
HARD_BLOCK = {"mode": "hard", "highestTierAllowed": 2}
SOFT = {"mode": "soft"}


def close(name: str, *world: Any, binds: str, conf: str = AWARE, **more: Any) -> Case:
    """A case with network topology."""
    return Case(name, *world, binds=binds, conf=conf, **more)


def policy(name: str, size: int, topology: Manifest | None = None, label: str = "part", minimum: int = 0) -> Manifest:
    """Sub-groups of a size, cut by the values of a label."""
    made: Manifest = {"name": name, "subGroupSize": size, "minSubGroups": minimum, "matchLabelKeys": [label]}
    return {**made, "networkTopology": topology} if topology else made


def hyper_node(name: str, tier: int | None, *members: Manifest, tier_name: str | None = None) -> Manifest:
    spec: Manifest = {"members": list(members)}
    if tier is not None:
        spec["tier"] = tier
    if tier_name:
        spec["tierName"] = tier_name
    return manifest("HyperNode", name, "topology.volcano.sh/v1alpha1", spec=spec)


def named(*names: str, kind: str = "Node") -> list[Manifest]:
    return [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names]


def matching(pattern: str) -> Manifest:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}


def labelled(**labels: str) -> Manifest:
    return {"type": "Node", "selector": {"labelMatch": {"matchLabels": labels}}}


def racks(*groups: str, tier: int = 1) -> list[Manifest]:
    """A rack for each group of letters: rack-0 holds the nodes of the first one."""
    return [hyper_node(f"rack-{number}", tier, *named(*letters)) for number, letters in enumerate(groups)]


def block(name: str, tier: int, *members: str) -> Manifest:
    return hyper_node(name, tier, *named(*members, kind="HyperNode"))


def network(cpu: object, *groups: str) -> list[Manifest]:
    """Nodes of one size in racks: `network(2, "ab", "cd")` has four nodes in two racks."""
    return [*(node(letter, cpu) for letters in groups for letter in letters), *racks(*groups)]


#: Two blocks of two racks of two nodes.
TREE = [
    *network(2, "ab", "cd", "ef", "gh"),
    block("block-0", 2, "rack-0", "rack-1"), block("block-1", 2, "rack-2", "rack-3"),
]  # fmt: skip
