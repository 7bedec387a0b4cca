"""Affinity that operators add to pods, so that a group of them shares a domain of nodes with no other such group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Term = Mapping[str, Any]


def exclusive_affinity(
    template: Mapping[str, Any], label: str, value: str, topology: str, **fields: Any
) -> dict[str, Any]:
    """Return the affinity of a template for pods with this value of a label, which have a domain to themselves.

    `fields` are further fields of the terms.
    """
    same = [{"key": label, "operator": "In", "values": [value]}]
    others = [{"key": label, "operator": "Exists"}, {"key": label, "operator": "NotIn", "values": [value]}]
    together, apart = (
        {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology, **fields}
        for expressions in (same, others)
    )
    return with_required_terms(template, [together], [apart])


def with_required_terms(
    template: Mapping[str, Any], together: Sequence[Term] = (), apart: Sequence[Term] = ()
) -> dict[str, Any]:
    """Return the affinity of a template with further required terms of pod affinity and anti-affinity."""
    affinity = dict(template["spec"].get("affinity") or {})
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for kind, terms in (("podAffinity", together), ("podAntiAffinity", apart)):
        if terms:
            own = affinity.get(kind) or {}
            affinity[kind] = {**own, required: [*(own.get(required) or ()), *terms]}
    return affinity
