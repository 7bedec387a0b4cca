"""Parameters of Argo Workflows: texts such as `{{inputs.parameters.size}}` and the values that are known in advance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stromboli.workloads.document import WorkloadDocument

#: Values by name, such as `inputs.parameters.size`.
Scope = Mapping[str, str]
_INTEGER = re.compile(r"-?\d{1,9}")
#: Also what is computed when the workflow runs: expressions, outputs of other steps.
_TAG = re.compile(r"\{\{(?:\s*([\w.\-]+)\s*|[^{}]*)\}\}")


def filled(value: Any, scope: Scope) -> Any:
    """Return a value with the known parameters in its texts; others are left as they are."""
    if isinstance(value, str):
        return _TAG.sub(lambda found: scope.get(found[1] or "", found[0]), value)
    if isinstance(value, Mapping):
        return {key: filled(each, scope) for key, each in value.items()}
    return [filled(each, scope) for each in value] if isinstance(value, list) else value


def unknown_parameter(text: str) -> str:
    """Return the first parameter of a filled text whose value is not known; empty if there is none."""
    found = _TAG.search(text)
    return found[0] if found else ""


def workflow_scope(workflow: WorkloadDocument, *paths: tuple[WorkloadDocument, str]) -> Scope:
    """Return what all templates of a workflow see. `paths` are its specs; those of later ones count."""
    scope = {
        "workflow.name": workflow.name,
        "workflow.namespace": workflow.namespace,
        "workflow.uid": workflow.uid or workflow.name,
    }
    for source, path in paths:
        values = _values(source, f"{path}.arguments.parameters")
        scope |= {f"workflow.parameters.{name}": value for name, value in values.items()}
    return scope


def call_scope(source: WorkloadDocument, call: str, template: tuple[WorkloadDocument, str], scope: Scope) -> Scope:
    """Return what a template sees that a step or task calls with arguments, which are filled with the scope of it."""
    arguments = filled(_values(source, f"{call}.arguments.parameters"), scope)
    return _inner(template, {**_kept(scope), **_inputs(arguments)})


def entry_scope(template: tuple[WorkloadDocument, str], scope: Scope) -> Scope:
    """Return what the first template sees: parameters of the workflow are its arguments."""
    prefix = "workflow.parameters."
    arguments = {key.removeprefix(prefix): value for key, value in scope.items() if key.startswith(prefix)}
    return _inner(template, {**scope, **_inputs(arguments)})


def item_scope(item: Any, scope: Scope) -> Scope:
    """Return what a repeated step sees of its item."""
    if isinstance(item, Mapping):
        return {**scope, "item": _text(item), **{f"item.{key}": _text(value) for key, value in item.items()}}
    return {**scope, "item": _text(item)}


def sequence_of(sequence: Mapping[str, Any], scope: Scope) -> Sequence[int] | None:
    """Return the numbers of a sequence: `count` of them from `start`, or those from `start` to `end`, also downwards.

    None if the numbers are known only when the workflow runs.
    """
    texts = {key: filled(str(sequence.get(key, "")), scope) for key in ("start", "count", "end")}
    if any(text and not _INTEGER.fullmatch(text) for text in texts.values()):
        return None
    first = int(texts["start"] or 0)
    if texts["count"]:
        return range(first, first + int(texts["count"]))
    last = int(texts["end"] or 0)
    return range(first, last + 1) if last >= first else range(first, last - 1, -1)


def formatted(number: int, sequence: Mapping[str, Any]) -> str:
    """Return a number of a sequence as its `format` writes it, such as `node%02d`."""
    try:
        return str(sequence["format"]) % number if sequence.get("format") else str(number)
    except (TypeError, ValueError):
        return str(number)


def list_of(text: str, scope: Scope) -> list[Any] | None:
    """Return the items of a parameter with a list in JSON; None if it is known only when the workflow runs."""
    try:
        found = msgspec.json.decode(filled(text, scope))
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, list) else None


def _inner(template: tuple[WorkloadDocument, str], scope: Scope) -> Scope:
    """Add the defaults of a template's parameters."""
    source, path = template
    return {**_inputs(_values(source, f"{path}.inputs.parameters")), **scope}


def _inputs(values: Mapping[str, str]) -> Scope:
    return {f"inputs.parameters.{name}": value for name, value in values.items()}


def _kept(scope: Scope) -> Scope:
    return {key: value for key, value in scope.items() if key.startswith("workflow.")}


def _values(source: WorkloadDocument, path: str) -> dict[str, str]:
    """Return parameters with a value, or a default."""
    values = {}
    for each in source.items(path):
        value = each.get("value", each.get("default"))
        if value is not None:
            values[str(each.get("name"))] = _text(value)
    return values


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
