"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_QUOTE_LENGTH = 60


def quoted(value: object) -> str:
    """Return a value for messages: quoted, with unusual characters escaped, and shortened."""
    if isinstance(value, str) and len(value) > _MAX_QUOTE_LENGTH:
        value = value[: _MAX_QUOTE_LENGTH - 3] + "..."
    return repr(value)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, without regard to upper and lower case."""
    spellings = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), spellings, n=1)
    return spellings[found[0]] if found else None


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str = "") -> str:
    """Return the message for an unknown name. `kind` is what should have been named, `owner` its owner."""
    subject = f"unknown {kind} {quoted(name)}" + (f" of {owner}" if owner else "")
    names = sorted(known)
    meant = nearest(name, names)
    if meant is not None:
        return f"{subject}; did you mean {meant!r}?"
    return f"{subject}; known are: {', '.join(names)}" if names else f"{subject}; there are none"
