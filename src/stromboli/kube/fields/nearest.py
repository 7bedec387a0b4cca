"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: The similarity from which an unknown name is a misspelt one, and not a name of its own.
MISSPELT = 0.8
#: The similarity from which a name is suggested for one that is known to be wrong.
SIMILAR = 0.6


def nearest(name: str, known: Iterable[str], similarity: float = SIMILAR) -> str | None:
    """Return the known name that was probably meant, without regard to upper and lower case."""
    spellings = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), spellings, n=1, cutoff=similarity)
    return spellings[found[0]] if found else None
