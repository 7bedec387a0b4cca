"""What is wrong with a query: metrics, labels and values that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promql_parser import Matcher, MatchOp

from stromboli.core.model.reasons import Code
from tests.integration.deploy.exposed import Exposed
from tests.integration.deploy.expressions import taken_apart

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
