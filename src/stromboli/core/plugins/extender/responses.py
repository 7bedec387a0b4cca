"""Validation of an extender's responses: an invalid field is treated as no response."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stromboli.core.config.external_services import Document, ServiceError

#: A reason is a sentence, not a page.
_LONGEST_WORDS = 200


def truth(answer: Document, field: str) -> bool:
    value = answer.get(field)
    if not isinstance(value, bool):
        raise ServiceError(f"expected true or false in {field!r}, got {value!r:.60}")
    return value


def vote(answer: Document) -> int:
    """Above 0 permits, 0 abstains, below 0 rejects."""
    value = answer.get("status", 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ServiceError(f"expected a whole number in 'status', got {value!r:.60}")
    return value


def words(answer: Document, field: str) -> str:
    return _sanitized(answer.get(field) or "")


def reasons(answer: Document) -> Mapping[str, str]:
    """By node that is refused, why."""
    refused = answer.get("refused") or {}
    if not isinstance(refused, dict):
        raise ServiceError(f"expected reasons by node in 'refused', got {refused!r:.60}")
    return {node: _sanitized(why) for node, why in refused.items()}


def scores(answer: Document) -> Mapping[str, float]:
    given = answer.get("nodeScore") or {}
    if not isinstance(given, dict):
        raise ServiceError(f"expected scores by node in 'nodeScore', got {given!r:.60}")
    for node, score in given.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ServiceError(f"expected a number as the score of node {node!r:.60}, got {score!r:.60}")
    return given


def victims(answer: Document) -> Sequence[str]:
    """The uids of those that may go."""
    named = answer.get("victims") or []
    if not isinstance(named, list) or not all(isinstance(uid, str) for uid in named):
        raise ServiceError(f"expected a list of uids in 'victims', got {named!r:.60}")
    return named


def _sanitized(said: object) -> str:
    """Return a message of the service on one line, without control characters."""
    text = said if isinstance(said, str) else repr(said)
    return "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST_WORDS]).strip()
