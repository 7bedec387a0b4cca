"""Calls: the operation of a request, by method and path."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_FALSE = ("false", "0")
#: Subresources of a namespace, which are not resources inside it.
_NAMESPACE_PARTS = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request on a resource. `plural` is empty if the path has only group and version."""

    method: str
    verb: str
    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = field(default_factory=dict)

    def flag(self, parameter: str) -> bool:
        return _is_set(self.query, parameter)

    def number(self, parameter: str) -> int | None:
        """The parameter as an integer; None if absent or invalid."""
        text = self.query.get(parameter, "")
        return int(text) if text.lstrip("-").isdigit() else None

    @property
    def dry_run(self) -> bool:
        """Report whether the write is a dry run."""
        return self.query.get("dryRun") == "All"


def parse_call(method: str, path: str, query: str) -> ApiCall | None:
    """Parse a call; None if the path is not a resource path."""
    parts = [unquote(part) for part in path.split("/") if part]
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS):
        namespace, rest = rest[1], rest[2:]
    plural, name, *below = [*rest, "", ""]
    parameters = dict(parse_qsl(query, keep_blank_values=True)) if query else {}
    verb = _verb(method, name, parameters)
    return ApiCall(method, verb, group, version, plural, namespace, name, "/".join(filter(None, below)), parameters)


def _verb(method: str, name: str, query: dict[str, str]) -> str:
    if method == "GET" and not name and _is_set(query, "watch"):
        return "watch"
    return (_OBJECT_VERBS if name else _COLLECTION_VERBS).get(method, "")


def _is_set(query: dict[str, str], parameter: str) -> bool:
    """Report whether a flag is set: any value except a false one means true."""
    return parameter in query and query[parameter].lower() not in _FALSE
