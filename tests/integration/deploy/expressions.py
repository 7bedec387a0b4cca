"""What the dashboard and the alert rules ask of Prometheus, taken apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promql_parser
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
DASHBOARD = DEPLOY / "grafana" / "stromboli.json"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
RULE_OBJECT = DEPLOY / "prometheus" / "prometheus-rule.yaml"

_VARIABLE_QUERY = re.compile(r"label_values\((?P<series>.+), (?P<label>\w+)\)")


@dataclass(slots=True)
class Question:
    """The metrics that an expression selects, with its matchers, and the labels it groups by."""

    metrics: list[tuple[str, list[promql_parser.Matcher]]] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)


def taken_apart(expression: str) -> Question:
    """Raises ValueError for what is no PromQL."""
    question = Question()

    def look(part: Any) -> None:
        if isinstance(part, promql_parser.MatrixSelector):
            look(part.vector_selector)
        elif isinstance(part, promql_parser.VectorSelector):
            question.metrics.append((part.name or "", part.matchers.matchers))
        elif isinstance(part, promql_parser.AggregateExpr) and part.modifier:
            question.groups |= set(part.modifier.labels)
        elif isinstance(part, promql_parser.BinaryExpr) and part.modifier and part.modifier.matching:
            question.groups |= {*part.modifier.matching.labels, *(part.modifier.group_labels or ())}

    promql_parser.walk(promql_parser.parse(expression), look)
    return question


def without_variables(expression: str) -> str:
    """As Prometheus gets it from Grafana, with everything chosen."""
    return re.sub(r"\$(job|instance|queue)\b", ".*", expression.replace("$__rate_interval", "5m"))


def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return document


def alerts() -> list[dict[str, Any]]:
    document = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """Where an expression stands, and the expression."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}, {target['refId']}", without_variables(target["expr"])
    for variable in dashboard()["templating"]["list"]:
        if found := _VARIABLE_QUERY.fullmatch(variable.get("definition", "")):
            yield f"variable {variable['name']}", without_variables(f"count by ({found['label']}) ({found['series']})")
    for rule in alerts():
        yield f"alert {rule['alert']}", rule["expr"]
