"""Plain scalars as Kubernetes reads them: a timestamp is text, `1e3` is a number, `10:30` is not."""

import re
from functools import lru_cache

MAX_NUMBER_LENGTH = 64
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0b[01][01_]*|0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_OCTAL = re.compile(r"[-+]?0[0-7][0-7_]*")
_NOT_FINITE = re.compile(r"([-+]?)\.(?:(inf|Inf|INF)|nan|NaN|NAN)")


@lru_cache(maxsize=4096)
def meaning_of(text: str) -> object:
    """Resolve a plain scalar."""
    if len(text) > MAX_NUMBER_LENGTH:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _OCTAL.fullmatch(text):
        return int(text.replace("_", ""), 8)
    if INTEGER.fullmatch(text):
        return int(text.replace("_", ""), 0)
    if FLOAT.fullmatch(text):
        return float(text)
    if match := _NOT_FINITE.fullmatch(text):
        return float(match[1] + (match[2] or "nan"))
    return text
