"""Ages and durations in few characters, as kubectl prints them."""

from __future__ import annotations

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))


def short_duration(seconds: float) -> str:
    """Return a duration in its largest unit of which there are at least two."""
    whole = max(int(seconds), 0)
    for unit, length in _UNITS:
        if whole >= 2 * length:
            return f"{whole // length}{unit}"
    return f"{whole}s"


def age_of(created: float, now: float) -> str:
    """Return the age of an object; `-` if the time of its creation is unknown."""
    return short_duration(now - created) if created else "-"
