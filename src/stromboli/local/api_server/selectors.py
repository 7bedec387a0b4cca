"""Label and field selectors of lists and watches, as query parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from stromboli.local.api_server.errors import StatusError, bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object

Matcher = Callable[[Object], bool]
_Labels = Mapping[str, str]
_Rule = Callable[[_Labels], bool]

_KEY = r"(?P<key>[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?)"
_SET = re.compile(rf"^{_KEY}\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)$")
_COMPARISON = re.compile(rf"^{_KEY}\s*(?P<operator>==|!=|=|>|<)\s*(?P<value>[^\s=!<>,()]*)$")
_EXISTENCE = re.compile(rf"^(?P<absent>!)?\s*{_KEY}$")
_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")
_TERM = re.compile(r"^(?P<path>[^=!]+)(?P<operator>==|!=|=)(?P<value>.*)$")

#: Selectable fields, besides name and namespace.
_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "secrets"): ("type",),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
    ("resource.k8s.io", "resourceslices"): ("spec.nodeName", "spec.driver"),
}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS["", "events"] = (
    *(f"involvedObject.{part}" for part in _REFERENCE),
    "reason",
    "type",
    "reportingComponent",
    "source",
)
_FIELDS["events.k8s.io", "events"] = (
    *(f"regarding.{part}" for part in _REFERENCE),
    "reason",
    "type",
    "reportingController",
    "reportingComponent",
    "source",
)
_ALWAYS = ("metadata.name", "metadata.namespace")
_EVENT_PATHS = {
    "reportingController": ("reportingComponent",),
    "source": ("source", "component"),
    **{f"regarding.{part}": ("involvedObject", part) for part in _REFERENCE},
}


def label_matcher(selector: str) -> Matcher | None:
    """A predicate on an object's labels; None if the selector is empty."""
    rules = [_label_rule(clause.strip()) for clause in _OUTSIDE_PARENTHESES.split(selector) if clause.strip()]
    if not rules:
        return None

    def matches(body: Object) -> bool:
        labels = body["metadata"].get("labels") or {}
        return all(rule(labels) for rule in rules)

    return matches


def _label_rule(clause: str) -> _Rule:
    if found := _SET.match(clause):
        values = {value.strip() for value in found["values"].split(",")}
        return _set_rule(found["key"], found["operator"], values)
    if found := _COMPARISON.match(clause):
        return _comparison_rule(found["key"], found["operator"], found["value"])
    if found := _EXISTENCE.match(clause):
        key, absent = found["key"], bool(found["absent"])
        return lambda labels: (key in labels) is not absent
    raise _unparsable(clause)


def _set_rule(key: str, operator: str, values: set[str]) -> _Rule:
    if operator == "in":
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _comparison_rule(key: str, operator: str, value: str) -> _Rule:
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if not value.lstrip("-").isdigit():
        raise _unparsable(f"{key}{operator}{value}")
    bound = int(value)
    if operator == ">":
        return lambda labels: _number(labels.get(key)) is not None and int(labels[key]) > bound
    return lambda labels: _number(labels.get(key)) is not None and int(labels[key]) < bound


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _unparsable(clause: str) -> StatusError:
    return bad_request(f"unable to parse requirement: found {clause!r}, which is no label selector")


def field_matcher(resource: ServedResource, selector: str, *, selectable: tuple[str, ...] = ()) -> Matcher | None:
    """A predicate on an object's fields; rejects unsupported fields."""
    supported = _ALWAYS + _FIELDS.get((resource.group, resource.plural), ()) + selectable
    rules = [_field_rule(resource, clause.strip(), supported) for clause in selector.split(",") if clause.strip()]
    if not rules:
        return None
    return lambda body: all(rule(body) for rule in rules)


def _field_rule(resource: ServedResource, clause: str, supported: tuple[str, ...]) -> Matcher:
    found = _TERM.match(clause)
    if found is None:
        raise bad_request(f"invalid selector: '{clause}'; can't understand '{clause}'")
    path, value, equal = found["path"].strip(), found["value"].strip(), found["operator"] != "!="
    if path not in supported:
        raise bad_request(f"field label not supported: {path}")
    is_event = resource.plural == "events"
    steps = _EVENT_PATHS.get(path) if is_event else None
    steps = steps or tuple(path.split("."))
    return lambda body: (_text_at(body, steps) == value) is equal


def _text_at(body: Object, steps: tuple[str, ...]) -> str:
    """The field as text: an absent field is empty, or `false` for a boolean."""
    value: Any = body
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return "false" if steps[-1] in ("unschedulable", "hostNetwork") else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def matcher(resource: ServedResource, query: Mapping[str, str], selectable: tuple[str, ...] = ()) -> Matcher | None:
    """Both selectors of a request as one predicate; None if everything matches."""
    labels = label_matcher(query.get("labelSelector", ""))
    fields = field_matcher(resource, query.get("fieldSelector", ""), selectable=selectable)
    if labels and fields:
        return lambda body: labels(body) and fields(body)
    return labels or fields
