"""Changes of Jobs that their controller cannot carry out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.defaults import RequiredPlugins, fill_in_spec
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.rules.written_forms import in_one_form

_CHANGEABLE = ("maxRetry", "minAvailable", "priorityClassName")
_CHANGEABLE_IN_TASKS = ("maxRetry", "minAvailable", "replicas")
_MESSAGE = (
    "job updates may not change fields other than `minAvailable`, `maxRetry`, `priorityClassName`, and "
    "`replicas`, `minAvailable` and `maxRetry` of tasks"
)
_REMEDY = "undo the change, or create a new job"


def update_findings(before: WorkloadDocument, after: WorkloadDocument, required: RequiredPlugins) -> list[RuleFinding]:
    """Return the forbidden changes of a Job. A value that becomes its own default, or is written in another form, does
    not count as changed.
    """
    old, new = _spec_of(before, required), _spec_of(after, required)
    if _length(old) != _length(new):
        return [RuleFinding("spec.tasks", "job updates may not add or remove tasks", _REMEDY)]
    return list(_changes(_unchangeable(old), _unchangeable(new)))


def _spec_of(job: WorkloadDocument, required: RequiredPlugins) -> dict[str, Any]:
    spec = copy.deepcopy(dict(job.map("spec")))
    fill_in_spec(spec, required)
    return spec


def _length(spec: Mapping[str, Any]) -> int:
    tasks = spec.get("tasks")
    return len(tasks) if isinstance(tasks, list) else 0


def _unchangeable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that must not change. The controller writes the names of claims that it creates."""
    kept: dict[str, Any] = _without(spec, _CHANGEABLE)
    for name, keys in (("tasks", _CHANGEABLE_IN_TASKS), ("volumes", ())):
        if isinstance(kept.get(name), list):
            kept[name] = [_without(each, keys or _name_of_created_claim(each)) for each in kept[name]]
    return dict(in_one_form(kept))


def _name_of_created_claim(volume: Any) -> tuple[str, ...]:
    return ("volumeClaimName",) if isinstance(volume, Mapping) and volume.get("volumeClaim") else ()


def _without(part: Any, keys: tuple[str, ...]) -> Any:
    return {key: value for key, value in part.items() if key not in keys} if isinstance(part, Mapping) else part


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[RuleFinding]:
    for key in sorted(old.keys() | new.keys()):
        one, other = old.get(key), new.get(key)
        if one == other:
            continue
        if key == "tasks" and isinstance(one, list) and isinstance(other, list):
            for place, (task, later) in enumerate(zip(one, other, strict=True)):
                if task != later:
                    yield RuleFinding(f"spec.tasks[{place}]{_first_change(task, later)}", _MESSAGE, _REMEDY)
        else:
            yield RuleFinding(f"spec.{key}", _MESSAGE, _REMEDY)


def _first_change(old: Any, new: Any) -> str:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return ""
    return f".{next(key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key))}"
