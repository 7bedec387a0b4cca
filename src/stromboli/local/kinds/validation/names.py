"""Validation of names, with the server's messages."""

from __future__ import annotations

import re
from functools import lru_cache

from stromboli.kube.objects.meta import SUBDOMAIN

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ENDS = "and must start and end with an alphanumeric character"
_LABEL_RULE = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL.pattern}')"
)
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{SUBDOMAIN.pattern}')"
)
_NAME_PART_RULE = (
    f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART.pattern}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE.pattern}')"
)
_LABEL_LENGTH = _VALUE_LENGTH = _NAME_PART_LENGTH = 63
_SUBDOMAIN_LENGTH = 253
#: Cached: the same few names occur with every object.
_remembered = lru_cache(maxsize=4096)


@_remembered
def label_problem(text: str) -> str:
    """Validate a DNS label: container, volume, namespace. Empty if valid."""
    if len(text) > _LABEL_LENGTH:
        return _too_long(_LABEL_LENGTH)
    return "" if _LABEL.fullmatch(text) else _LABEL_RULE


@_remembered
def subdomain_problem(text: str) -> str:
    """Validate a DNS subdomain: most objects."""
    if len(text) > _SUBDOMAIN_LENGTH:
        return _too_long(_SUBDOMAIN_LENGTH)
    return "" if SUBDOMAIN.fullmatch(text) else _SUBDOMAIN_RULE


@_remembered
def qualified_problem(text: str) -> str:
    """Validate a qualified name of a label or resource: an optional domain, a slash, and a name."""
    prefix, slash, name = text.rpartition("/")
    if slash and not prefix:
        return "prefix part must be non-empty"
    if slash and (problem := subdomain_problem(prefix)):
        return f"prefix part {problem}"
    if not name:
        return "name part must be non-empty"
    if len(name) > _NAME_PART_LENGTH:
        return f"name part {_too_long(_NAME_PART_LENGTH)}"
    return "" if _NAME_PART.fullmatch(name) else _NAME_PART_RULE


@_remembered
def value_problem(text: str) -> str:
    """Validate the value of a label."""
    if len(text) > _VALUE_LENGTH:
        return _too_long(_VALUE_LENGTH)
    return "" if _VALUE.fullmatch(text) else _VALUE_RULE


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"
