"""HyperNodes: nested parts of the network with fast connections between their nodes.

A tree: the lower the tier, the closer the nodes; the whole cluster is the root. Sums over the nodes of all domains are
computed at once: the nodes of all domains are one long row, domain after domain.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stromboli.core.model.nodes.amounts import Amount
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.topology.sites import Sites

#: Volcano's name of the domain that holds all nodes.
TOP = "<cluster-top-hypernode>"
#: Prefix of the name of a network that is defined by node labels in the PodGroup; names of objects have no colon.
BY_LABELS = "labels:"


@dataclass(frozen=True, slots=True)
class HyperNode:
    """One domain, with its resolved members."""

    name: str
    tier: int
    tier_name: str = ""
    #: The enclosing domain; empty for the cluster.
    parent: str = ""
    #: Rows of the nodes that it lists itself.
    rows: tuple[int, ...] = ()


class HyperNodeTree:
    """The domains of a cluster, identified by index: low tiers first, the whole cluster last.

    The caller ensures that parents are of higher tiers than their members.
    """

    def __init__(self, nodes: int, hyper_nodes: Iterable[HyperNode] = (), tier_names: Sequence[str] = ()) -> None:
        """Tiers from 1 on may have names before any domain exists; the cluster is above them."""
        ordered = sorted(hyper_nodes, key=lambda each: (each.tier, each.name))
        top = HyperNode(TOP, max((each.tier for each in ordered), default=len(tier_names)) + 1)
        self.nodes = nodes
        self.hyper_nodes: Sequence[HyperNode] = (*ordered, top)
        self.top = len(ordered)
        self.index: Mapping[str, int] = {each.name: place for place, each in enumerate(self.hyper_nodes)}
        self.tiers: Sequence[int] = [each.tier for each in self.hyper_nodes]
        self.tier_names: Mapping[str, int] = {name: tier for tier, name in enumerate(tier_names, 1)} | {
            each.tier_name: each.tier for each in ordered if each.tier_name
        }
        #: For each domain, itself and its ancestors, nearest first.
        self.around: Sequence[Sequence[int]] = self._chains()
        self._parts: dict[int, list[int]] = {}
        for place, chain in enumerate(self.around[: self.top]):
            self._parts.setdefault(chain[1], []).append(place)
        self._rows = self._nodes_of_all()
        self._members = np.concatenate(self._rows)
        self._ends = np.cumsum([0, *(len(rows) for rows in self._rows)])
        self._masks: dict[int, Mask] = {}
        #: For each node, the lowest domain that contains it.
        self.lowest: Index = self._closest()

    def _chains(self) -> list[list[int]]:
        chains: list[list[int]] = [[]] * len(self.hyper_nodes)
        chains[self.top] = [self.top]
        for place in range(self.top - 1, -1, -1):  # parents come later, so their chains are complete
            parent = self.index.get(self.hyper_nodes[place].parent, self.top)
            chains[place] = [place, *chains[parent]]
        return chains

    def _nodes_of_all(self) -> list[Index]:
        below: list[set[int]] = [set(each.rows) for each in self.hyper_nodes]
        for place, chain in enumerate(self.around[: self.top]):
            below[chain[1]] |= below[place]
        below[self.top] = set(range(self.nodes))
        return [np.array(sorted(rows), dtype=np.int64) for rows in below]

    def _closest(self) -> Index:
        lowest = np.full(self.nodes, self.top, dtype=np.int64)
        for place in range(self.top - 1, -1, -1):
            lowest[self._rows[place]] = place
        return lowest

    @cached_property
    def domains_of(self) -> Sequence[Sequence[int]]:
        """For each node, all domains that contain it: its lowest one and the ancestors, unless it is in two unrelated
        domains.
        """
        chains = [self.around[place] for place in self.lowest.tolist()]
        if sum(len(chain) for chain in chains) == len(self._members):
            return chains
        found: list[list[int]] = [[] for _ in range(self.nodes)]
        for place, rows in enumerate(self._rows):
            for row in rows.tolist():
                found[row].append(place)
        return found

    def __bool__(self) -> bool:
        """Report whether there is any domain besides the cluster."""
        return self.top > 0

    def name(self, place: int) -> str:
        return self.hyper_nodes[place].name

    def rows(self, place: int) -> Index:
        """Return the nodes of a domain, including those of nested domains."""
        return self._rows[place]

    def inside(self, place: int) -> Mask:
        """Return the nodes of a domain as a mask over all nodes."""
        known = self._masks.get(place)
        if known is None:
            known = self._masks[place] = np.zeros(self.nodes, dtype=np.bool_)
            known[self._rows[place]] = True
        return known

    def at_tier(self, tier: int) -> Index:
        """For each node, its domain of this tier; -1 for none."""
        found = np.full(self.nodes, -1, dtype=np.int64)
        for place in range(self.top - 1, -1, -1):
            if self.tiers[place] == tier:
                found[self._rows[place]] = place
        return found

    @cached_property
    def sites(self) -> Sites:
        """The nodes by their domains."""
        tiers = sorted(set(self.tiers[: self.top]))
        return Sites(self.domains_of, {tier: self.at_tier(tier) for tier in tiers})

    def parts(self, place: int) -> Sequence[int]:
        """Return the direct children of a domain."""
        return self._parts.get(place, ())

    def within(self, place: int) -> list[int]:
        """Return the domain and its descendants, low tiers first."""
        return [each for each, chain in enumerate(self.around) if place in chain]

    def common(self, places: Iterable[int]) -> int:
        """Return the smallest domain that encloses all of these; the cluster if there are none."""
        chains = [self.around[place] for place in set(places)]
        return min(set(chains[0]).intersection(*chains[1:])) if chains else self.top

    def around_nodes(self, rows: Iterable[int]) -> int:
        """Return the smallest domain that contains all of these nodes."""
        return self.common(int(self.lowest[row]) for row in rows)

    def sums(self, amounts: Amount) -> Amount:
        """Sum amounts over the nodes of each domain."""
        running = np.concatenate(([0], amounts[self._members].cumsum()))
        sums: Amount = running[self._ends[1:]] - running[self._ends[:-1]]
        return sums
