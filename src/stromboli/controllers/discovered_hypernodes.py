"""HyperNodes discovered from node labels: a domain for every value, inside the domains of the outer labels.

Equal racks in two zones are two domains. A node without the label of its block is in the block of its rack, if other
nodes of the rack name one. Members are selected by labels, so that a new node of a rack is in its domain at once. Names
depend on the labels alone, so they are stable.

Of several topologies, a node is in the first of which it has a label.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from stromboli.controllers.discovery_keys import Key
from stromboli.kube.objects.catalogue import HYPER_NODES
from stromboli.kube.objects.meta import KubeLabelSelector, KubeRequirement, ObjectMeta
from stromboli.kube.objects.topology import ExactMatch, HyperNodeMember, HyperNodeSpec, KubeHyperNode, MemberSelector

#: The label of discovered HyperNodes; all others are written by users.
DISCOVERED_BY = "scheduling.stromboli.dev/discovered-by"
DISCOVERER = "node-labels"

#: The values of labels from the outermost on; None for a missing label.
Path = tuple[str | None, ...]

_PLAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
#: Replaces a missing label.
_MISSING = "none"
_MAX_NAME_LENGTH = 63
_DIGITS = 10


def is_discovered(hyper_node: KubeHyperNode) -> bool:
    return DISCOVERED_BY in (hyper_node.metadata.labels or {})


def as_manifest(hyper_node: KubeHyperNode) -> dict[str, Any]:
    """Return the manifest, without the status."""
    document: dict[str, Any] = msgspec.to_builtins(hyper_node)
    del document["status"]
    return document


def hyper_nodes_of(labels_of_nodes: Iterable[Mapping[str, str]], keys: Sequence[Key]) -> list[KubeHyperNode]:
    """Return the domains of these nodes, outer ones first. An empty label counts as missing."""
    made: list[KubeHyperNode] = []
    others, earlier = list(labels_of_nodes), list[Key]()
    for _, group in groupby(keys, key=lambda key: key.topology):
        topology = _Topology(tuple(group), tuple(earlier))
        made += topology.hyper_nodes(labels for labels in others if topology.applies_to(labels))
        others = [labels for labels in others if not topology.applies_to(labels)]
        earlier += topology.keys
    return sorted(made, key=lambda each: (-(each.spec.tier or 0), each.key))


@dataclass(frozen=True, slots=True)
class _Topology:
    """The labels of one topology, and those of the topologies before it."""

    keys: tuple[Key, ...]
    earlier: tuple[Key, ...]

    def applies_to(self, labels: Mapping[str, str]) -> bool:
        return any(key.label in labels for key in self.keys)

    def hyper_nodes(self, labels_of_nodes: Iterable[Mapping[str, str]]) -> list[KubeHyperNode]:
        written = {tuple(labels.get(key.label) for key in self.keys) for labels in labels_of_nodes}
        children: dict[Path, set[Path]] = {}
        #: By domain, the labels of its nodes as they are written.
        nodes: dict[Path, set[Path]] = {}
        by_value = _by_value(written)
        for path in written:
            completed = _completed(path, by_value)
            inner: Path | None = None
            for level in reversed([level for level, value in enumerate(completed) if value]):
                domain = completed[: level + 1]
                children.setdefault(domain, set()).update(() if inner is None else (inner,))
                if inner is None:
                    nodes.setdefault(domain, set()).add(path[: level + 1])
                inner = domain
        return [self._hyper_node(domain, inside, nodes.get(domain, ())) for domain, inside in children.items()]

    def _hyper_node(self, path: Path, inside: Iterable[Path], nodes: Iterable[Path]) -> KubeHyperNode:
        members = [_domain(name) for name in sorted(_name(each, self.keys) for each in inside)]
        selectors = [MemberSelector(label_match=self._selector(labels)) for labels in sorted(nodes, key=_missing_last)]
        members += [HyperNodeMember(type="Node", selector=selector) for selector in selectors]
        return KubeHyperNode(
            api_version=HYPER_NODES.api_version,
            kind=HYPER_NODES.kind,
            metadata=ObjectMeta(name=_name(path, self.keys), labels={DISCOVERED_BY: DISCOVERER}),
            spec=HyperNodeSpec(
                tier=len(self.keys) - len(path) + 1, tier_name=self.keys[len(path) - 1].tier_name, members=members
            ),
        )  # fmt: skip

    def _selector(self, path: Path) -> KubeLabelSelector:
        """Select exactly the nodes of this path: a missing outer label must not exist."""
        pairs = list(zip(self.keys, path, strict=False))
        labels = {key.label: value for key, value in pairs if value is not None}
        missing = [*self.earlier, *(key for key, value in pairs if value is None)]
        clauses = [KubeRequirement(key=key.label, operator="DoesNotExist") for key in missing]
        return KubeLabelSelector(match_labels=labels, match_expressions=clauses or None)


def _by_value(paths: Iterable[Path]) -> dict[tuple[int, str], list[Path]]:
    """Return the paths by level and value."""
    found: dict[tuple[int, str], list[Path]] = {}
    for path in paths:
        for level, value in enumerate(path):
            if value:
                found.setdefault((level, value), []).append(path)
    return found


def _completed(path: Path, paths: Mapping[tuple[int, str], Sequence[Path]]) -> Path:
    """Return the values with each missing one that other nodes of the next inner domain agree on."""
    values = [value or None for value in path]
    for level, value in enumerate(values):
        inner = next(((deeper, inside) for deeper, inside in enumerate(values) if deeper > level and inside), None)
        if value is None and inner is not None:
            named = {other[level] for other in paths[inner] if other[level] and _shares(other, values[:level])}
            values[level] = named.pop() if len(named) == 1 else None
    return tuple(values)


def _shares(other: Path, outer: Sequence[str | None]) -> bool:
    """Report whether a node has these outer values, as far as they are present."""
    return all(not ours or ours == theirs for ours, theirs in zip(outer, other, strict=False))


def _missing_last(path: Path) -> list[tuple[bool, str]]:
    return [(value is None, value or "") for value in path]


def _domain(name: str) -> HyperNodeMember:
    return HyperNodeMember(type="HyperNode", selector=MemberSelector(exact_match=ExactMatch(name=name)))


def _name(path: Path, keys: Sequence[Key]) -> str:
    """Join the tier and all values where these are valid in a name; otherwise normalize them and append a hash."""
    parts = [keys[len(path) - 1].tier_name, *(_MISSING if value is None else value for value in path)]
    name = ".".join(parts)
    if all(map(_PLAIN.fullmatch, parts)) and _MISSING not in path and len(name) <= _MAX_NAME_LENGTH:
        return name
    digits = hashlib.sha256(msgspec.json.encode((parts[0], path))).hexdigest()[:_DIGITS]
    rest = ".".join(filter(None, (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)))
    return f"{rest[: _MAX_NAME_LENGTH - _DIGITS - 1].rstrip('-.')}-{digits}"
