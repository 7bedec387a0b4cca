"""HyperNodes: the tree of domains.

An error in one object affects only that object: an invalid member is ignored and reported on it. A domain has at most
one parent, of a higher tier; a second parent does not get the member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import re2  # type: ignore[import-untyped]

from stromboli.cluster.objects.pods.constraints import selector_of
from stromboli.cluster.objects.topology.node_patterns import NodePatterns
from stromboli.core.model.nodes.table import NodeTable
from stromboli.core.model.tasks.selectors import LabelSelector as Selector
from stromboli.core.model.tasks.selectors import Requirement
from stromboli.core.model.topology.hypernodes import TOP, HyperNode, HyperNodeTree
from stromboli.core.model.values.patterns import MAX_PATTERN_LENGTH, compiled
from stromboli.kube.objects.meta import KubeLabelSelector
from stromboli.kube.objects.topology import ExactMatch, HyperNodeMember, KubeHyperNode, MemberSelector, RegexMatch


class HyperNodes:
    """All HyperNodes, and the tree that they form over the nodes."""

    def __init__(self) -> None:
        self._objects: dict[str, KubeHyperNode] = {}
        self._table: NodeTable | None = None
        self._patterns = NodePatterns()
        self._domains: Sequence[HyperNode] = ()
        self._tree = HyperNodeTree(0)
        #: By name, the errors of an object.
        self.faults: Mapping[str, tuple[str, ...]] = {}

    def apply(self, hyper_node: KubeHyperNode) -> None:
        known = self._objects.get(hyper_node.key)
        self._objects[hyper_node.key] = hyper_node
        if known is None or known.spec != hyper_node.spec:
            self._table = None

    def remove(self, hyper_node: KubeHyperNode) -> None:
        if self._objects.pop(hyper_node.key, None) is not None:
            self._table = None

    def objects(self) -> list[KubeHyperNode]:
        return list(self._objects.values())

    def tree(self, table: NodeTable) -> HyperNodeTree:
        """The tree over these nodes. It is checked when an object or node facts have changed, and replaced only if it
        differs.
        """
        if table is not self._table:
            self._patterns.begin(table.index)
            builder = _TreeBuilder(self._objects, table, self._patterns)
            domains = builder.domains()
            if domains != self._domains or len(table) != self._tree.nodes:
                self._domains, self._tree = domains, HyperNodeTree(len(table), domains)
            self.faults, self._table = builder.faults(self._tree), table
        return self._tree

    def warnings(self) -> list[str]:
        return [f"HyperNode {name}: {fault}" for name, faults in sorted(self.faults.items()) for fault in faults]


class _TreeBuilder:
    """One evaluation of all objects."""

    def __init__(self, objects: Mapping[str, KubeHyperNode], table: NodeTable, patterns: NodePatterns) -> None:
        self._objects = objects
        self._table = table
        self._patterns = patterns
        self._faults: dict[str, list[str]] = {}
        self._parents: dict[str, str] = {}
        self._rows: dict[str, set[int]] = {}
        #: By label and value, the rows of the nodes that have it.
        self._by_label: dict[str, dict[str | None, list[int]]] = {}

    def faults(self, tree: HyperNodeTree) -> dict[str, tuple[str, ...]]:
        """Errors of the objects that this tree was built from."""
        for each in tree.hyper_nodes[: tree.top]:
            if not len(tree.rows(tree.index[each.name])):
                self._report(each.name, "no node is in it; nothing is placed there")
        return {name: tuple(faults) for name, faults in self._faults.items()}

    def domains(self) -> Sequence[HyperNode]:
        valid = [name for name in sorted(self._objects) if self._is_valid(name)]
        for name in valid:
            self._read_members(name)
        self._check_tier_names(valid)
        return [
            HyperNode(
                name=name,
                tier=self._tier(name),
                tier_name=self._objects[name].spec.tier_name or "",
                parent=self._parents.get(name, ""),
                rows=tuple(sorted(self._rows.get(name, ()))),
            )
            for name in valid
        ]

    def _report(self, name: str, fault: str) -> None:
        self._faults.setdefault(name, []).append(fault)

    def _tier(self, name: str) -> int:
        return self._objects[name].spec.tier or 0

    def _is_valid(self, name: str) -> bool:
        fault = fault_of(self._objects[name])
        if fault:
            self._report(name, f"{fault}; the domain is left out")
        return not fault

    def _check_tier_names(self, names: list[str]) -> None:
        """A tier name stands for one tier: that of the first domain that uses it."""
        tiers: dict[str, tuple[int, str]] = {}
        for name in names:
            tier_name = self._objects[name].spec.tier_name
            if tier_name:
                tier, first = tiers.setdefault(tier_name, (self._tier(name), name))
                if tier != self._tier(name):
                    message = (
                        f"spec.tierName {tier_name!r} is that of tier {tier} at {first}, not of {self._tier(name)}"
                    )
                    self._report(name, message)

    # -- members ------------------------------------------------------------------------------------------------

    def _read_members(self, name: str) -> None:
        for place, member in enumerate(self._objects[name].spec.members or ()):
            field = f"spec.members[{place}]"
            try:
                chosen = chosen_by(member)
                if isinstance(chosen, str):
                    self._adopt(name, chosen)
                else:
                    self._rows.setdefault(name, set()).update(self._nodes(chosen))
            except ValueError as error:
                self._report(name, f"{field}{error}; the member is left out")

    def _nodes(self, chosen: ExactMatch | Selector | re2._Regexp) -> list[int]:
        if isinstance(chosen, ExactMatch):
            row = self._table.index.get(chosen.name or "")
            if row is None:
                raise ValueError(f".selector.exactMatch.name: there is no node {chosen.name or ''!r}")
            return [row]
        if not isinstance(chosen, Selector):
            return self._patterns.rows(chosen)
        # check only nodes that have one of the required values
        wanted = [requirement for requirement in chosen.requirements if requirement.operator == "In"]
        candidates = min((self._having(each) for each in wanted), key=len, default=range(len(self._table)))
        return [row for row in candidates if chosen.matches(self._table.nodes[row].labels)]

    def _having(self, requirement: Requirement) -> Sequence[int]:
        rows = self._by_label.get(requirement.key)
        if rows is None:
            rows = self._by_label[requirement.key] = {}
            for row, node in enumerate(self._table.nodes):
                rows.setdefault(node.labels.get(requirement.key), []).append(row)
        return [row for value in set(requirement.values) for row in rows.get(value, ())]

    def _adopt(self, parent: str, child: str) -> None:
        if child not in self._objects:
            raise ValueError(f".selector.exactMatch.name: there is no HyperNode {child!r} yet")
        if child == parent or self._tier(child) >= self._tier(parent):
            message = f"{child} is of tier {self._tier(child)}, which is not below tier {self._tier(parent)}"
            raise ValueError(f".selector.exactMatch.name: {message}")
        owner = self._parents.setdefault(child, parent)
        if owner != parent:
            raise ValueError(f".selector.exactMatch.name: {child} is a member of {owner} already")


def fault_of(hyper_node: KubeHyperNode) -> str:
    """Return the faults of an object regardless of its members; empty for nothing."""
    if hyper_node.metadata.name == TOP:
        return "metadata.name: this name is the cluster's own; choose another"
    tier = hyper_node.spec.tier
    if tier is None or tier < 0:
        return "spec.tier: must be a number that is not negative; write 0 or more"
    return ""


def chosen_by(member: HyperNodeMember) -> str | ExactMatch | Selector | re2._Regexp:
    """The selected member: the name of a HyperNode, or nodes by name, labels or pattern. Raises ValueError, with the
    field of the member in front, for an invalid selector.
    """
    if member.type not in ("Node", "HyperNode"):
        raise ValueError(f".type: {member.type!r} is not known; write Node or HyperNode")
    choice = _only_choice(member.selector)
    if member.type == "HyperNode":
        if not isinstance(choice, ExactMatch):
            raise ValueError(".selector: a member of type HyperNode is chosen by exactMatch alone")
        return choice.name or ""
    match choice:
        case RegexMatch(pattern=pattern):
            return _compiled(pattern or "")
        case KubeLabelSelector() as labels:
            return selector_of(labels, ".selector.labelMatch")
    return choice


def _only_choice(selector: MemberSelector | None) -> ExactMatch | RegexMatch | KubeLabelSelector:
    """The one selector that is set."""
    ways = (selector.exact_match, selector.regex_match, selector.label_match) if selector else ()
    present = [way for way in ways if way is not None]
    if len(present) != 1:
        raise ValueError(".selector: exactly one of exactMatch, regexMatch and labelMatch is needed")
    return present[0]


def _compiled(pattern: str) -> re2._Regexp:
    if not 0 < len(pattern) <= MAX_PATTERN_LENGTH:
        raise ValueError(f".selector.regexMatch.pattern: needs between 1 and {MAX_PATTERN_LENGTH} characters")
    try:
        return compiled(pattern)
    except ValueError as error:
        raise ValueError(f".selector.regexMatch.pattern: {error}") from None
