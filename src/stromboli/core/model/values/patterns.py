"""Regular expressions that cannot run away: RE2's, whose time grows with the text alone, whoever wrote the pattern."""

from __future__ import annotations

from functools import lru_cache

import re2  # type: ignore[import-untyped]

#: Longer than any sensible pattern.
MAX_PATTERN_LENGTH = 1024


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re2._Regexp:
    """The pattern, ready for use. Raises ValueError with what is wrong with it, in words."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise ValueError(f"a pattern has at most {MAX_PATTERN_LENGTH} characters, not {len(pattern)}")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"{said}; write it as RE2 understands it") from None
