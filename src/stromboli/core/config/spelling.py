"""Names that people write and misspell: the nearest known one, and the sentence that says so.

A wrong name is the commonest mistake in a configuration, and the easiest to cure when the message
shows the right one.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_QUOTE_LENGTH = 60


def quoted(value: object) -> str:
    """A value as messages show it: quoted, with odd characters escaped, and never a page long."""
    if isinstance(value, str) and len(value) > _MAX_QUOTE_LENGTH:
        value = value[: _MAX_QUOTE_LENGTH - 3] + "..."
    return repr(value)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant. Upper and lower case are the same mistake."""
    spellings = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), spellings, n=1)
    return spellings[found[0]] if found else None


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str = "") -> str:
    """The sentence for a name that is not known. `kind` says what should have been named, `owner` of what."""
    subject = f"unknown {kind} {quoted(name)}" + (f" of {owner}" if owner else "")
    names = sorted(known)
    meant = nearest(name, names)
    if meant is not None:
        return f"{subject}; did you mean {meant!r}?"
    return f"{subject}; known are: {', '.join(names)}" if names else f"{subject}; there are none"
