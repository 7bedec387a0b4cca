"""The rules once more, one node and one pod at a time, written to be read next to the text of Kubernetes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from stromboli.core.model.nodes.table import Node, Taint
from stromboli.core.model.tasks.pod_terms import PodTerm
from stromboli.core.model.tasks.task_class import SpreadConstraint, Toleration
from tests.unit.core.plugins.rule_cluster import NAMESPACE, Kind, World


def pods(world: World) -> Iterator[tuple[Kind, Node]]:
    by_name = {node.name: node for node in world.nodes.nodes}
    return ((each, by_name[name]) for each, name in world.placed)


def matches(term: PodTerm, each: Kind) -> bool:
    return term.matches(NAMESPACE, each.labels)


def together(one: Node, other: Node, key: str) -> bool:
    return key in one.labels and one.labels.get(key) == other.labels.get(key)


def required_affinity(world: World, each: Kind) -> list[bool]:
    """Pods that match all terms together must stand in the node's domain of every term."""
    terms = each.fact("affinity")
    friends = [node for pod, node in pods(world) if all(matches(term.term, pod) for term in terms)]
    no_match = not any(term.topology_key in node.labels for node in friends for term in terms)
    is_first = no_match and all(matches(term.term, each) for term in terms)

    def accepts(node: Node) -> bool:
        if not all(term.topology_key in node.labels for term in terms):
            return False
        return is_first or all(any(together(node, at, term.topology_key) for at in friends) for term in terms)

    return [accepts(node) for node in world.nodes.nodes]


def anti_affinity(world: World, each: Kind) -> list[bool]:
    def refuses(node: Node) -> bool:
        return any(
            matches(term.term, pod) and together(node, at, term.topology_key)
            for pod, at in pods(world)
            for term in each.fact("anti_affinity")
        )

    return [not refuses(node) for node in world.nodes.nodes]


def existing_anti_affinity(world: World, each: Kind) -> list[bool]:
    def refuses(node: Node) -> bool:
        return any(
            matches(term.term, each) and together(node, at, term.topology_key)
            for pod, at in pods(world)
            for term in pod.fact("anti_affinity")
        )

    return [not refuses(node) for node in world.nodes.nodes]


def tolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Only for tolerations of a key with Exists, which is all that the random worlds have."""
    return all(taint.effect == "PreferNoSchedule" or taint.key in {t.key for t in tolerations} for taint in taints)


def counts_for(node: Node, each: Kind, constraint: SpreadConstraint, together_with: Sequence[SpreadConstraint]) -> bool:
    """Whether a node takes part in the comparison of a constraint."""
    if not all(other.topology_key in node.labels for other in together_with):
        return False
    selected = all(node.labels.get(key) == value for key, value in each.fact("node_selector"))
    if constraint.honor_node_affinity and not selected:
        return False
    return not constraint.honor_node_taints or tolerated(node.taints, each.fact("tolerations"))


def counted(
    world: World, each: Kind, constraint: SpreadConstraint, group: Sequence[SpreadConstraint]
) -> dict[str, int]:
    """Matching pods by domain, for the domains that are compared."""
    totals = {
        node.labels[constraint.topology_key]: 0
        for node in world.nodes.nodes
        if counts_for(node, each, constraint, group)
    }
    for pod, node in pods(world):
        if matches(constraint.term, pod) and counts_for(node, each, constraint, group):
            totals[node.labels[constraint.topology_key]] += 1
    return totals


def hard_spread(world: World, each: Kind) -> list[bool]:
    hard = [constraint for constraint in each.fact("spread") if constraint.hard]

    def accepts(node: Node, constraint: SpreadConstraint) -> bool:
        if constraint.topology_key not in node.labels:
            return False
        totals = counted(world, each, constraint, hard)
        fewest = min(totals.values()) if len(totals) >= constraint.min_domains else 0
        here = totals.get(node.labels[constraint.topology_key], 0)
        return here + matches(constraint.term, each) - fewest <= constraint.max_skew

    return [all(accepts(node, constraint) for constraint in hard) for node in world.nodes.nodes]


def preferred_affinity(world: World, each: Kind, candidates: Sequence[str]) -> dict[str, float]:
    def liking(node: Node) -> int:
        total = 0
        for pod, at in pods(world):
            for weight, term in each.fact("preferred_affinity"):
                total += weight * (matches(term.term, pod) and together(node, at, term.topology_key))
            for weight, term in pod.fact("preferred_affinity"):
                total += weight * (matches(term.term, each) and together(node, at, term.topology_key))
        return total

    raw = {node.name: liking(node) for node in world.nodes.nodes}
    worst, best = min(raw[name] for name in candidates), max(raw[name] for name in candidates)
    return {name: 100 * (raw[name] - worst) / (best - worst) if best > worst else 0.0 for name in candidates}


def soft_spread(world: World, each: Kind, candidates: Sequence[str]) -> dict[str, float]:
    soft = [constraint for constraint in each.fact("spread") if not constraint.hard]
    nodes = {node.name: node for node in world.nodes.nodes}
    keys = [constraint.topology_key for constraint in soft]
    scored = [name for name in candidates if all(key in nodes[name].labels for key in keys)]
    raw = dict.fromkeys(scored, 0.0)
    for constraint in soft:
        key = constraint.topology_key
        weight = math.log(len({nodes[name].labels[key] for name in scored}) + 2)
        totals = counted(world, each, constraint, soft)
        for name in scored:
            raw[name] += totals.get(nodes[name].labels[key], 0) * weight + constraint.max_skew - 1
    most, fewest = max(raw.values(), default=0.0), min(raw.values(), default=0.0)
    full = {name: 100 * (most + fewest - raw[name]) / most if most else 100.0 for name in scored}
    return {name: full.get(name, 0.0) for name in candidates}
