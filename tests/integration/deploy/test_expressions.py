"""The dashboard and the alerts query only metrics, labels and values that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from promql_parser import Matcher, MatchOp

from stromboli.core.model.reasons import Code
from tests.integration.deploy.exposed import Exposed
from tests.integration.deploy.expressions import expressions, taken_apart

#: What a scrape adds to every series.
OF_THE_SCRAPE = {"namespace", "job", "instance"}
#: Values that a short life does not show.
ALSO = {"reason": {code.value for code in Code}, "code": {"401", "403", "429", "none"}}


def mistakes(expression: str, known: Exposed) -> Iterator[str]:
    """Metrics, labels and values of an expression that no process exposes."""
    question = taken_apart(expression)
    usable = set(OF_THE_SCRAPE)
    for metric, matchers in question.metrics:
        if metric not in known:
            yield f"no metric {metric}"
            continue
        usable |= known[metric].keys()
        for matcher in matchers:
            label = matcher.name
            if label not in known[metric].keys() | OF_THE_SCRAPE:
                yield f"{metric} has no label {label}"
            elif strange := wanted_values(matcher) - known[metric].get(label, set()) - ALSO.get(label, set()):
                yield f"{metric} never has {label}={sorted(strange)}"
    for label in sorted(question.groups - usable):
        yield f"no metric here has a label {label}"


def wanted_values(matcher: Matcher) -> set[str]:
    """The literal alternatives of a matcher; none for a negative matcher."""
    if matcher.op not in (MatchOp.Equal, MatchOp.Re):
        return set()
    return {word for word in matcher.value.split("|") if re.fullmatch(r"[\w-]+", word)}


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
