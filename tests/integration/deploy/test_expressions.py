"""The dashboard and the alerts query only metrics, labels and values that exist."""

from __future__ import annotations

import re

import pytest

from tests.integration.deploy.exposed import Exposed
from tests.integration.deploy.expressions import expressions, taken_apart
from tests.integration.deploy.mistakes import mistakes


@pytest.mark.parametrize("expression", [pytest.param(text, id=where) for where, text in expressions()])
def test_what_is_asked_for_exists(expression: str, scheduler_metrics: Exposed) -> None:
    assert list(mistakes(expression, scheduler_metrics)) == []


WRONG = {
    "an unknown metric": ("sum(stromboli_dreams_total)", "no metric stromboli_dreams_total"),
    "a label of another metric": ('stromboli_leader{result="bound"}', "stromboli_leader has no label result"),
    "a value that never occurs": ('stromboli_binds_total{result="failed"}', "stromboli_binds_total never has"),
    "one of several values": ('stromboli_binds_total{result=~"rejected|lost"}', "never has result=['lost']"),
    "a grouping by nothing": ("sum by (colour) (stromboli_leader)", "no metric here has a label colour"),
    "a join by nothing": ("stromboli_leader * on (colour) stromboli_leader", "no metric here has a label colour"),
    "inside of functions": ("max(increase(stromboli_dreams_total[5m])) or vector(0)", "no metric stromboli_dreams"),
}


@pytest.mark.parametrize(("expression", "reported"), WRONG.values(), ids=WRONG)
def test_unknown_names_in_an_expression_are_reported(
    expression: str, reported: str, scheduler_metrics: Exposed
) -> None:
    assert any(reported in mistake for mistake in mistakes(expression, scheduler_metrics))


def test_what_is_no_promql_is_found() -> None:
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        taken_apart("sum by (queue (stromboli_leader)")


def test_every_metric_of_ours_is_shown_or_watched(scheduler_metrics: Exposed) -> None:
    """Volcano's dashboards may have the names that only they ask for."""
    asked = {metric for _, text in expressions() for metric, _ in taken_apart(text).metrics}
    families = {family_of(name) for name in scheduler_metrics if name.startswith("stromboli_")}
    assert families - {family_of(name) for name in asked} == set()


def family_of(sample: str) -> str:
    return re.sub(r"_(bucket|sum|count|created|total)$", "", sample)
