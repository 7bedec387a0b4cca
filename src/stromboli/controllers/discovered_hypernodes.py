"""HyperNodes discovered from node labels: a domain for every value, inside the domains of the outer labels.

Equal racks in two zones are two domains. Members are selected by labels, so that a new node of a rack is in its domain
at once. Names depend on the labels alone, so they are stable.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
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
    paths = {tuple(labels.get(key.label) for key in keys) for labels in labels_of_nodes}
    children: dict[Path, set[Path]] = {}
    with_nodes: set[Path] = set()
    for path in paths:
        inner: Path | None = None
        for level in reversed([level for level, value in enumerate(path) if value]):
            domain = path[: level + 1]
            children.setdefault(domain, set())
            if inner is None:
                with_nodes.add(domain)
            else:
                children[domain].add(inner)
            inner = domain
    made = [_hyper_node(path, inside, keys, path in with_nodes) for path, inside in children.items()]
    return sorted(made, key=lambda each: (-(each.spec.tier or 0), each.key))


def _hyper_node(path: Path, inside: Iterable[Path], keys: Sequence[Key], has_nodes: bool) -> KubeHyperNode:
    members = [_domain(name) for name in sorted(_name(each, keys) for each in inside)]
    if has_nodes:
        members.append(HyperNodeMember(type="Node", selector=MemberSelector(label_match=_selector(path, keys))))
    return KubeHyperNode(
        api_version=HYPER_NODES.api_version,
        kind=HYPER_NODES.kind,
        metadata=ObjectMeta(name=_name(path, keys), labels={DISCOVERED_BY: DISCOVERER}),
        spec=HyperNodeSpec(
            tier=len(keys) - len(path) + 1, tier_name=keys[len(path) - 1].tier_name, members=members
        ),
    )  # fmt: skip


def _domain(name: str) -> HyperNodeMember:
    return HyperNodeMember(type="HyperNode", selector=MemberSelector(exact_match=ExactMatch(name=name)))


def _selector(path: Path, keys: Sequence[Key]) -> KubeLabelSelector:
    """Select exactly the nodes of this path: a missing outer label must not exist."""
    labels = {key.label: value for key, value in zip(keys, path, strict=False) if value is not None}
    missing = [key.label for key, value in zip(keys, path, strict=False) if value is None]
    clauses = [KubeRequirement(key=label, operator="DoesNotExist") for label in missing]
    return KubeLabelSelector(match_labels=labels, match_expressions=clauses or None)


def _name(path: Path, keys: Sequence[Key]) -> str:
    """Join the tier and all values where these are valid in a name; otherwise normalize them and append a hash."""
    parts = [keys[len(path) - 1].tier_name, *(_MISSING if value is None else value for value in path)]
    name = ".".join(parts)
    if all(map(_PLAIN.fullmatch, parts)) and _MISSING not in path and len(name) <= _MAX_NAME_LENGTH:
        return name
    digits = hashlib.sha256(msgspec.json.encode((parts[0], path))).hexdigest()[:_DIGITS]
    rest = ".".join(filter(None, (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)))
    return f"{rest[: _MAX_NAME_LENGTH - _DIGITS - 1].rstrip('-.')}-{digits}"
