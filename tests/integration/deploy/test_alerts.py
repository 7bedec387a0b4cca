"""Every alert has a severity, a description and a page; both forms of the rules are the same."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.core.model.reasons import CODES, Code, Remedy
from tests.integration.deploy.exposed import Exposed, read
from tests.integration.deploy.expressions import ALERTS, RULE_OBJECT, alerts, taken_apart
from tests.integration.deploy.mistakes import OF_THE_SCRAPE

DOCS = Path(__file__).parents[3] / "docs"
SITE = "https://stromboli.dev/"
Rule = dict[str, Any]
EVERY_ALERT = pytest.mark.parametrize("rule", [pytest.param(rule, id=rule["alert"]) for rule in alerts()])


def test_both_forms_are_the_same() -> None:
    plain = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    document = yaml.safe_load(RULE_OBJECT.read_text(encoding="utf-8"))
    assert (document["apiVersion"], document["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert document["spec"] == plain


def test_names_are_given_once() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names))


@EVERY_ALERT
def test_alert_has_a_severity_and_a_duration(rule: Rule) -> None:
    assert re.fullmatch(r"Stromboli[A-Z]\w+", rule["alert"])
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert timedelta(0) <= promql_parser.parse_duration(rule["for"]) <= timedelta(hours=1)


@EVERY_ALERT
def test_alert_describes_what_happened(rule: Rule, scheduler_metrics: Exposed) -> None:
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    words = f"{rule['annotations']['summary']} {rule['annotations']['description']}"
    question = taken_apart(rule["expr"])
    of_metrics = {label for metric, _ in question.metrics for label in scheduler_metrics[metric]}
    named = set(re.findall(r"\$labels\.(\w+)", words))
    assert named - (question.groups or of_metrics | OF_THE_SCRAPE) == set()


@EVERY_ALERT
def test_its_page_exists(rule: Rule) -> None:
    address = rule["annotations"]["runbook_url"]
    assert address.startswith(f"{SITE}troubleshooting/")
    page = DOCS / address.removeprefix(SITE).replace(".html", ".md")
    assert page.is_file()
    assert f"`{rule['alert']}`" in page.read_text(encoding="utf-8"), "the page names the alerts that lead to it"


@EVERY_ALERT
def test_the_page_about_monitoring_lists_it(rule: Rule) -> None:
    row = f"| `{rule['alert']}` | {rule['labels']['severity']} |"
    assert row in (DOCS / "monitoring.md").read_text(encoding="utf-8")


OF_SCHEDULERS = ["StromboliAbsent", "StromboliCyclesStopped", "StromboliBindRequestsStalled"]


@pytest.mark.parametrize("name", OF_SCHEDULERS)
def test_a_binder_that_leads_is_not_taken_for_a_scheduler(name: str) -> None:
    """A binder also leads, but has no cycles and writes no requests: such a rule selects metrics of schedulers."""
    (rule,) = [rule for rule in alerts() if rule["alert"] == name]
    of_binders = read(BinderMetrics())
    expression: Any = promql_parser.parse(rule["expr"])
    always = [str(expression)] if "and on" not in rule["expr"] else [str(expression.lhs), str(expression.rhs)]
    assert " unless " not in rule["expr"]
    assert any({metric for metric, _ in taken_apart(side).metrics} - of_binders.keys() for side in always)


#: Waiting does not resolve them, but the alert about jobs leaves them out.
LEFT_OUT = {
    Code.PLUGIN_FAILED: "StromboliPluginFails reports it",
    Code.TOO_EXPENSIVE: "StromboliJobsTooExpensive reports it",
    Code.CAPACITY_RESERVED: "the job starts when the reserved capacity is free again",
    Code.BUDGET_EXHAUSTED: "the job starts in the next period of the budget",
    Code.SCHEDULING_GATED: "the controller that set the gate removes it",
    Code.NEVER_PREEMPTS: "the job also starts when pods end",
}


def test_alert_about_jobs_has_every_reason_that_waiting_does_not_resolve() -> None:
    (rule,) = [rule for rule in alerts() if rule["alert"] == "StromboliJobsNeedIntervention"]
    (reasons,) = re.findall(r'reason=~"([^"]+)"', rule["expr"])
    expected = [code for code, facts in CODES.items() if facts.remedy is not Remedy.WAIT and code not in LEFT_OUT]
    assert reasons.split("|") == [code.value for code in expected]
    assert {Code.NO_NODE_HAS_RESOURCE, Code.EXCEEDS_EVERY_NODE, Code.EXCEEDS_CLUSTER} <= set(expected)
