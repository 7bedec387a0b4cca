"""Names of the objects of a Job."""

from __future__ import annotations

import re

MAX_LABEL = 63
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
#: Kubernetes' own sentence, which people search for.
_LETTERS = "lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"


def label_problem(name: str) -> str:
    """Describe why a name is not a DNS label; empty if it is one."""
    if len(name) > MAX_LABEL:
        return f"is longer than {MAX_LABEL} characters"
    return "" if _LABEL.fullmatch(name) else f"{name!r}: a lowercase RFC 1123 label must consist of {_LETTERS}"


def subdomain_problem(name: str) -> str:
    if len(name) > 253:
        return "is longer than 253 characters"
    return "" if _SUBDOMAIN.fullmatch(name) else f"{name!r}: a lowercase RFC 1123 subdomain must consist of {_LETTERS}"


def service_problem(name: str) -> str:
    """Describe why a Service cannot have this name: unlike other names it begins with a letter and has no dots."""
    if len(name) > MAX_LABEL:
        return f"is longer than {MAX_LABEL} characters"
    return "" if _SERVICE.fullmatch(name) else f"{name!r} cannot be the name of a Service"


LABEL_REMEDY = "write a name such as worker-1"
SUBDOMAIN_REMEDY = "write a name such as train-1; dots may separate parts"
