"""Fields of the built-in kinds, as a real server describes them.

`python -m testbed.field_table`

writes them to the file that the local API server and the reader of manifests use.
"""

from __future__ import annotations

import json
import ssl
import textwrap
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stromboli.kube.fields.built_in import PLACE
from stromboli.local.kinds.builtin_kinds import builtin_resources
from testbed.assets import assets
from testbed.plane import ADMINISTRATOR, ControlPlane
from testbed.real import TOKENS, real_plane

_HEAD = """\
# The fields of the built-in kinds, made by `python -m testbed.field_table`; built_in.py documents the format.
"""
_FURTHER = ("io.k8s.api.core.v1.Binding",)
_WIDTH = 120


def field_table(plane: ControlPlane) -> str:
    """One paragraph for each type that is reachable from the kinds."""
    schemas = _schemas(plane)
    names = _short_names(schemas, _reachable(schemas))
    lines = [
        f"{names[full]}: {' '.join(_fields(schemas[full], names))}" for full in sorted(names, key=names.__getitem__)
    ]
    return _HEAD + "".join(f"{_folded(line)}\n" for line in lines)


def _folded(line: str) -> str:
    return textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _schemas(plane: ControlPlane) -> dict[str, Any]:
    groups = {(each.group, each.version) for each in builtin_resources()}
    found: dict[str, Any] = {}
    for group, version in sorted(groups):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        found.update(_fetched(plane, f"/openapi/v3/{path}")["components"]["schemas"])
    return found


def _fetched(plane: ControlPlane, path: str) -> Any:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {TOKENS[ADMINISTRATOR]}"}
    request = urllib.request.Request(plane.url + path, headers=headers)  # noqa: S310 - our own address
    with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310 - our own address
        return json.load(answer)


def _reachable(schemas: dict[str, Any]) -> set[str]:
    served = {(each.group, each.version, each.kind) for each in builtin_resources()}
    kinds = "x-kubernetes-group-version-kind"
    waiting = [
        name
        for name, schema in schemas.items()
        if any((each["group"], each["version"], each["kind"]) in served for each in schema.get(kinds) or ())
    ]
    waiting += _FURTHER
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen and schemas[name].get("properties"):
            seen.add(name)
            waiting += [below for part in schemas[name]["properties"].values() if (below := _target(part))]
    return seen


def _short_names(schemas: dict[str, Any], wanted: set[str]) -> dict[str, str]:
    """The last part of the name, unless it is ambiguous."""
    taken = [name.rpartition(".")[2] for name in wanted]
    return {
        name: last if taken.count(last := name.rpartition(".")[2]) == 1 else ".".join(name.split(".")[-3:])
        for name in wanted
    }


def _fields(schema: dict[str, Any], names: dict[str, str]) -> Iterator[str]:
    for field, part in schema["properties"].items():
        yield field + _form(part) + names.get(_target(part), "")


def _form(part: dict[str, Any]) -> str:
    if part.get("type") == "array":
        return "*"
    if isinstance(part.get("additionalProperties"), dict):
        return "%"
    return "=" if _target(part) else ""


def _target(part: dict[str, Any]) -> str:
    """The full name of the type of a field, of its items or of its values; empty for scalars."""
    below = part.get("items") or part.get("additionalProperties") or part
    reference = below.get("$ref") or next((each["$ref"] for each in below.get("allOf") or () if "$ref" in each), "")
    return str(reference).rpartition("/")[2]


if __name__ == "__main__":
    with real_plane(assets()) as server:
        Path(PLACE).write_text(field_table(server))
