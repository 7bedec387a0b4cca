"""Label selectors of objects: `matchLabels` and `matchExpressions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Match labels. No selector selects nothing; an empty one selects everything."""
    if not isinstance(selector, dict):
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(clause, labels) for clause in selector.get("matchExpressions") or ())


def _holds(clause: dict[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = clause.get("key", ""), clause.get("values") or ()
    match clause.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
