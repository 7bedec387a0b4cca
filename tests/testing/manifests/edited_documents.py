"""Apply a proposed change from its JSON output."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from stromboli.kube import KubeObject

Documents = dict[str, dict[str, Any]]

_STEP = re.compile(r"([A-Za-z_]\w*)|\[([^]]+)\]")


def documents_of(objects: Iterable[KubeObject]) -> Documents:
    """Return the objects as plain documents by kind and name, without optional fields of a manifest."""
    return {f"{type(entry).kind_name} {entry.key}": _tidy(msgspec.to_builtins(entry)) for entry in objects}


def apply_edits(documents: Documents, edits: Sequence[dict[str, Any]]) -> Documents:
    edited = copy.deepcopy(documents)
    for edit in edits:
        if edit["field"]:
            _set(edited[edit["object"]], [name or key for name, key in _STEP.findall(edit["field"])], edit["to"])
        else:
            edited[edit["object"]] = _tidy(edit["to"])
    return edited


def _set(place: Any, steps: list[str], value: Any) -> None:
    """Set a field; None removes it."""
    *way, last = steps
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if value is None:
        place.pop(last, None)
    else:
        place[last] = value


def _tidy(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
    named = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    return {"spec": {}, "status": {}, **named, "metadata": metadata}
