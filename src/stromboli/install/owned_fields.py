"""What the processes of Stromboli left on objects of others: owned fields, annotations, labels, finalizers, conditions.

Only what the own field managers wrote is removed. Annotations that users set for Stromboli, such as a minimum run time,
stay: they have no effect without it, and are needed again if it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: The field managers of all processes and commands.
MANAGERS = ("stromboli", "stromboli-controller")
DOMAIN = "stromboli.dev"

Document = Mapping[str, Any]


def is_own_name(name: str) -> bool:
    """Report whether a label, annotation, finalizer or condition is in the own domain."""
    domain = name.partition("/")[0]
    return "/" in name and (domain == DOMAIN or domain.endswith(f".{DOMAIN}"))


def release_of(document: Document) -> tuple[dict[str, Any], list[str]]:
    """Return the merge patch that removes everything of ours from an object, and a description of each part; both are
    empty if there is nothing.
    """
    metadata = document["metadata"]
    entries = metadata.get("managedFields") or []
    others = [entry for entry in entries if entry.get("manager") not in MANAGERS]
    patch: dict[str, Any] = {}
    parts: list[str] = []
    if len(others) < len(entries):
        # An empty list would not change anything; this resets it.
        patch["managedFields"] = others or [{}]
        parts.append(f"fields of {', '.join(sorted({entry['manager'] for entry in entries} & set(MANAGERS)))}")
    for kind in ("annotations", "labels"):
        names = [name for name in metadata.get(kind) or () if is_own_name(name) and _is_owned(entries, kind, name)]
        if names:
            patch[kind] = dict.fromkeys(names)
            parts += [f"{kind.removesuffix('s')} {name}" for name in names]
    if own := [name for name in metadata.get("finalizers") or () if is_own_name(name)]:
        patch["finalizers"] = [name for name in metadata["finalizers"] if name not in own] or None
        parts += [f"finalizer {name}" for name in own]
    conditions = (document.get("status") or {}).get("conditions") or []
    kept = [each for each in conditions if not is_own_name(str(each.get("type")))]
    parts += [f"condition {each['type']}" for each in conditions if each not in kept]
    body: dict[str, Any] = {"metadata": patch} if patch else {}
    return (body | {"status": {"conditions": kept}} if len(kept) < len(conditions) else body), parts


def _is_owned(entries: Iterable[Document], kind: str, name: str) -> bool:
    """Report whether an own field manager wrote a label or an annotation."""
    owned = (
        ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{kind}") or {}
        for entry in entries
        if entry.get("manager") in MANAGERS
    )
    return any(f"f:{name}" in fields for fields in owned)
