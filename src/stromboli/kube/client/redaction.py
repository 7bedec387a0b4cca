"""Redaction of secrets in text that leaves the process: logs, dumps and printed configuration.

A secret is recognised by its form (private key, bearer token, password in a URL) or by the name before it. False
positives are acceptable, false negatives are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: A plain scalar in YAML and in Prometheus, so that redacted text stays valid.
REDACTED = "<redacted>"

_NAMES = (
    r"(?:[\w.-]{0,32}(?:passwo?r?d|passphrase|secret|token|api[-_]?key|client[-_]?key(?:[-_]data)?|private[-_]?key))"
)
_SENSITIVE = re.compile(rf"(?:{_NAMES}|authorization|cookie|set-cookie)", re.IGNORECASE)

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|\Z)", re.S),
     REDACTED),
    (re.compile(r"""(authorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?:[a-z]{1,12}\s{1,4})?)[^\s"',;\\]+""", re.I),
     rf"\1{REDACTED}"),
    (re.compile(r"\b(bearer|basic)\s{1,4}[\w.~+/=-]{6,}", re.I), rf"\1 {REDACTED}"),
    (re.compile(r"\beyJ[\w-]{5,}\.[\w-]{2,}\.?[\w-]*"), REDACTED),
    (re.compile(r"(://[^/\s:@]{1,256}:)[^@/\s]{1,1024}@"), rf"\1{REDACTED}@"),
    (re.compile(
        rf"""(\b{_NAMES}\\?["']?\s{{0,4}}[:=]\s{{0,4}})(?:\\?"[^"]*"|\\?'[^']*'|[^\s"',;&}}\]]+)""", re.I),
     rf"\1{REDACTED}"),
)  # fmt: skip


def redact(text: str) -> str:
    """Remove everything that looks like a credential."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def is_sensitive(name: str) -> bool:
    """Report whether values under this name are secret."""
    return _SENSITIVE.fullmatch(name) is not None


def redact_value(value: object) -> object:
    """Redact a plain value (maps, lists, strings, numbers) at any depth."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if is_sensitive(str(key)) and entry else redact_value(entry)
            for key, entry in value.items()
        }
    if isinstance(value, Sequence):
        return [redact_value(entry) for entry in value]
    return value
