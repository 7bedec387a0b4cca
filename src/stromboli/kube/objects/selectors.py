"""Label selectors of typed objects."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.kube.objects.meta import KubeLabelSelector, KubeRequirement


def matches(selector: KubeLabelSelector | None, labels: Mapping[str, str] | None) -> bool:
    """Match labels. No selector matches nothing; an empty selector matches everything."""
    if selector is None:
        return False
    present = labels or {}
    wanted = selector.match_labels or {}
    return all(present.get(key) == value for key, value in wanted.items()) and all(
        holds(clause, present) for clause in selector.match_expressions or ()
    )


def holds(clause: KubeRequirement, labels: Mapping[str, str]) -> bool:
    """Match one clause. An unknown operator matches nothing; the server would have rejected it."""
    value, values = labels.get(clause.key or ""), clause.values or ()
    match clause.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
