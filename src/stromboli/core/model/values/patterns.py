"""Regular expressions in linear time (RE2), safe for untrusted patterns."""

from __future__ import annotations

from functools import lru_cache

import re2  # type: ignore[import-untyped]

#: Limit that no reasonable pattern reaches.
MAX_PATTERN_LENGTH = 1024


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re2._Regexp:
    """Compile a pattern. Raises ValueError that describes what is wrong with it."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise ValueError(f"a pattern has at most {MAX_PATTERN_LENGTH} characters, not {len(pattern)}")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"{said}; use RE2 syntax") from None
