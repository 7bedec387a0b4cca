"""Labels, times and disruption budgets that an API server would reject, and that no later check reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.kinds import KubeObject
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import seconds_of

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_PERCENTAGE = re.compile(r"[0-9]{1,3}%")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_LETTERS = "write at most 63 letters, digits, '-', '_' or '.', with a letter or digit first and last"


def value_problems(item: KubeObject) -> Iterator[tuple[str, str]]:
    """Yield the field and the message of each problem; the object can be used nevertheless."""
    metadata = item.metadata
    if metadata.labels:
        yield from _labels("metadata.labels", metadata.labels)
    if isinstance(item, Pod) and item.spec.node_selector:
        yield from _labels("spec.nodeSelector", item.spec.node_selector)
    if isinstance(item, PodDisruptionBudget):
        yield from _budget(item)
    for field, text in (
        ("metadata.creationTimestamp", metadata.creation_timestamp),
        ("metadata.deletionTimestamp", metadata.deletion_timestamp),
    ):
        if text and not _is_time(text):
            yield field, f"{text!r} is not a time; write one such as 2026-01-01T12:00:00Z"


def _budget(budget: PodDisruptionBudget) -> Iterator[tuple[str, str]]:
    spec = budget.spec
    for field, amount in (("spec.minAvailable", spec.min_available), ("spec.maxUnavailable", spec.max_unavailable)):
        if isinstance(amount, str) and not _PERCENTAGE.fullmatch(amount):
            yield field, f"{amount!r} is not a number or percentage; write one such as 2 or 50%"
    expressions = (spec.selector.match_expressions if spec.selector else None) or ()
    for number, expression in enumerate(expressions):
        if expression.operator not in _OPERATORS:
            field = f"spec.selector.matchExpressions[{number}].operator"
            yield field, f"{expression.operator!r} is not one of {', '.join(_OPERATORS)}; the budget selects no pods"


def _labels(field: str, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in labels.items():
        if not _is_key(key):
            yield f"{field}[{key}]", f"is not a label key; {_LETTERS}"
        elif value and not _is_value(value):
            yield f"{field}[{key}]", f"{value!r} is not a label value; {_LETTERS}"


@lru_cache(maxsize=4096)
def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_PREFIX.fullmatch(prefix)))


@lru_cache(maxsize=4096)
def _is_value(text: str) -> bool:
    return bool(_NAME.fullmatch(text))


@lru_cache(maxsize=4096)
def _is_time(text: str) -> bool:
    return seconds_of(text) is not None
