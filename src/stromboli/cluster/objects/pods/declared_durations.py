"""Durations that annotations of pods declare."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from stromboli.core.model.values.times import parse_duration


def declared_duration(annotations: Mapping[str, str] | None, key: str) -> float:
    """Seconds; infinite if the annotation has no valid value."""
    text = (annotations or {}).get(key)
    if text is None:
        return inf
    try:
        return parse_duration(text)
    except ValueError:
        return inf


def duration_warning(annotations: Mapping[str, str] | None, key: str) -> str:
    """Return why the annotation is invalid; empty if it is valid."""
    text = (annotations or {}).get(key)
    if text is None:
        return ""
    try:
        parse_duration(text)
    except ValueError as error:
        return f"metadata.annotations[{key}]: {error}; annotation ignored"
    return ""
