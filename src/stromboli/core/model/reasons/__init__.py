"""Reasons for refusals: a stable code, a message, and the events after which to retry."""

from stromboli.core.model.reasons.codes import Code, CodeFacts, Remedy, RetryEvent
from stromboli.core.model.reasons.facts import CODES, IMPOSSIBLE, PODS_MISSING
from stromboli.core.model.reasons.reason import MAX_SHORT, Reason, shortened_line

__all__ = [
    "CODES",
    "IMPOSSIBLE",
    "MAX_SHORT",
    "PODS_MISSING",
    "Code",
    "CodeFacts",
    "Reason",
    "Remedy",
    "RetryEvent",
    "shortened_line",
]
